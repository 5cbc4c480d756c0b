"""The captured states are read as the worker's bare reply.

Asked for the reply of one rank, the executor of vLLM 0.11.0 returned a list with that
one reply, and speculators 0.3.0 takes its first element. From vLLM 0.11.1 on the reply
comes bare: it is the list of layers itself, and its first element is the tensor of one
layer, which the next line asks for its truth value.

Drop this with speculators 0.4.0, which uses the reply as it comes.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.11.1"}
FIXED_IN = {"speculators": "0.4.0"}
SYMPTOMS = [r"Boolean value of Tensor with more than one value is ambiguous"]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/225"
TOUCHES = ["VllmHiddenStatesGenerator.generate"]

_GENERATE = "VllmHiddenStatesGenerator.generate"
_CURED = "aux_hidden_states = captured_states_list"


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        _GENERATE,
        edit.replace("aux_hidden_states = captured_states_list[0]", _CURED),
    )


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _GENERATE, _CURED) == 1


BEFORE = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        captured_states_list = self.executor.collective_rpc(
            "_get_captured_states",
            unique_reply_rank=0,
        )
        aux_hidden_states = captured_states_list[0]
        return aux_hidden_states
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        captured_states_list = self.executor.collective_rpc(
            "_get_captured_states",
            unique_reply_rank=0,
        )
        aux_hidden_states = captured_states_list
        return aux_hidden_states
"""
