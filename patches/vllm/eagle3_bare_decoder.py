"""The EAGLE drafter's loader shares with a target whose language model is a decoder.

With Kimi-K2.5 on vLLM 0.15.x, loading the draft model ends in an `AttributeError`,
after all the weights of the target have been loaded. The loader takes the embedding
from the `model` of the target's language model, and the output head from the language
model. In this release Kimi-K2.5's language model is the bare decoder: the embedding is
its own, and the head is the wrapper's.

The lookup of the embedding is what fails, and only without pipeline parallelism. The
missing head would be silent: a draft without one of its own kept what memory held.
Drop this with vLLM 0.16.0, where the language model is a whole `DeepseekV2ForCausalLM`.
"""

import libcst as cst

from patchset import edit

TARGET = "vllm/v1/spec_decode/eagle.py"
GROUP = "eagle3-serving"
NEEDS = {"vllm": ">=0.15.0,<0.16.0"}
FIXED_IN = {"vllm": "0.16.0"}
SYMPTOMS = [r"'DeepseekV2Model' object has no attribute 'model'"]
NO_UPSTREAM = "no fix of the loader: 0.16.0 rewrote the model's wrapper instead"
TOUCHES = ["SpecDecodeBaseProposer.load_model"]
CURES = [
    "protocol vllm.model_executor.models.deepseek_v2.DeepseekV2Model model",
]

_LOADER = "SpecDecodeBaseProposer.load_model"
_SHARING = """
if get_pp_group().world_size == 1:
    ...
else:
    ...
"""
_FIND_DECODER = (
    'target_decoder = getattr(target_language_model, "model", target_language_model)'
)
_FIND_HEAD = """
if not hasattr(target_language_model, "lm_head"):
    # A bare decoder: the output head is the wrapper's.
    target_language_model = target_model
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        _LOADER,
        edit.replace_expression(
            "target_language_model.model", "target_decoder", times=4
        ),
        edit.insert_before(_SHARING, f"{_FIND_DECODER}{_FIND_HEAD}"),
    )


def fixed(module: cst.Module) -> bool:
    return (
        edit.count(module, _LOADER, "target_language_model.model") == 0
        and edit.count(module, _LOADER, _FIND_DECODER) == 1
        and edit.count(module, _LOADER, _FIND_HEAD) == 1
    )


BEFORE = """\
class SpecDecodeBaseProposer:
    def load_model(self, target_model):
        target_language_model = target_model.get_language_model()

        # share embed_tokens with the target model if needed
        if get_pp_group().world_size == 1:
            if hasattr(target_language_model.model, "embed_tokens"):
                shared = target_language_model.model.embed_tokens
            elif hasattr(target_language_model.model, "embedding"):
                shared = target_language_model.model.embedding
            self.model.model.embed_tokens = shared
        else:
            logger.info("loaded separately")

        if hasattr(target_language_model, "lm_head"):
            self.model.lm_head = target_language_model.lm_head
"""
AFTER = """\
class SpecDecodeBaseProposer:
    def load_model(self, target_model):
        target_language_model = target_model.get_language_model()

        target_decoder = getattr(target_language_model, "model", target_language_model)
        if not hasattr(target_language_model, "lm_head"):
            # A bare decoder: the output head is the wrapper's.
            target_language_model = target_model
        # share embed_tokens with the target model if needed
        if get_pp_group().world_size == 1:
            if hasattr(target_decoder, "embed_tokens"):
                shared = target_decoder.embed_tokens
            elif hasattr(target_decoder, "embedding"):
                shared = target_decoder.embedding
            self.model.model.embed_tokens = shared
        else:
            logger.info("loaded separately")

        if hasattr(target_language_model, "lm_head"):
            self.model.lm_head = target_language_model.lm_head
"""
