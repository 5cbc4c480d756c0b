"""The EAGLE drafter's loader reads Kimi-K2.5's own image token.

With Kimi-K2.5 as the target, loading the draft model ends in an `AttributeError`, after
all the weights of the target have been loaded. The loader copies the image token of a
multimodal target into the draft's config, knows the attribute's name for a few models
by name, and takes `image_token_index` for all others. Kimi-K2.5 has none: its
placeholder for images and video chunks is `media_placeholder_token_id`. The copied
number is not used in EAGLE-3 drafting, so nothing but the crash depends on it.

Text-only targets (Kimi-K2, DeepSeek-V3) never come here. Drop this with vLLM 0.18.0,
which has the same branch.
"""

import libcst as cst

from patchset import edit

TARGET = "vllm/v1/spec_decode/eagle.py"
GROUP = "eagle3-serving"
NEEDS = {"vllm": ">=0.15.0,<0.18.0"}
FIXED_IN = {"vllm": "0.18.0"}
SYMPTOMS = [r"'KimiK25Config' object has no attribute 'image_token_index'"]
UPSTREAM = "https://github.com/vllm-project/vllm/pull/36361"
TOUCHES = ["SpecDecodeBaseProposer.load_model"]
CURES = [
    "config-field *.KimiK25ForConditionalGeneration.config.* image_token_index",
]

_LOADER = "SpecDecodeBaseProposer.load_model"
_PIXTRAL = 'self.get_model_name(target_model) == "PixtralForConditionalGeneration"'
_KIMI = 'self.get_model_name(target_model) == "KimiK25ForConditionalGeneration"'
_TAKE_ITS_OWN = """
self.model.config.image_token_index = (
    target_model.config.media_placeholder_token_id
)
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(module, _LOADER, edit.add_branch(_PIXTRAL, _KIMI, _TAKE_ITS_OWN))


def fixed(module: cst.Module) -> bool:
    return (
        edit.count(module, _LOADER, _KIMI) == 1
        and edit.count(module, _LOADER, _TAKE_ITS_OWN) == 1
    )


BEFORE = """\
class SpecDecodeBaseProposer:
    def load_model(self, target_model):
        if self.get_model_name(target_model) in ["Qwen3VLForConditionalGeneration"]:
            self.model.config.image_token_index = target_model.config.image_token_id
        elif self.get_model_name(target_model) == "PixtralForConditionalGeneration":
            self.model.config.image_token_index = 10
        else:
            self.model.config.image_token_index = target_model.config.image_token_index
"""
AFTER = """\
class SpecDecodeBaseProposer:
    def load_model(self, target_model):
        if self.get_model_name(target_model) in ["Qwen3VLForConditionalGeneration"]:
            self.model.config.image_token_index = target_model.config.image_token_id
        elif self.get_model_name(target_model) == "PixtralForConditionalGeneration":
            self.model.config.image_token_index = 10
        elif self.get_model_name(target_model) == "KimiK25ForConditionalGeneration":
            self.model.config.image_token_index = (
                target_model.config.media_placeholder_token_id
            )
        else:
            self.model.config.image_token_index = target_model.config.image_token_index
"""
