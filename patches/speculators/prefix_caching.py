"""The hidden states generator computes every prompt anew.

vLLM 0.12.0 and newer cache prefixes by default, also for those who build their own
`CacheConfig`. A cached prefix is not computed, so it would yield no hidden states, and
the states of that prompt would be too few. It does not come so far: the requests of
speculators 0.3.0 carry no block hasher, and the scheduler stops at a bare
`AssertionError` as soon as a prompt fills one block.

Drop this with speculators 0.4.0, which turns the cache off in the same place.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.12.0"}
FIXED_IN = {"speculators": "0.4.0"}
SYMPTOMS = [
    r"assert len\(request\.block_hashes\) >= num_full_blocks\s+(.*\n\s*)?AssertionError"
]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/283"
TOUCHES = ["VllmHiddenStatesGenerator._create_vllm_config"]

_CONFIG = "VllmHiddenStatesGenerator._create_vllm_config"


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        _CONFIG,
        edit.add_argument("CacheConfig(...)", "enable_prefix_caching=False"),
    )


def fixed(module: cst.Module) -> bool:
    return (
        edit.count(module, _CONFIG, "CacheConfig(..., enable_prefix_caching=False)")
        == 1
    )


BEFORE = """\
class VllmHiddenStatesGenerator:
    def _create_vllm_config(self, gpu_memory_utilization):
        cache_config = CacheConfig(
            block_size=VLLM_BLOCK_SIZE,
            gpu_memory_utilization=gpu_memory_utilization,
        )
        return VllmConfig(cache_config=cache_config)
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def _create_vllm_config(self, gpu_memory_utilization):
        cache_config = CacheConfig(
            block_size=VLLM_BLOCK_SIZE,
            gpu_memory_utilization=gpu_memory_utilization,
            enable_prefix_caching=False,
        )
        return VllmConfig(cache_config=cache_config)
"""
