"""DeepSeek-V2 and V3 hand out what leaves their last layer too.

`vllm serve` with the method `extract_hidden_states` dies at its first request, when the
last layer's state is asked for, with DeepSeek-V2, V3, Kimi-K2 or Kimi-K2.5 as model.
speculators asks for it by default, from 0.5.0 on: it is what the verifier's head sees,
and so what a draft is trained towards. An id counts what enters a layer; the number of
layers stands for what leaves the last one. This model looks for ids only in the loop
over its layers, never finds that one, and returns a state too few for the buffer.

EAGLE-3 serving with the usual layers does not ask for it. Below vLLM 0.18.0 this is
part of the patch by which the model collects states at all. Drop it with vLLM 0.25.0,
which has the same two lines; there the place where they belong looks as it did before.
"""

import libcst as cst

from patchset import edit

TARGET = "vllm/model_executor/models/deepseek_v2.py"
GROUP = "hidden-states-extraction"
NEEDS = {"vllm": ">=0.18.0,<0.25.0"}
FIXED_IN = {"vllm": "0.25.0"}
SYMPTOMS = [
    r"expanded size of the tensor \(\d+\) must match the existing size .* dimension 1",
]
UPSTREAM = "https://github.com/vllm-project/vllm/pull/46973"
TOUCHES = ["DeepseekV2Model.forward"]

_FORWARD = "DeepseekV2Model.forward"
_FINAL_NORM = "hidden_states, _ = self.norm(hidden_states, residual)"
_LAST_STATE = """
if self.end_layer in self.aux_hidden_state_layers:
    aux_hidden_states.append(hidden_states + residual)
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(module, _FORWARD, edit.insert_before(_FINAL_NORM, _LAST_STATE))


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _FORWARD, _LAST_STATE) == 1


BEFORE = """\
class DeepseekV2Model:
    def forward(self, hidden_states, residual):
        aux_hidden_states = []
        for idx, layer in enumerate(self.layers):
            if idx in self.aux_hidden_state_layers:
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = layer(hidden_states, residual)

        hidden_states, _ = self.norm(hidden_states, residual)
        if len(aux_hidden_states) > 0:
            return hidden_states, aux_hidden_states
        return hidden_states
"""
AFTER = """\
class DeepseekV2Model:
    def forward(self, hidden_states, residual):
        aux_hidden_states = []
        for idx, layer in enumerate(self.layers):
            if idx in self.aux_hidden_state_layers:
                aux_hidden_states.append(hidden_states + residual)
            hidden_states, residual = layer(hidden_states, residual)

        if self.end_layer in self.aux_hidden_state_layers:
            aux_hidden_states.append(hidden_states + residual)
        hidden_states, _ = self.norm(hidden_states, residual)
        if len(aux_hidden_states) > 0:
            return hidden_states, aux_hidden_states
        return hidden_states
"""
