"""The worker can also capture what goes into the first layer.

The worker extension of speculators up to 0.4.0.1 captures what layers put out, so there
is no way to ask for what goes into the first of them: the embeddings, which are layer
id 0 to vLLM. With this patch they are the worker's layer id -1.

By itself it changes nothing, for the generator refuses negative ids. It completes
`vllm_layer_ids`, where that is asked for; without it, id 0 ends in an error there.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/custom_worker.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.5.0", "vllm": ">=0.11.0"}
FIXED_IN = {"speculators": "0.5.0"}
SILENT = "layer id -1 is captured by no layer"
UPSTREAM = "https://github.com/vllm-project/speculators/pull/353"
TOUCHES = ["_patched_forward"]

_LAYERS = "target_layers = extension._layer_ids if should_capture else frozenset()"
_CAPTURE = """
if -1 in target_layers:
    aux_hidden_states.append(hidden_states.clone())
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(module, "_patched_forward", edit.insert_after(_LAYERS, _CAPTURE))


def fixed(module: cst.Module) -> bool:
    return edit.count(module, "_patched_forward", _CAPTURE) == 1


BEFORE = """\
def _patched_forward(self, hidden_states, should_capture):
    aux_hidden_states = []
    extension = self._extension
    target_layers = extension._layer_ids if should_capture else frozenset()

    for idx, layer in enumerate(self.layers):
        hidden_states = layer(hidden_states)
        if idx in target_layers:
            aux_hidden_states.append(hidden_states.clone())
    return hidden_states
"""
AFTER = """\
def _patched_forward(self, hidden_states, should_capture):
    aux_hidden_states = []
    extension = self._extension
    target_layers = extension._layer_ids if should_capture else frozenset()
    if -1 in target_layers:
        aux_hidden_states.append(hidden_states.clone())

    for idx, layer in enumerate(self.layers):
        hidden_states = layer(hidden_states)
        if idx in target_layers:
            aux_hidden_states.append(hidden_states.clone())
    return hidden_states
"""
