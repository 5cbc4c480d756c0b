"""The verifier's layers are counted where its config is code of the checkpoint.

Without explicit target layers, training reads the number of layers from the verifier's
config. That of Kimi-K2.5 is Python code of the checkpoint, and transformers wants to
hear that it may run it. transformers 5.13.0 knows that config itself; speculators 0.8.0
asks its user for `--trust-remote-code` and passes it on.

The checkpoint is trusted already where this comes up: vLLM ran its code to extract the
hidden states.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/models/utils.py"
GROUP = "eagle3-training"
NEEDS = {"speculators": ">=0.5.0,<0.8.0", "transformers": "<5.13.0"}
FIXED_IN = {"speculators": "0.8.0", "transformers": "5.13.0"}
SYMPTOMS = [
    r"contains custom code which must be executed to correctly load the model",
]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/963"
TOUCHES = ["get_verifier_config"]

_TRUSTING = """
verifier_config = AutoConfig.from_pretrained(
    verifier_name_or_path, trust_remote_code=True
)
"""


def rewrite(module: cst.Module) -> cst.Module:
    old = "verifier_config = AutoConfig.from_pretrained(verifier_name_or_path)"
    return edit.within(module, "get_verifier_config", edit.replace(old, _TRUSTING))


def fixed(module: cst.Module) -> bool:
    return edit.count(module, "get_verifier_config", _TRUSTING) == 1


BEFORE = """\
def get_verifier_config(verifier_name_or_path):
    verifier_config = AutoConfig.from_pretrained(verifier_name_or_path)
    return verifier_config
"""
AFTER = """\
def get_verifier_config(verifier_name_or_path):
    verifier_config = AutoConfig.from_pretrained(
        verifier_name_or_path, trust_remote_code=True
    )
    return verifier_config
"""
