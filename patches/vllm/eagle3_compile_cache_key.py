"""Compiled code is kept apart for drafts that take other layers of the target.

Two EAGLE-3 drafts of one target whose configs name different auxiliary layers
(`eagle_aux_hidden_state_layer_ids`) share one compile cache folder: of the speculative
config, only "is it EAGLE-3" goes into the folder's key, although the layers decide
what the compiled graph of the target returns. With `VLLM_USE_AOT_COMPILE=1` (the
default from torch 2.10 on) the second draft then silently gets the layers of the
first. Nothing fails; drafts are only accepted more rarely.

The fix puts the configured layers into the key. Compiled code of earlier runs is not
found under the new key, so the first start compiles anew. Drop this with vLLM 0.17.0,
which does the same.
"""

import libcst as cst

from patchset import edit

TARGET = "vllm/config/speculative.py"
GROUP = "eagle3-serving"
NEEDS = {"vllm": ">=0.11.1,<0.17.0"}
FIXED_IN = {"vllm": "0.17.0"}
SILENT = (
    "a draft is fed the auxiliary layers of another draft that was compiled before it"
)
UPSTREAM = "https://github.com/vllm-project/vllm/pull/33736"
TOUCHES = ["SpeculativeConfig.compute_hash"]

_HASH = "SpeculativeConfig.compute_hash"
_FACTOR = """
if self.method == "eagle3" and self.draft_model_config is not None:
    factors.append(
        getattr(
            self.draft_model_config.hf_config,
            "eagle_aux_hidden_state_layer_ids",
            None,
        )
    )
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        _HASH,
        edit.insert_after('factors.append(self.method == "eagle3")', _FACTOR),
    )


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _HASH, _FACTOR) == 1


BEFORE = """\
class SpeculativeConfig:
    def compute_hash(self):
        factors = []
        factors.append(self.method == "eagle3")
        return str(factors)
"""
AFTER = """\
class SpeculativeConfig:
    def compute_hash(self):
        factors = []
        factors.append(self.method == "eagle3")
        if self.method == "eagle3" and self.draft_model_config is not None:
            factors.append(
                getattr(
                    self.draft_model_config.hf_config,
                    "eagle_aux_hidden_state_layer_ids",
                    None,
                )
            )
        return str(factors)
"""
