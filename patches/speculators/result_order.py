"""Results come back in the order of the prompts.

`generate()` of speculators 0.4.0 and 0.4.0.1 walks the requests in the order of their
ids as strings, in which `req_0_10` comes before `req_0_2`. With more than ten prompts,
results[2] is that of prompt 10, and whoever pairs results with prompts by position
pairs them wrongly. Each result by itself is right: its `input_ids` belong to its hidden
states.

Upstream has never corrected it; drop this with speculators 0.5.0, which has no such
generator.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.4.0,<0.5.0", "vllm": ">=0.11.0"}
FIXED_IN = {"speculators": "0.5.0"}
SILENT = "from the eleventh prompt on, results are not in the order of the prompts"
NO_UPSTREAM = "not known there; 0.5.0 removed the generator"
TOUCHES = ["VllmHiddenStatesGenerator.generate"]

_GENERATE = "VllmHiddenStatesGenerator.generate"


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        _GENERATE,
        edit.replace(
            "for req_id in sorted(request_id_to_idx.keys()):\n    ...",
            "for req_id in request_id_to_idx:\n    ...",
        ),
    )


def fixed(module: cst.Module) -> bool:
    loop = "for req_id in request_id_to_idx:\n    ..."
    return edit.count(module, _GENERATE, loop) == 1


BEFORE = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        results = []
        for req_id in sorted(request_id_to_idx.keys()):
            results.append(request_states_dict[req_id])
        return results
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        results = []
        for req_id in request_id_to_idx:
            results.append(request_states_dict[req_id])
        return results
"""
