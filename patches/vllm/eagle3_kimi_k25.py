"""Kimi-K2.5 passes EAGLE-3's interface on to its language model.

With a DeepSeek-V2 implementation that supports EAGLE-3, Kimi-K2.5 still fails after the
weights are loaded: the model runner asks the outermost model for the interface, and
that is the multimodal wrapper `KimiK25ForConditionalGeneration`, not the language model
in it. The wrapper needs the base class and two methods that delegate; its `forward`
already returns whatever the language model returns. On vLLM 0.15.x the language model
is the bare decoder, later a `DeepseekV2ForCausalLM`: both have the two methods.

Useless without the patch of `deepseek_v2.py` in this group. Drop it with vLLM 0.18.0,
whose wrapper delegates in the same way.
"""

import libcst as cst

from patchset import edit

TARGET = "vllm/model_executor/models/kimi_k25.py"
GROUP = "eagle3-serving"
NEEDS = {"vllm": ">=0.15.0,<0.18.0"}
FIXED_IN = {"vllm": "0.18.0"}
SYMPTOMS = [r"Model does not support EAGLE3 interface"]
UPSTREAM = "https://github.com/vllm-project/vllm/pull/36361"
TOUCHES = [
    "<module>",
    "KimiK25ForConditionalGeneration",
    "KimiK25ForConditionalGeneration.get_eagle3_aux_hidden_state_layers",
    "KimiK25ForConditionalGeneration.set_aux_hidden_state_layers",
]
CURES = [
    "protocol *.kimi_k25.KimiK25ForConditionalGeneration SupportsEagle3",
]

_INTERFACES = "vllm.model_executor.models.interfaces"
_WRAPPER = "KimiK25ForConditionalGeneration"
_METHODS = """
def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
    self.language_model.set_aux_hidden_state_layers(layers)

def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:
    return self.language_model.get_eagle3_aux_hidden_state_layers()
"""


def rewrite(module: cst.Module) -> cst.Module:
    module = edit.within(
        module, edit.MODULE, edit.extend_import(_INTERFACES, "SupportsEagle3")
    )
    return edit.within(
        module,
        _WRAPPER,
        edit.add_base("SupportsEagle3"),
        edit.add_members(_METHODS, after="compute_logits"),
    )


def fixed(module: cst.Module) -> bool:
    return all(
        (
            edit.imports(module, _INTERFACES, "SupportsEagle3"),
            edit.has_base(module, _WRAPPER, "SupportsEagle3"),
            edit.defines(module, _WRAPPER, "set_aux_hidden_state_layers"),
            edit.defines(module, _WRAPPER, "get_eagle3_aux_hidden_state_layers"),
        )
    )


BEFORE = """\
from vllm.model_executor.models.interfaces import (
    SupportsMultiModal,
    SupportsPP,
)


class KimiK25ForConditionalGeneration(
    Module, SupportsMultiModal, SupportsPP
):
    def compute_logits(self, hidden_states):
        return self.language_model.compute_logits(hidden_states)
"""
AFTER = """\
from vllm.model_executor.models.interfaces import (
    SupportsMultiModal,
    SupportsPP,
    SupportsEagle3,
)


class KimiK25ForConditionalGeneration(
    Module, SupportsMultiModal, SupportsPP, SupportsEagle3
):
    def compute_logits(self, hidden_states):
        return self.language_model.compute_logits(hidden_states)

    def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
        self.language_model.set_aux_hidden_state_layers(layers)

    def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:
        return self.language_model.get_eagle3_aux_hidden_state_layers()
"""
