"""A prompt gives up its place as soon as it is computed.

`generate()` of speculators 0.4.0 and 0.4.0.1 keeps all its requests in the scheduler
until the last one is computed. The scheduler runs 32 at a time, so a call with more
prompts never reaches the 33rd, and ends in a `RuntimeError`. Where the KV cache is
full before that, the scheduler makes room by preempting a request, which is later
computed again; the generator does not reckon with rows that are captured twice, and
cuts the states of other prompts from them.

The fix finishes a request with the step that completes its prompt. What can be
preempted then is one prompt that is longer than the whole KV cache, and a call with
such a prompt now ends in an error that says so. Upstream has
never corrected it; drop this with speculators 0.5.0, which has no such generator.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.4.0,<0.5.0", "vllm": ">=0.11.0"}
FIXED_IN = {"speculators": "0.5.0"}
SYMPTOMS = [r"Request req_\d+_\d+ not found in captured states"]
NO_UPSTREAM = "not known there; 0.5.0 removed the generator"
TOUCHES = ["VllmHiddenStatesGenerator.generate"]

_GENERATE = "VllmHiddenStatesGenerator.generate"
_SAMPLED = "self.executor.sample_tokens(model_output)"
_ABORT = """
self.scheduler.finish_requests(
    list(request_id_to_idx.keys()), RequestStatus.FINISHED_ABORTED
)
"""
_FINISH = """
# Their places are for the prompts that wait.
self.scheduler.finish_requests(
    [
        req_id
        for req_id in scheduler_output.num_scheduled_tokens
        if request_num_computed[req_id] >= request_id_to_prompt_len[req_id]
    ],
    RequestStatus.FINISHED_ABORTED,
)
"""
_REFUSE = """
if not all_prefill_complete:
    raise RuntimeError(
        "A prompt does not fit into the "
        f"{self.vllm_config.cache_config.num_gpu_blocks} KV cache blocks"
    )
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        _GENERATE,
        edit.insert_after(_SAMPLED, _FINISH),
        edit.insert_before(_ABORT, _REFUSE),
    )


def fixed(module: cst.Module) -> bool:
    return (
        edit.count(module, _GENERATE, _FINISH) == 1
        and edit.count(module, _GENERATE, _REFUSE) == 1
    )


BEFORE = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        while (scheduler_output := self.scheduler.schedule()).total > 0:
            model_output = self.executor.execute_model(scheduler_output)
            self.executor.sample_tokens(model_output)

        # Abort what is left.
        self.scheduler.finish_requests(
            list(request_id_to_idx.keys()), RequestStatus.FINISHED_ABORTED
        )
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        while (scheduler_output := self.scheduler.schedule()).total > 0:
            model_output = self.executor.execute_model(scheduler_output)
            self.executor.sample_tokens(model_output)
            # Their places are for the prompts that wait.
            self.scheduler.finish_requests(
                [
                    req_id
                    for req_id in scheduler_output.num_scheduled_tokens
                    if request_num_computed[req_id] >= request_id_to_prompt_len[req_id]
                ],
                RequestStatus.FINISHED_ABORTED,
            )

        if not all_prefill_complete:
            raise RuntimeError(
                "A prompt does not fit into the "
                f"{self.vllm_config.cache_config.num_gpu_blocks} KV cache blocks"
            )
        # Abort what is left.
        self.scheduler.finish_requests(
            list(request_id_to_idx.keys()), RequestStatus.FINISHED_ABORTED
        )
"""
