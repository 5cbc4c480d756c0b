"""The scheduler's config is told that the model is no encoder-decoder.

On vLLM 0.12.0 and newer the hidden states generator cannot even build its config:
`SchedulerConfig` has a field `is_encoder_decoder` without a default, and speculators
0.3.0, written for vLLM 0.11.0, does not know it. The generator patches the forward
pass of decoder-only models, so the answer is always False.

Drop this with speculators 0.4.0, which passes the same. Never needed on vLLM 0.11.x:
0.11.0 refuses the field, 0.11.1 and 0.11.2 have it with this default.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.12.0"}
FIXED_IN = {"speculators": "0.4.0"}
SYMPTOMS = [r"validation error for SchedulerConfig\s+is_encoder_decoder"]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/225"
TOUCHES = ["VllmHiddenStatesGenerator._create_vllm_config"]
CURES = [
    "missing-argument vllm.config.SchedulerConfig is_encoder_decoder",
]

_CONFIG = "VllmHiddenStatesGenerator._create_vllm_config"


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        _CONFIG,
        edit.add_argument("SchedulerConfig(...)", "is_encoder_decoder=False"),
    )


def fixed(module: cst.Module) -> bool:
    call = "SchedulerConfig(..., is_encoder_decoder=False)"
    return edit.count(module, _CONFIG, call) == 1


BEFORE = """\
class VllmHiddenStatesGenerator:
    def _create_vllm_config(self, max_model_len):
        return VllmConfig(
            scheduler_config=SchedulerConfig(
                max_num_seqs=MAX_NUM_SEQS,
                max_model_len=max_model_len,
                max_num_batched_tokens=8192,
            ),
        )
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def _create_vllm_config(self, max_model_len):
        return VllmConfig(
            scheduler_config=SchedulerConfig(
                max_num_seqs=MAX_NUM_SEQS,
                max_model_len=max_model_len,
                max_num_batched_tokens=8192,
                is_encoder_decoder=False,
            ),
        )
"""
