"""The capturing forward pass embeds tokens by the name that vLLM's models have.

vLLM 0.11.1 renamed the models' `get_input_embeddings` to `embed_input_ids`; the forward
pass that speculators 0.3.0 puts in the place of the model's own calls the old name. It
does so only where it is not handed embeddings, that is for text-only models (Kimi-K2,
DeepSeek-V3): a multimodal wrapper such as Kimi-K2.5 embeds by itself.

Drop this with speculators 0.4.0, which calls the new name.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/custom_worker.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.11.1"}
FIXED_IN = {"speculators": "0.4.0"}
SYMPTOMS = [r"'\w+' object has no attribute 'get_input_embeddings'"]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/225"
TOUCHES = ["_patched_forward"]

_CURED = "self.embed_input_ids(input_ids)"


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        "_patched_forward",
        edit.replace_expression("self.get_input_embeddings(input_ids)", _CURED),
    )


def fixed(module: cst.Module) -> bool:
    return edit.count(module, "_patched_forward", _CURED) == 1


BEFORE = """\
def _patched_forward(self, input_ids, positions, inputs_embeds=None):
    hidden_states = (
        inputs_embeds
        if inputs_embeds is not None
        else self.get_input_embeddings(input_ids)
    )
    return hidden_states
"""
AFTER = """\
def _patched_forward(self, input_ids, positions, inputs_embeds=None):
    hidden_states = (
        inputs_embeds
        if inputs_embeds is not None
        else self.embed_input_ids(input_ids)
    )
    return hidden_states
"""
