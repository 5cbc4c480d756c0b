"""Training looks for the verifier's sizes in the config of its language model.

With a multimodal verifier such as Kimi-K2.5, speculators 0.3.0 cannot make an EAGLE-3
draft model for training: it asks the verifier's config for `hidden_size`, and that of a
multimodal model has it in its `text_config` only.

Drop this with speculators 0.4.0, which looks there.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/models/eagle3/core.py"
GROUP = "eagle3-training"
NEEDS = {"speculators": ">=0.3.0,<0.4.0"}
FIXED_IN = {"speculators": "0.4.0"}
SYMPTOMS = [r"'\w+Config' object has no attribute 'hidden_size'"]
UPSTREAM = "https://github.com/vllm-project/speculators/releases/tag/v0.4.0"
TOUCHES = ["Eagle3DraftModel._setup_embeddings_and_lm_heads"]

_SETUP = "Eagle3DraftModel._setup_embeddings_and_lm_heads"
_CHECK = "if verifier_model_config.hidden_size != self.hidden_size:\n    ..."
_TEXT_CONFIG = """
if hasattr(verifier_model_config, "text_config"):
    verifier_model_config = verifier_model_config.text_config
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(module, _SETUP, edit.insert_before(_CHECK, _TEXT_CONFIG))


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _SETUP, _TEXT_CONFIG) == 1


BEFORE = """\
class Eagle3DraftModel:
    def _setup_embeddings_and_lm_heads(self, config, t2d):
        verifier_model_config = AutoConfig.from_pretrained(config.name_or_path)
        if verifier_model_config.hidden_size != self.hidden_size:
            raise ValueError("another hidden size")
"""
AFTER = """\
class Eagle3DraftModel:
    def _setup_embeddings_and_lm_heads(self, config, t2d):
        verifier_model_config = AutoConfig.from_pretrained(config.name_or_path)
        if hasattr(verifier_model_config, "text_config"):
            verifier_model_config = verifier_model_config.text_config
        if verifier_model_config.hidden_size != self.hidden_size:
            raise ValueError("another hidden size")
"""
