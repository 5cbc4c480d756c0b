"""Training reads the verifier's config where that is code of the checkpoint.

Training an EAGLE-3 draft for Kimi-K2.5 stops when the verifier's weights are loaded:
the config of that checkpoint is Python code, and transformers wants to hear that it may
run it. transformers 5.13.0 knows that config itself, so this patch is for older ones
only; speculators has not corrected this place up to 0.9.0.

The checkpoint is trusted already where this comes up: vLLM ran its code to extract the
hidden states. `scripts/train.py` and `scripts/launch_vllm.py` of the repository make
the same call before 0.8.0; they are not in the wheel, so no patch can reach them.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/models/eagle3/core.py"
GROUP = "eagle3-training"
NEEDS = {"speculators": ">=0.5.0", "transformers": "<5.13.0"}
FIXED_IN = {"transformers": "5.13.0"}
SYMPTOMS = [
    r"contains custom code which must be executed to correctly load the model",
]
NO_UPSTREAM = "corrected elsewhere in 0.8.0 (pull request 963), not in this place"
TOUCHES = ["Eagle3DraftModel.load_verifier_weights"]

_LOAD = "Eagle3DraftModel.load_verifier_weights"
_TRUSTING = """
verifier_model_config = AutoConfig.from_pretrained(
    verifier_config.name_or_path,  # type: ignore[arg-type]
    trust_remote_code=True,
)
"""


def rewrite(module: cst.Module) -> cst.Module:
    old = """
    verifier_model_config = AutoConfig.from_pretrained(verifier_config.name_or_path)
    """
    return edit.within(module, _LOAD, edit.replace(old, _TRUSTING))


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _LOAD, _TRUSTING) == 1


BEFORE = """\
class Eagle3DraftModel:
    def load_verifier_weights(self):
        verifier_config = self.config.speculators_config.verifier
        verifier_model_config = AutoConfig.from_pretrained(verifier_config.name_or_path)
        return verifier_model_config
"""
AFTER = """\
class Eagle3DraftModel:
    def load_verifier_weights(self):
        verifier_config = self.config.speculators_config.verifier
        verifier_model_config = AutoConfig.from_pretrained(
            verifier_config.name_or_path,  # type: ignore[arg-type]
            trust_remote_code=True,
        )
        return verifier_model_config
"""
