"""Layer ids of extracted hidden states mean what they mean to vLLM.

speculators up to 0.4.0.1 returns, for layer id i, what layer i puts out. To vLLM, and
so to an EAGLE-3 draft that it serves, id i means what goes into layer i: what layer
i - 1 puts out. Both have the same default ids, 2, n/2 and n-3 for a model of n layers.
So a draft is trained on other states than it is later fed, and accepts fewer tokens
than it could. Nothing fails.

With this patch the ids are vLLM's: 0 is the embeddings, n what the last layer puts out
before the final norm, and the default is 2, n/2, n-3 and n, which is also that of
speculators 0.5.0 and newer. It changes what an id means. Data extracted with and
without it must not be mixed, and explicit `layer_ids` must be raised by one to get the
same states as before. Therefore it is applied only when asked for.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.5.0", "vllm": ">=0.11.0"}
FIXED_IN = {"speculators": "0.5.0"}
SILENT = "a draft is trained on other layers than those that vLLM feeds it"
UPSTREAM = "https://github.com/vllm-project/speculators/pull/353"
TOUCHES = [
    "VllmHiddenStatesGenerator.__init__",
    "VllmHiddenStatesGenerator._setup_capture",
]
OPT_IN = True

_INIT = "VllmHiddenStatesGenerator.__init__"
_CAPTURE = "VllmHiddenStatesGenerator._setup_capture"
_OLD_DEFAULT = """
self.layer_ids = [2, num_layers // 2, num_layers - 3, num_layers - 1]
"""
_DEFAULT = "self.layer_ids = [2, num_layers // 2, num_layers - 3, num_layers]"
_OLD_BOUNDS = "if layer_id < 0 or layer_id >= num_layers:\n    ..."
_BOUNDS = """
if layer_id < 0 or layer_id > num_layers:
    raise ValueError(
        f"Layer index {layer_id} out of bounds [0, {num_layers}]"
    )
"""
_OLD_IDS = "args=(self.layer_ids,)"
_IDS = "([layer_id - 1 for layer_id in self.layer_ids],)"
_SHIFT = f"""
# What goes into layer i is what layer i - 1 puts out.
self.executor.collective_rpc(
    "_setup_hidden_states_capture",
    args={_IDS},
)
"""


def rewrite(module: cst.Module) -> cst.Module:
    module = edit.within(
        module,
        _INIT,
        edit.replace(_OLD_DEFAULT, _DEFAULT),
        edit.replace(_OLD_BOUNDS, _BOUNDS),
    )
    old_call = (
        f'self.executor.collective_rpc("_setup_hidden_states_capture", {_OLD_IDS})'
    )
    return edit.within(module, _CAPTURE, edit.replace(old_call, _SHIFT))


def fixed(module: cst.Module) -> bool:
    shifted = edit.count(module, _CAPTURE, _SHIFT) == 1
    return (
        edit.count(module, _INIT, _DEFAULT) == 1
        and edit.count(module, _INIT, _BOUNDS) == 1
        and shifted
    )


BEFORE = """\
class VllmHiddenStatesGenerator:
    def __init__(self, num_layers, layer_ids=None):
        if layer_ids is None:
            self.layer_ids = [2, num_layers // 2, num_layers - 3, num_layers - 1]
        else:
            self.layer_ids = layer_ids
        for layer_id in self.layer_ids:
            if layer_id < 0 or layer_id >= num_layers:
                raise ValueError(f"{layer_id} out of bounds [0, {num_layers - 1}]")

    def _setup_capture(self):
        self.executor.collective_rpc(
            "_setup_hidden_states_capture",
            args=(self.layer_ids,),
        )
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def __init__(self, num_layers, layer_ids=None):
        if layer_ids is None:
            self.layer_ids = [2, num_layers // 2, num_layers - 3, num_layers]
        else:
            self.layer_ids = layer_ids
        for layer_id in self.layer_ids:
            if layer_id < 0 or layer_id > num_layers:
                raise ValueError(
                    f"Layer index {layer_id} out of bounds [0, {num_layers}]"
                )

    def _setup_capture(self):
        # What goes into layer i is what layer i - 1 puts out.
        self.executor.collective_rpc(
            "_setup_hidden_states_capture",
            args=([layer_id - 1 for layer_id in self.layer_ids],),
        )
"""
