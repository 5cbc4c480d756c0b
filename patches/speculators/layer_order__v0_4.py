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
NEEDS = {"speculators": ">=0.4.0,<0.5.0", "vllm": ">=0.11.0"}
FIXED_IN = {"speculators": "0.5.0"}
SILENT = (
    "with layer ids that are unsorted or repeated, the hidden states are those of"
    " other layers than the ids say"
)
NO_UPSTREAM = "not known there; 0.5.0 removed the generator"
TOUCHES = ["VllmHiddenStatesGenerator.generate"]

_GENERATE = "VllmHiddenStatesGenerator.generate"
_AS_CAPTURED = "layer_states = [h.clone().cpu() for h in request_states_dict[req_id]]"
_PAIR = """
captured_ids = sorted(set(self.layer_ids))
by_layer = dict(
    zip(captured_ids, request_states_dict[req_id], strict=True)
)
"""
_ZIP = "zip(captured_ids, request_states_dict[req_id], strict=True)"
_SORT = """
layer_states = [
    by_layer[layer_id].clone().cpu() for layer_id in self.layer_ids
]
"""
_SORT_BACK = f"""
# The worker captures each layer once, in the order of the layers.
{_PAIR.strip()}
{_SORT.strip()}
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(module, _GENERATE, edit.replace(_AS_CAPTURED, _SORT_BACK))


def fixed(module: cst.Module) -> bool:
    return (
        edit.count(module, _GENERATE, _ZIP) == 1
        and edit.count(module, _GENERATE, _SORT) == 1
    )


BEFORE = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        for req_id in request_ids:
            layer_states = [h.clone().cpu() for h in request_states_dict[req_id]]
            results.append({"hidden_states": layer_states})
        return results
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        for req_id in request_ids:
            # The worker captures each layer once, in the order of the layers.
            captured_ids = sorted(set(self.layer_ids))
            by_layer = dict(
                zip(captured_ids, request_states_dict[req_id], strict=True)
            )
            layer_states = [
                by_layer[layer_id].clone().cpu() for layer_id in self.layer_ids
            ]
            results.append({"hidden_states": layer_states})
        return results
"""
