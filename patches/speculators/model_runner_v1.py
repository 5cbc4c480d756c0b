"""The hidden states generator runs on the model runner that it was written for.

From vLLM 0.29.0 on, vLLM uses its second model runner by default. That one keeps no
`input_batch`, in which the order of a batch's requests is looked up, and whose hidden
states are whose cannot be told without it. `VLLM_USE_V2_MODEL_RUNNER=0` brings the
first runner back; both releases have it.

This sets that variable where it is not set, for the whole process and the workers that
it starts, when the generator's module is imported. No line of upstream's is corrected:
there is no other place that says so early enough. Who sets the variable to 1 keeps the
second runner, and gets an `AttributeError`. Drop this with speculators 0.5.0, which
has no such generator.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.5.0", "vllm": ">=0.29.0"}
FIXED_IN = {"speculators": "0.5.0"}
SYMPTOMS = [r"'\w+' object has no attribute 'input_batch'"]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/353"
TOUCHES = ["<module>"]

_IMPORT = "import os"
_SET = 'os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "0")'
_TRANSFORMERS = "from transformers import AutoConfig, AutoTokenizer"


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        edit.MODULE,
        edit.insert_before(
            _TRANSFORMERS, f"\n\n{_IMPORT}\n\n# Before vLLM is imported.\n{_SET}"
        ),
    )


def fixed(module: cst.Module) -> bool:
    if edit.count(module, edit.MODULE, _TRANSFORMERS) != 1:
        raise edit.Mismatch(f"no `{_TRANSFORMERS}` to set the variable before")
    return (
        edit.count(module, edit.MODULE, _IMPORT) == 1
        and edit.count(module, edit.MODULE, _SET) == 1
    )


BEFORE = """\
import torch
from transformers import AutoConfig, AutoTokenizer
from vllm.sampling_params import SamplingParams
"""
AFTER = """\
import torch

import os

# Before vLLM is imported.
os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "0")
from transformers import AutoConfig, AutoTokenizer
from vllm.sampling_params import SamplingParams
"""
