"""Requests are made with the arguments that vLLM takes.

From vLLM 0.17.0 on a `Request` is not told the end-of-sequence token any more, and the
hidden states generator fails with a `TypeError` at its first prompt. The token matters
to nothing here: a request ends with its prompt.

Drop this with speculators 0.5.0, which has no such generator.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.5.0", "vllm": ">=0.17.0"}
FIXED_IN = {"speculators": "0.5.0"}
SYMPTOMS = [r"got an unexpected keyword argument 'eos_token_id'"]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/353"
TOUCHES = ["VllmHiddenStatesGenerator.generate"]
CURES = [
    "unexpected-keyword vllm.v1.request.Request eos_token_id",
]

_GENERATE = "VllmHiddenStatesGenerator.generate"
# As in 0.3.0, and as in 0.4.0.
_CURED = """
Request(
    request_id=...,
    prompt_token_ids=...,
    sampling_params=...,
    pooling_params=...,
    arrival_time=...,
)
"""
_CURED_LONGER = """
Request(
    request_id=...,
    prompt_token_ids=...,
    sampling_params=...,
    pooling_params=...,
    arrival_time=...,
    block_hasher=...,
)
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module, _GENERATE, edit.drop_argument("Request(...)", "eos_token_id")
    )


def fixed(module: cst.Module) -> bool:
    return 1 in (
        edit.count(module, _GENERATE, _CURED),
        edit.count(module, _GENERATE, _CURED_LONGER),
    )


BEFORE = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        for i, ids in enumerate(token_ids):
            req = Request(
                request_id=f"req_{i}",
                prompt_token_ids=ids,
                sampling_params=SamplingParams(max_tokens=1),
                pooling_params=None,
                eos_token_id=self.tokenizer.eos_token_id,
                arrival_time=0.0,
            )
            self.scheduler.add_request(req)
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        for i, ids in enumerate(token_ids):
            req = Request(
                request_id=f"req_{i}",
                prompt_token_ids=ids,
                sampling_params=SamplingParams(max_tokens=1),
                pooling_params=None,
                arrival_time=0.0,
            )
            self.scheduler.add_request(req)
"""
