"""EAGLE-3 accepts Kimi-K2 and DeepSeek-V3 target models.

`LLM(..., speculative_config={"method": "eagle3", ...})` fails at once, before anything
is loaded, and so does the method `extract_hidden_states`, with which hidden states are
served for training: the speculative config keeps a list of the model types that may be
targets, and neither `kimi_k2` (the text part of Kimi-K2 and Kimi-K2.5) nor
`deepseek_v3` is in it. In vLLM 0.17.x the list has another name than before, and guards
both methods. An entry matches any model type that contains it.

The model itself must also hand out its auxiliary hidden states: apply the whole group.
Drop this with vLLM 0.18.0, whose list has both; 0.22.0 has no list any more.
"""

import libcst as cst

from patchset import edit

TARGET = "vllm/config/speculative.py"
GROUP = "eagle3-serving"
NEEDS = {"vllm": ">=0.17.0,<0.18.0"}
FIXED_IN = {"vllm": "0.18.0"}
SYMPTOMS = [
    r"(eagle3|extract_hidden_states) is only supported for .*'(kimi_k2|deepseek_v3)'",
]
UPSTREAM = "https://github.com/vllm-project/vllm/pull/36361"
TOUCHES = ["SpeculativeConfig._verify_args"]
CURES = [
    "whitelist vllm.config.speculative.* kimi_k2",
    "whitelist vllm.config.speculative.* deepseek_v3",
]

_CHECK = "SpeculativeConfig._verify_args"
_LIST = "aux_hidden_states_supported"


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module, _CHECK, edit.extend_list(_LIST, "kimi_k2", "deepseek_v3")
    )


def fixed(module: cst.Module) -> bool:
    return edit.holds(module, _CHECK, _LIST, "kimi_k2", "deepseek_v3")


BEFORE = """\
class SpeculativeConfig:
    def _verify_args(self):
        aux_hidden_states_supported = [
            "llama",
            "afmoe",
        ]
        if self.model_type not in aux_hidden_states_supported:
            raise ValueError(self.model_type)
"""
AFTER = """\
class SpeculativeConfig:
    def _verify_args(self):
        aux_hidden_states_supported = [
            "llama",
            "afmoe",
            "kimi_k2",
            "deepseek_v3",
        ]
        if self.model_type not in aux_hidden_states_supported:
            raise ValueError(self.model_type)
"""
