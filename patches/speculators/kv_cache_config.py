"""The KV cache is laid out with the arguments that vLLM takes.

`get_kv_cache_config_from_groups` lost its parameter `kv_cache_specs` in vLLM 0.12.0 (it
reads the specs from the groups), and speculators 0.3.0 still passes it. The hidden
states generator fails with a `TypeError` after the model has been loaded.

Drop this with speculators 0.4.0, which does not pass it. On vLLM 0.11.x the parameter
is required, and this patch is not applied.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.12.0"}
FIXED_IN = {"speculators": "0.4.0"}
SYMPTOMS = [
    r"got an unexpected keyword argument 'kv_cache_specs'",
]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/225"
TOUCHES = ["VllmHiddenStatesGenerator.__init__"]
CURES = [
    "unexpected-keyword *.get_kv_cache_config_from_groups kv_cache_specs",
]

_INIT = "VllmHiddenStatesGenerator.__init__"
_CURED = """
get_kv_cache_config_from_groups(
    vllm_config=..., kv_cache_groups=..., available_memory=...
)
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        _INIT,
        edit.drop_argument("get_kv_cache_config_from_groups(...)", "kv_cache_specs"),
    )


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _INIT, _CURED) == 1


BEFORE = """\
class VllmHiddenStatesGenerator:
    def __init__(self, specs, groups, memory):
        kv_cache_config = get_kv_cache_config_from_groups(
            vllm_config=self.vllm_config,
            kv_cache_groups=groups,
            kv_cache_specs=specs,
            available_memory=memory,
        )
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def __init__(self, specs, groups, memory):
        kv_cache_config = get_kv_cache_config_from_groups(
            vllm_config=self.vllm_config,
            kv_cache_groups=groups,
            available_memory=memory,
        )
"""
