"""The decoder is found where the language model is the decoder itself.

The worker extension of speculators 0.4.0 takes `get_language_model().model` of a
multimodal model for the decoder whose layers it captures from. In vLLM 0.15.x the
language model of Kimi-K2.5 is the decoder itself and has no `.model`.

Drop this with vLLM 0.16.0, where it is a `…ForCausalLM` with the decoder in it.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/custom_worker.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.4.0,<0.5.0", "vllm": ">=0.11.0,<0.16.0"}
FIXED_IN = {"speculators": "0.5.0", "vllm": "0.16.0"}
SYMPTOMS = [r"'\w+Model' object has no attribute 'model'"]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/353"
TOUCHES = ["HiddenStatesWorkerExtension._setup_hidden_states_capture"]

_SETUP = "HiddenStatesWorkerExtension._setup_hidden_states_capture"
_CURED = 'base_model = getattr(language_model, "model", language_model)'
_SEARCH = f"""
language_model = model.get_language_model()
{_CURED}
"""


def rewrite(module: cst.Module) -> cst.Module:
    old = "base_model = model.get_language_model().model"
    return edit.within(module, _SETUP, edit.replace(old, _SEARCH))


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _SETUP, _CURED) == 1


BEFORE = """\
class HiddenStatesWorkerExtension:
    def _setup_hidden_states_capture(self, layer_ids):
        model = self.model_runner.model
        if hasattr(model, "get_language_model"):
            base_model = model.get_language_model().model
        else:
            base_model = model.model
        base_model._extension = self
"""
AFTER = """\
class HiddenStatesWorkerExtension:
    def _setup_hidden_states_capture(self, layer_ids):
        model = self.model_runner.model
        if hasattr(model, "get_language_model"):
            language_model = model.get_language_model()
            base_model = getattr(language_model, "model", language_model)
        else:
            base_model = model.model
        base_model._extension = self
"""
