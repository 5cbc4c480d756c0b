"""DeepSeek-V2 and V3 (and so Kimi-K2) implement EAGLE-3's interface.

With such a target, EAGLE-3 fails after the weights are loaded: the model runner finds
that the model does not implement `SupportsEagle3`. An EAGLE-3 draft reads the target's
hidden states before a few of its layers, and this model neither collects them nor can
be told which. All of DeepSeek-V2, V3, V3.2 and Kimi-K2 is this one file; Kimi-K2.5
wraps it, and needs the wrapper's patch of this group too.

Layer ids count from the first layer of the whole model. An id stands for what enters
that layer: 0 is the embedding, and the number of layers is what leaves the last one.
States come in the order of the layers, as in vLLM's other models. With pipeline
parallelism, the runner asks the last stage only, and states are not passed on between
stages: an id of another stage is refused when the model is loaded, instead of leaving
the draft with a state too few. Once the first batch has run, the layers stay what they
are: they are part of the compiled graph.

Drop this with vLLM 0.18.0, which implements the interface itself (without the first
and the last id, and without refusing other stages).
"""

import libcst as cst

from patchset import edit

TARGET = "vllm/model_executor/models/deepseek_v2.py"
GROUP = "eagle3-serving"
NEEDS = {"vllm": ">=0.11.0,<0.18.0"}
FIXED_IN = {"vllm": "0.18.0"}
SYMPTOMS = [r"Model does not support EAGLE3 interface"]
UPSTREAM = "https://github.com/vllm-project/vllm/pull/36361"
TOUCHES = [
    "<module>",
    "DeepseekV2ForCausalLM",
    "DeepseekV2ForCausalLM.forward",
    "DeepseekV2ForCausalLM.get_eagle3_aux_hidden_state_layers",
    "DeepseekV2ForCausalLM.set_aux_hidden_state_layers",
    "DeepseekV2Model",
    "DeepseekV2Model.forward",
    "DeepseekV2Model.get_eagle3_aux_hidden_state_layers",
    "DeepseekV2Model.set_aux_hidden_state_layers",
]
CURES = [
    "protocol vllm.model_executor.models.deepseek_v2.* SupportsEagle3",
    "protocol vllm.model_executor.models.deepseek_v2.* aux_hidden_state_layers",
]

_MODEL = "DeepseekV2Model"
_CAUSAL = "DeepseekV2ForCausalLM"
_WITH_STATES = "tuple[torch.Tensor, list[torch.Tensor]]"

_CLASS_ATTRIBUTE = "fall_back_to_pt_during_load = False"
# On the class: a subclass of another file calls `forward`, but not this `__init__`.
_LAYERS = "aux_hidden_state_layers: tuple[int, ...] = ()"
_LOOP = "for layer in islice(self.layers, self.start_layer, self.end_layer): ..."
_COLLECT = """
if index in self.aux_hidden_state_layers:
    aux_hidden_states.append(
        hidden_states if residual is None else hidden_states + residual
    )
"""
_COLLECTING_LOOP = """
aux_hidden_states: list[torch.Tensor] = []
for index, layer in enumerate(
    islice(self.layers, self.start_layer, self.end_layer),
    start=self.start_layer,
):
    if index in self.aux_hidden_state_layers:
        # There is no residual before the first layer.
        aux_hidden_states.append(
            hidden_states if residual is None else hidden_states + residual
        )
    ...
"""
_FINAL_NORM = "hidden_states, _ = self.norm(hidden_states, residual)"
_LAST_STATE = """
if self.end_layer in self.aux_hidden_state_layers:
    aux_hidden_states.append(hidden_states + residual)
"""
_RETURN_STATES = """
if aux_hidden_states:
    return hidden_states, aux_hidden_states
"""
_DECODER_METHODS = """
def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
    first, last = self.start_layer, self.end_layer
    if not all(first <= layer <= last for layer in layers):
        raise ValueError(
            f"EAGLE-3 asks for the hidden states that enter layers {layers}; this "
            f"pipeline stage has those that enter layers {first} to {last} only"
        )
    self.aux_hidden_state_layers = tuple(layers)

def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:
    num_layers = len(self.layers)
    return (2, num_layers // 2, num_layers - 3)
"""
_METHODS = """
def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
    self.model.set_aux_hidden_state_layers(layers)

def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:
    return self.model.get_eagle3_aux_hidden_state_layers()
"""


