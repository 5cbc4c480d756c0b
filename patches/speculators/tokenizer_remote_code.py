"""The hidden states generator loads tokenizers that come as code of the checkpoint.

`VllmHiddenStatesGenerator(model_path="…Kimi-K2.5")` stops at its first step: the
tokenizer of that checkpoint is Python code, and transformers wants to hear that it may
run it. On a terminal it asks; without one it raises. The very next call, for the
config, says `trust_remote_code=True`, and so does the preprocessing of the same
release, so no trust is given here that is not given there.

Drop this with speculators 0.5.0, which has no such generator: it lets a vLLM server
extract the hidden states.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.5.0", "vllm": ">=0.11.0"}
FIXED_IN = {"speculators": "0.5.0"}
SYMPTOMS = [
    r"contains custom code which must be executed to correctly load the model",
    r"Do you wish to run the custom code\? \[y/N\]",
]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/353"
TOUCHES = ["VllmHiddenStatesGenerator.__init__"]

_INIT = "VllmHiddenStatesGenerator.__init__"


_DISTRUSTING = "self.tokenizer = AutoTokenizer.from_pretrained(model_path)"
_TRUSTING = """
self.tokenizer = AutoTokenizer.from_pretrained(
    model_path, trust_remote_code=True
)
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(module, _INIT, edit.replace(_DISTRUSTING, _TRUSTING))


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _INIT, _TRUSTING) == 1


BEFORE = """\
class VllmHiddenStatesGenerator:
    def __init__(self, model_path):
        self.tokenizer = AutoTokenizer.from_pretrained(model_path)
        self.config = AutoConfig.from_pretrained(model_path, trust_remote_code=True)
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def __init__(self, model_path):
        self.tokenizer = AutoTokenizer.from_pretrained(
            model_path, trust_remote_code=True
        )
        self.config = AutoConfig.from_pretrained(model_path, trust_remote_code=True)
"""
