"""Hidden states are captured from any model that has a decoder.

The worker extension of speculators 0.3.0 refuses a model that does not declare vLLM's
`SupportsEagle3`. It needs nothing of that interface: it puts its own forward pass in
the place of the decoder's. So models are turned away from which it could capture:
DeepSeek-V3, Kimi-K2 and Kimi-K2.5 on vLLM before 0.18.0, and every other one whose
author has not thought of EAGLE-3.

Instead, a model is refused that has no decoder to be found. Drop this with speculators
0.4.0, which has no such gate.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/custom_worker.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.11.0"}
FIXED_IN = {"speculators": "0.4.0"}
SYMPTOMS = [r"Model \w+ does not support hidden state extraction"]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/225"
TOUCHES = ["<module>", "HiddenStatesWorkerExtension._setup_hidden_states_capture"]

_SETUP = "HiddenStatesWorkerExtension._setup_hidden_states_capture"
_IMPORT = "from vllm.model_executor.models.interfaces import supports_eagle3"
_GATE = """
if not supports_eagle3(model):
    ...
"""
_CURED = """
if not hasattr(model, "get_language_model") and not hasattr(model, "model"):
    raise ValueError(
        f"Model {type(model).__name__} has no decoder to capture from"
    )
"""


def rewrite(module: cst.Module) -> cst.Module:
    module = edit.within(module, edit.MODULE, edit.replace(_IMPORT, ""))
    return edit.within(module, _SETUP, edit.replace(_GATE, _CURED))


def fixed(module: cst.Module) -> bool:
    return (
        edit.count(module, _SETUP, _CURED) == 1
        and edit.count(module, edit.MODULE, _IMPORT) == 0
    )


BEFORE = """\
import torch
from vllm.model_executor.models.interfaces import supports_eagle3


class HiddenStatesWorkerExtension:
    def _setup_hidden_states_capture(self, layer_ids):
        model = self.model_runner.model

        if not supports_eagle3(model):
            raise ValueError("no support")

        self.base = model.model
"""
AFTER = """\
import torch


class HiddenStatesWorkerExtension:
    def _setup_hidden_states_capture(self, layer_ids):
        model = self.model_runner.model

        if not hasattr(model, "get_language_model") and not hasattr(model, "model"):
            raise ValueError(
                f"Model {type(model).__name__} has no decoder to capture from"
            )

        self.base = model.model
"""
