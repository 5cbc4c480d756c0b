"""Every published pair of vLLM and speculators, tried in memory and written down."""
