"""Training reads the verifier's config where that is code of the checkpoint.

Training an EAGLE-3 draft for Kimi-K2.5 stops when the draft model is made: the config
of that checkpoint is Python code, and transformers wants to hear that it may run it.
transformers 5.13.0 knows that config itself, so this patch is for older ones only. In
0.3.0 two more obstacles come after it; this group has a patch for each.

The checkpoint is trusted already where this comes up: vLLM ran its code to extract the
hidden states. `scripts/train.py` of the repository makes the same call; it is not in
the wheel, so no patch can reach it.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/models/eagle3/core.py"
GROUP = "eagle3-training"
NEEDS = {"speculators": ">=0.3.0,<0.5.0", "transformers": "<5.13.0"}
FIXED_IN = {"transformers": "5.13.0"}
SYMPTOMS = [
    r"contains custom code which must be executed to correctly load the model",
]
NO_UPSTREAM = "corrected elsewhere in 0.8.0 (pull request 963), not in this place"
TOUCHES = ["Eagle3DraftModel._setup_embeddings_and_lm_heads"]

_SETUP = "Eagle3DraftModel._setup_embeddings_and_lm_heads"
_TRUSTING = """
verifier_model_config = AutoConfig.from_pretrained(
    config.name_or_path, trust_remote_code=True
)
"""


def rewrite(module: cst.Module) -> cst.Module:
    old = "verifier_model_config = AutoConfig.from_pretrained(config.name_or_path)"
    return edit.within(module, _SETUP, edit.replace(old, _TRUSTING))


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _SETUP, _TRUSTING) == 1


BEFORE = """\
class Eagle3DraftModel:
    def _setup_embeddings_and_lm_heads(self, config, t2d):
        verifier_model_config = AutoConfig.from_pretrained(config.name_or_path)
        return verifier_model_config
"""
AFTER = """\
class Eagle3DraftModel:
    def _setup_embeddings_and_lm_heads(self, config, t2d):
        verifier_model_config = AutoConfig.from_pretrained(
            config.name_or_path, trust_remote_code=True
        )
        return verifier_model_config
"""
