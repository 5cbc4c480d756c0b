"""The verifier's vocabulary is measured where its config is code of the checkpoint.

The vocabulary mapping of a draft reads the size of the verifier's vocabulary from the
verifier's config. That of Kimi-K2.5 is Python code of the checkpoint, and transformers
wants to hear that it may run it. transformers 5.13.0 knows that config itself;
speculators 0.8.0 asks its user for `--trust-remote-code` and passes it on.

The checkpoint is trusted already where this comes up: vLLM ran its code to extract the
hidden states.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/train/vocab_mapping.py"
GROUP = "eagle3-training"
NEEDS = {"speculators": ">=0.5.0,<0.8.0", "transformers": "<5.13.0"}
FIXED_IN = {"speculators": "0.8.0", "transformers": "5.13.0"}
SYMPTOMS = [
    r"contains custom code which must be executed to correctly load the model",
]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/963"
TOUCHES = ["get_target_vocab_size"]

_TRUSTING = """
config = AutoConfig.from_pretrained(
    target_model_path, trust_remote_code=True
)
"""


def rewrite(module: cst.Module) -> cst.Module:
    old = "config = AutoConfig.from_pretrained(target_model_path)"
    return edit.within(module, "get_target_vocab_size", edit.replace(old, _TRUSTING))


def fixed(module: cst.Module) -> bool:
    return edit.count(module, "get_target_vocab_size", _TRUSTING) == 1


BEFORE = """\
def get_target_vocab_size(target_vocab_size, target_model_path):
    if target_vocab_size is not None:
        return target_vocab_size
    config = AutoConfig.from_pretrained(target_model_path)
    return config.vocab_size
"""
AFTER = """\
def get_target_vocab_size(target_vocab_size, target_model_path):
    if target_vocab_size is not None:
        return target_vocab_size
    config = AutoConfig.from_pretrained(
        target_model_path, trust_remote_code=True
    )
    return config.vocab_size
"""