def rewrite(module: cst.Module) -> cst.Module:
    module = edit.within(
        module, edit.MODULE, edit.extend_import(".interfaces", "SupportsEagle3")
    )
    module = edit.within(
        module,
        _MODEL,
        edit.insert_after(_CLASS_ATTRIBUTE, _LAYERS),
        edit.add_members(_DECODER_METHODS, after="forward"),
    )
    module = edit.within(
        module,
        f"{_MODEL}.forward",
        edit.replace(_LOOP, _COLLECTING_LOOP),
        edit.insert_before(_FINAL_NORM, _LAST_STATE),
        edit.insert_after(_FINAL_NORM, _RETURN_STATES),
        edit.widen_return(_WITH_STATES),
    )
    module = edit.within(module, f"{_CAUSAL}.forward", edit.widen_return(_WITH_STATES))
    return edit.within(
        module,
        _CAUSAL,
        edit.add_base("SupportsEagle3"),
        edit.add_members(_METHODS, after="compute_logits"),
    )


def fixed(module: cst.Module) -> bool:
    forward = f"{_MODEL}.forward"
    return all(
        (
            edit.imports(module, ".interfaces", "SupportsEagle3"),
            edit.count(module, _MODEL, _LAYERS) == 1,
            edit.count(module, forward, _COLLECT) == 1,
            edit.count(module, forward, _LAST_STATE) == 1,
            edit.count(module, forward, _RETURN_STATES) == 1,
            edit.returns(module, forward, _WITH_STATES),
            edit.returns(module, f"{_CAUSAL}.forward", _WITH_STATES),
            edit.has_base(module, _CAUSAL, "SupportsEagle3"),
            edit.defines(module, _CAUSAL, "set_aux_hidden_state_layers"),
            edit.defines(module, _CAUSAL, "get_eagle3_aux_hidden_state_layers"),
            edit.defines(module, _MODEL, "set_aux_hidden_state_layers"),
            edit.defines(module, _MODEL, "get_eagle3_aux_hidden_state_layers"),
        )
    )


BEFORE = """\
from .interfaces import MixtureOfExperts, SupportsPP


class DeepseekV2Model(Module):
    fall_back_to_pt_during_load = False

    def forward(self, hidden_states, residual) -> Union[
        torch.Tensor,
        IntermediateTensors,
    ]:
        for layer in islice(self.layers, self.start_layer, self.end_layer):
            hidden_states, residual = layer(hidden_states, residual)

        hidden_states, _ = self.norm(hidden_states, residual)
        return hidden_states


class DeepseekV2ForCausalLM(Module, SupportsPP):
    def forward(self, *args) -> torch.Tensor:
        return self.model(*args)

    def compute_logits(self, hidden_states):
        return self.logits_processor(hidden_states)
"""
AFTER = """\
from .interfaces import MixtureOfExperts, SupportsPP, SupportsEagle3


class DeepseekV2Model(Module):
    fall_back_to_pt_during_load = False
    aux_hidden_state_layers: tuple[int, ...] = ()

    def forward(self, hidden_states, residual) -> Union[
        torch.Tensor,
        IntermediateTensors,
        tuple[torch.Tensor, list[torch.Tensor]],
    ]:
        aux_hidden_states: list[torch.Tensor] = []
        for index, layer in enumerate(
            islice(self.layers, self.start_layer, self.end_layer),
            start=self.start_layer,
        ):
            if index in self.aux_hidden_state_layers:
                # There is no residual before the first layer.
                aux_hidden_states.append(
                    hidden_states if residual is None else hidden_states + residual
                )
            hidden_states, residual = layer(hidden_states, residual)

        if self.end_layer in self.aux_hidden_state_layers:
            aux_hidden_states.append(hidden_states + residual)
        hidden_states, _ = self.norm(hidden_states, residual)
        if aux_hidden_states:
            return hidden_states, aux_hidden_states
        return hidden_states

    def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
        first, last = self.start_layer, self.end_layer
        if not all(first <= layer <= last for layer in layers):
            raise ValueError(
                f"EAGLE-3 asks for the hidden states that enter layers {layers}; this "
                f"pipeline stage has those that enter layers {first} to {last} only"
            )
        self.aux_hidden_state_layers = tuple(layers)

    def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:
        num_layers = len(self.layers)
        return (2, num_layers // 2, num_layers - 3)


class DeepseekV2ForCausalLM(Module, SupportsPP, SupportsEagle3):
    def forward(self, *args) -> torch.Tensor | tuple[torch.Tensor, list[torch.Tensor]]:
        return self.model(*args)

    def compute_logits(self, hidden_states):
        return self.logits_processor(hidden_states)

    def set_aux_hidden_state_layers(self, layers: tuple[int, ...]) -> None:
        self.model.set_aux_hidden_state_layers(layers)

    def get_eagle3_aux_hidden_state_layers(self) -> tuple[int, ...]:
        return self.model.get_eagle3_aux_hidden_state_layers()
"""
