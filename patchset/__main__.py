"""`python -m patchset`: the command line."""

from __future__ import annotations

from patchset.cli import main

main()
