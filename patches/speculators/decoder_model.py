"""The decoder is found in a multimodal wrapper too.

The worker extension of speculators 0.3.0 takes `model.model` for the decoder whose
layers it captures from. A multimodal model such as Kimi-K2.5 has none: the decoder is
in its language model, which vLLM's `get_language_model()` names. On vLLM 0.16.0 and
newer that is a `…ForCausalLM` with the decoder as its `.model`; on 0.15.x, for
Kimi-K2.5, it is the decoder itself. Text-only models are found as before.

Met after the gate for `SupportsEagle3` is passed or taken away. Drop this with
speculators 0.4.0, which asks for the language model (and, on vLLM 0.15.x, needs this
patch's other variant).
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/custom_worker.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.11.0"}
FIXED_IN = {"speculators": "0.5.0"}
SYMPTOMS = [r"'\w+ForConditionalGeneration' object has no attribute 'model'"]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/228"
TOUCHES = ["HiddenStatesWorkerExtension._setup_hidden_states_capture"]

_SETUP = "HiddenStatesWorkerExtension._setup_hidden_states_capture"
_CURED = 'base_model = getattr(language_model, "model", language_model)'
_SEARCH = f"""
language_model = model
if hasattr(model, "get_language_model"):
    language_model = model.get_language_model()
{_CURED}
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module, _SETUP, edit.replace("base_model = model.model", _SEARCH)
    )


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _SETUP, _CURED) == 1


BEFORE = """\
class HiddenStatesWorkerExtension:
    def _setup_hidden_states_capture(self, layer_ids):
        model = self.model_runner.model

        base_model = model.model  # type: ignore[attr-defined]
        base_model._extension = self
"""
AFTER = """\
class HiddenStatesWorkerExtension:
    def _setup_hidden_states_capture(self, layer_ids):
        model = self.model_runner.model

        language_model = model
        if hasattr(model, "get_language_model"):
            language_model = model.get_language_model()
        base_model = getattr(language_model, "model", language_model)
        base_model._extension = self
"""
