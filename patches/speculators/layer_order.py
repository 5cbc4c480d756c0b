"""Hidden states come back in the order of the layer ids that were asked for.

`layer_ids=[30, 2]` gives two tensors, and the first is layer 2: the worker captures in
the order of the layers, whatever the order of the ids, and a layer that is named twice
it captures once, so that fewer tensors come back than ids were given. Whoever zips them
with the ids labels them wrongly. With ascending, distinct ids, as by default, nothing
changes.

The fix sorts the captured states back, and raises where they are not as many as the
layers asked for. Upstream has never done it; drop this with speculators 0.5.0, which
has no such generator.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.11.0"}
FIXED_IN = {"speculators": "0.5.0"}
SILENT = (
    "with layer ids that are unsorted or repeated, the hidden states are those of"
    " other layers than the ids say"
)
NO_UPSTREAM = "not known there; 0.5.0 removed the generator"
TOUCHES = ["VllmHiddenStatesGenerator.generate"]

_GENERATE = "VllmHiddenStatesGenerator.generate"
_CHECK = "if not aux_hidden_states:\n    ..."
_PAIR = """
by_layer = dict(
    zip(sorted(set(self.layer_ids)), aux_hidden_states, strict=True)
)
"""
_SORT = "aux_hidden_states = [by_layer[layer_id] for layer_id in self.layer_ids]"
_SORT_BACK = f"""
# The worker captures each layer once, in the order of the layers.
{_PAIR.strip()}
{_SORT}
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(module, _GENERATE, edit.insert_after(_CHECK, _SORT_BACK))


def fixed(module: cst.Module) -> bool:
    return (
        edit.count(module, _GENERATE, _PAIR) == 1
        and edit.count(module, _GENERATE, _SORT) == 1
    )


BEFORE = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        aux_hidden_states = captured_states_list[0]

        if not aux_hidden_states:
            raise RuntimeError("nothing captured")

        return aux_hidden_states
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        aux_hidden_states = captured_states_list[0]

        if not aux_hidden_states:
            raise RuntimeError("nothing captured")
        # The worker captures each layer once, in the order of the layers.
        by_layer = dict(
            zip(sorted(set(self.layer_ids)), aux_hidden_states, strict=True)
        )
        aux_hidden_states = [by_layer[layer_id] for layer_id in self.layer_ids]

        return aux_hidden_states
"""
