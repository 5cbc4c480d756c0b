"""Each step of the hidden states generator is completed by sampling.

From vLLM 0.11.1 on a step has two halves: `execute_model` runs the forward pass and
keeps the logits, `sample_tokens` takes them. speculators 0.3.0 knows the first only.
The first step of a generator works; the next one, of the same or of a later call, is
refused by the worker.

What is sampled is of no interest here, but nothing else ends the step. Drop this with
speculators 0.4.0, which samples too.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.11.1"}
FIXED_IN = {"speculators": "0.4.0"}
SYMPTOMS = [
    r"State error: sample_tokens\(\) must be called after execute_model\(\)",
]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/225"
TOUCHES = ["VllmHiddenStatesGenerator.generate"]

_GENERATE = "VllmHiddenStatesGenerator.generate"
_SAMPLE = "self.executor.sample_tokens(None)"


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(
        module,
        _GENERATE,
        edit.insert_after("self.executor.execute_model(scheduler_output)", _SAMPLE),
    )


def fixed(module: cst.Module) -> bool:
    return edit.count(module, _GENERATE, _SAMPLE) == 1


BEFORE = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        while (scheduler_output := self.scheduler.schedule()).total > 0:
            self.executor.execute_model(scheduler_output)

            for req_id in scheduler_output.num_scheduled_tokens:
                self.scheduler.finish_requests([req_id], ABORTED)
"""
AFTER = """\
class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        while (scheduler_output := self.scheduler.schedule()).total > 0:
            self.executor.execute_model(scheduler_output)
            self.executor.sample_tokens(None)

            for req_id in scheduler_output.num_scheduled_tokens:
                self.scheduler.finish_requests([req_id], ABORTED)
"""
