"""The scheduler gets the block size of the KV cache.

`Scheduler` requires a `block_size` from vLLM 0.11.1 on; speculators 0.3.0 passes none.
The hidden states generator fails with a `TypeError` after the model has been loaded.

The right value is the one in the cache config, not the 16 that the generator asked
for: the platform changes it where an attention backend needs another (64 or 128 for
MLA, the attention of DeepSeek-V3 and Kimi-K2). Drop this with speculators 0.4.0, which
passes a block size.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.11.1"}
FIXED_IN = {"speculators": "0.4.0"}
SYMPTOMS = [
    r"Scheduler\.__init__\(\) missing 1 required positional argument: 'block_size'"
]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/225"
TOUCHES = ["VllmHiddenStatesGenerator.__init__"]
CURES = [
    "missing-argument vllm.v1.core.sched.scheduler.Scheduler block_size",
]

_INIT = "VllmHiddenStatesGenerator.__init__"
_BLOCK_SIZE = "block_size=self.vllm_config.cache_config.block_size"


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        _INIT,
        edit.add_argument("Scheduler(...)", _BLOCK_SIZE, after="kv_cache_config"),
    )


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _INIT, f"Scheduler(..., {_BLOCK_SIZE})") == 1


BEFORE = """\
class VllmHiddenStatesGenerator:
    def __init__(self, kv_cache_config, structured_output_manager):
        self.scheduler = Scheduler(
            vllm_config=self.vllm_config,
            kv_cache_config=kv_cache_config,
            structured_output_manager=structured_output_manager,
        )
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def __init__(self, kv_cache_config, structured_output_manager):
        self.scheduler = Scheduler(
            vllm_config=self.vllm_config,
            kv_cache_config=kv_cache_config,
            block_size=self.vllm_config.cache_config.block_size,
            structured_output_manager=structured_output_manager,
        )
"""
