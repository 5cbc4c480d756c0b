"""No request and no captured state outlives the call that made it.

When `generate()` of the hidden states generator ends with an exception (a prompt that
holds no token, a worker that runs out of memory), the requests that it had added stay
in the scheduler. Those that were computed keep their places and their part of the KV
cache for good. Those that were not are computed by the next call, before its own, and
speculators 0.3.0 cuts its states from rows that belong to them: wrong states, and no
error. A call that ends well leaves something behind as well: nobody tells the workers
that its last requests are over, so every worker keeps the prompts of every call.

The fix ends each call, however it ends, by taking all its requests out of the
scheduler, completing a step that was cut short, telling the workers which requests are
over, and dropping what was captured. A worker that does not answer is logged, and does
not hide why the call ended. Upstream has never done it; drop this with speculators
0.5.0, which has no such generator.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.5.0", "vllm": ">=0.11.0"}
FIXED_IN = {"speculators": "0.5.0"}
SILENT = (
    "a call after a failed one returns hidden states of the failed one's prompts, and"
    " the workers' memory grows with every call"
)
NO_UPSTREAM = "not known there; 0.5.0 removed the generator"
TOUCHES = [
    "<module>",
    "VllmHiddenStatesGenerator._forget_requests",
    "VllmHiddenStatesGenerator.generate",
    "_leaving_nothing_behind",
    "_leaving_nothing_behind.call",
]

_GENERATOR = "VllmHiddenStatesGenerator"
_GENERATE = "VllmHiddenStatesGenerator.generate"
_DECORATOR = "_leaving_nothing_behind"
_FUNCTION = f'''


def {_DECORATOR}(generate):
    """Whatever ends a call, no request and no captured state outlives it."""

    @functools.wraps(generate)
    def call(self, *args, **kwargs):
        try:
            return generate(self, *args, **kwargs)
        finally:
            self._forget_requests()

    return call
'''
_METHOD = '''
def _forget_requests(self):
    """Take every request out of the scheduler, and have the workers forget them."""
    self.scheduler.finish_requests(
        list(self.scheduler.requests), RequestStatus.FINISHED_ABORTED
    )
    try:
        # Only rank 0 captures. Another one may hang, and must not be waited for.
        self.executor.collective_rpc("_reset_capture", unique_reply_rank=0)
        if hasattr(self.executor, "sample_tokens"):
            # Completes a step that was cut short, where there is one.
            self.executor.sample_tokens(None)
        # Schedules nothing: the workers learn from it which requests are over.
        self.executor.execute_model(self.scheduler.schedule())
    except Exception as error:  # noqa: BLE001
        log.warning(f"A worker may keep requests of this call: {error}")
'''
# As in 0.3.0, and as in 0.4.0.
_LOOP = """
while (scheduler_output := self.scheduler.schedule()).total_num_scheduled_tokens > 0:
    ...
"""
_LONGER_LOOP = """
while (
    scheduler_output := self.scheduler.schedule()
).total_num_scheduled_tokens > 0 and not all_prefill_complete:
    ...
"""
_LAST_OUTPUT = """
# Schedules nothing: the workers learn from it that the last requests are over.
self.executor.collective_rpc("execute_model", args=(scheduler_output,))
"""
_TELL = 'self.executor.collective_rpc("execute_model", args=(scheduler_output,))'


def rewrite(module: cst.Module) -> cst.Module:
    module = edit.within(
        module,
        edit.MODULE,
        edit.replace("import torch", "import functools\n\nimport torch"),
        edit.insert_after("log = PipelineLogger(__name__)", _FUNCTION),
    )
    module = edit.within(
        module, _GENERATOR, edit.add_members(_METHOD, after="generate")
    )
    loop = _LONGER_LOOP if edit.count(module, _GENERATE, _LONGER_LOOP) else _LOOP
    return edit.within(
        module,
        _GENERATE,
        edit.add_decorator(_DECORATOR),
        edit.insert_after(loop, _LAST_OUTPUT),
    )


def fixed(module: cst.Module) -> bool:
    decorated = edit.has_decorator(module, _GENERATE, _DECORATOR)
    return (
        decorated
        and edit.count(module, _GENERATE, _TELL) == 1
        and edit.count(module, edit.MODULE, "import functools") == 1
        and edit.defines(module, edit.MODULE, _DECORATOR)
        and edit.defines(module, _DECORATOR, "call")
        and edit.defines(module, _GENERATOR, "_forget_requests")
    )


BEFORE = """\
import torch
from transformers import AutoConfig

log = PipelineLogger(__name__)


class VllmHiddenStatesGenerator:
    def generate(self, token_ids):
        while (
            scheduler_output := self.scheduler.schedule()
        ).total_num_scheduled_tokens > 0:
            self.executor.execute_model(scheduler_output)
        return self.results

    def __del__(self):
        self.executor.shutdown()
"""
AFTER = '''\
import functools

import torch
from transformers import AutoConfig

log = PipelineLogger(__name__)


def _leaving_nothing_behind(generate):
    """Whatever ends a call, no request and no captured state outlives it."""

    @functools.wraps(generate)
    def call(self, *args, **kwargs):
        try:
            return generate(self, *args, **kwargs)
        finally:
            self._forget_requests()

    return call


class VllmHiddenStatesGenerator:
    @_leaving_nothing_behind
    def generate(self, token_ids):
        while (
            scheduler_output := self.scheduler.schedule()
        ).total_num_scheduled_tokens > 0:
            self.executor.execute_model(scheduler_output)
        # Schedules nothing: the workers learn from it that the last requests are over.
        self.executor.collective_rpc("execute_model", args=(scheduler_output,))
        return self.results

    def _forget_requests(self):
        """Take every request out of the scheduler, and have the workers forget them."""
        self.scheduler.finish_requests(
            list(self.scheduler.requests), RequestStatus.FINISHED_ABORTED
        )
        try:
            # Only rank 0 captures. Another one may hang, and must not be waited for.
            self.executor.collective_rpc("_reset_capture", unique_reply_rank=0)
            if hasattr(self.executor, "sample_tokens"):
                # Completes a step that was cut short, where there is one.
                self.executor.sample_tokens(None)
            # Schedules nothing: the workers learn from it which requests are over.
            self.executor.execute_model(self.scheduler.schedule())
        except Exception as error:  # noqa: BLE001
            log.warning(f"A worker may keep requests of this call: {error}")

    def __del__(self):
        self.executor.shutdown()
'''
