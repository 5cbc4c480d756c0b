"""Every prompt is computed whole, in one step.

The hidden states generator takes a prompt as done after the one step that scheduled
it. vLLM 0.11.1 and newer split prompts by default: when a step's token budget is nearly
used up, the next prompt gets what is left of it, and its rest is never computed. The
states are cut out of one long tensor by the lengths of the prompts, so each prompt
after it gets rows of its neighbour, and the last ones none at all. Nothing fails. With
five prompts of 2000 tokens and one of 300, the fifth came back with its first 192 rows
and then all of the sixth's.

The fix turns the splitting off. A prompt that does not fit into what is left of a step
then opens the next one, and any prompt fits into a step, since the generator's budget
is never below `max_model_len`. speculators 0.4.0 and newer need no such patch: they
put the parts of a prompt together.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.11.1"}
FIXED_IN = {"speculators": "0.4.0"}
SILENT = (
    "prompts that together exceed one step's token budget come back with rows of"
    " other prompts, or with too few"
)
UPSTREAM = "https://github.com/vllm-project/speculators/pull/283"
TOUCHES = ["VllmHiddenStatesGenerator._create_vllm_config"]

_CONFIG = "VllmHiddenStatesGenerator._create_vllm_config"


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        _CONFIG,
        edit.add_argument(
            "SchedulerConfig(...)", "enable_chunked_prefill=False", after="max_num_seqs"
        ),
    )


def fixed(module: cst.Module) -> bool:
    call = "SchedulerConfig(..., enable_chunked_prefill=False)"
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
                enable_chunked_prefill=False,
                max_model_len=max_model_len,
                max_num_batched_tokens=8192,
            ),
        )
"""
