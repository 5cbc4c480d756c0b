"""Each prompt gets its own hidden states, whatever order they were computed in.

The hidden states generator of speculators 0.3.0 cuts the captured rows by the lengths
of its prompts, in the order of its input. Nothing promises that order: attention
backends put short prompts of a batch in front (vLLM up to 0.13.0), and a scheduler that
cannot place a prompt takes the next one first (0.11.x). A prompt that finds no room in
the KV cache at all is not computed, and the cuts after it are off by its length. Rows
then belong to other prompts, and nothing fails.

The fix asks the worker after each step which requests its batch held, in which order,
and cuts by that. It raises where a prompt was not computed as a whole, and where the
rows are not as many as the tokens that were scheduled. speculators 0.4.0 has its own
way to the same end.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.3.0,<0.4.0", "vllm": ">=0.11.0"}
FIXED_IN = {"speculators": "0.4.0"}
SILENT = "prompts of one batch come back with hidden states of other prompts"
UPSTREAM = "https://github.com/vllm-project/speculators/pull/283"
TOUCHES = [
    "VllmHiddenStatesGenerator._first_rows",
    "VllmHiddenStatesGenerator.generate",
]

_GENERATOR = "VllmHiddenStatesGenerator"
_GENERATE = "VllmHiddenStatesGenerator.generate"
_ADD_LOOP = "for i, ids in enumerate(input_ids_list):\n    ..."
_ADDED = "self.scheduler.add_request(req)"
_FINISH_LOOP = "for req_id in scheduler_output.num_scheduled_tokens:\n    ..."
_RESULT_LOOP = "for i, seq_len in enumerate(seq_lens):\n    ..."

_LISTS = """
request_ids: list[str] = []
computed: list[tuple[str, int]] = []
"""
_REMEMBER = "request_ids.append(req.request_id)"
_ASK = """
# Only the worker knows the order of its batch.
batch = self.executor.collective_rpc(
    lambda worker: list(worker.model_runner.input_batch.req_ids)
)[0]
computed += [
    (request_id, scheduler_output.num_scheduled_tokens[request_id])
    for request_id in batch
]
"""
_COMPUTED = """
computed += [
    (request_id, scheduler_output.num_scheduled_tokens[request_id])
    for request_id in batch
]
"""
_FETCH = """
captured_states_list = self.executor.collective_rpc(
    "_get_captured_states", unique_reply_rank=0
)
"""
_FIND = """
first_rows = self._first_rows(
    computed, list(zip(request_ids, map(len, input_ids_list)))
)
"""
_NUM_ROWS = "num_rows = sum(num_tokens for _, num_tokens in computed)"
_COMPARE = """
if any(len(states) != num_rows for states in aux_hidden_states):
    raise RuntimeError(
        f"{num_rows} tokens were scheduled, and hidden states were captured of "
        f"{[len(states) for states in aux_hidden_states]}, one number per layer"
    )
"""
_OFFSET = "offset = first_rows[i]"
_METHOD = '''
def _first_rows(
    self,
    computed: list[tuple[str, int]],
    prompts: list[tuple[str, int]],
) -> list[int]:
    """Where the rows of each prompt begin.

        `computed` holds the requests in the order of the captured rows, `prompts` those
        of the input, both with a number of tokens.
        """
    rows: dict[str, tuple[int, int]] = {}
    total = 0
    for request_id, num_tokens in computed:
        rows[request_id] = (total, num_tokens)
        total += num_tokens
    for i, (request_id, seq_len) in enumerate(prompts):
        num_tokens = rows.get(request_id, (0, 0))[1]
        if num_tokens != seq_len:
            raise RuntimeError(
                f"{num_tokens} of {seq_len} tokens of prompt {i} were computed: "
                "it must fit into one step (max_num_batched_tokens) and into "
                f"{self.vllm_config.cache_config.num_gpu_blocks} KV cache blocks"
            )
    return [rows[request_id][0] for request_id, _ in prompts]
'''


def rewrite(module: cst.Module) -> cst.Module:
    module = edit.within(
        module, _GENERATOR, edit.add_members(_METHOD, after="_setup_capture")
    )
    return edit.within(
        module,
        _GENERATE,
        edit.insert_before(_ADD_LOOP, _LISTS),
        edit.insert_after(_ADDED, _REMEMBER),
        edit.insert_before(_FINISH_LOOP, _ASK),
        edit.insert_before(_FETCH, _FIND),
        edit.replace("offset = 0", f"{_NUM_ROWS}{_COMPARE}"),
        edit.prepend(_RESULT_LOOP, _OFFSET),
        edit.replace("offset += seq_len", ""),
    )


def fixed(module: cst.Module) -> bool:
    return all(
        edit.count(module, _GENERATE, statement) == 1
        for statement in (_REMEMBER, _COMPUTED, _FIND, _NUM_ROWS, _COMPARE, _OFFSET)
    ) and edit.defines(module, _GENERATOR, "_first_rows")


BEFORE = """\
class VllmHiddenStatesGenerator:
    def _setup_capture(self):
        self.executor.collective_rpc("_setup_hidden_states_capture")

    def generate(self, token_ids):
        for i, ids in enumerate(input_ids_list):
            req = Request(request_id=f"req_{i}", prompt_token_ids=ids)
            self.scheduler.add_request(req)

        while (scheduler_output := self.scheduler.schedule()).total > 0:
            self.executor.execute_model(scheduler_output)

            for req_id in scheduler_output.num_scheduled_tokens:
                self.scheduler.finish_requests([req_id], ABORTED)

        captured_states_list = self.executor.collective_rpc(
            "_get_captured_states",
            unique_reply_rank=0,
        )
        aux_hidden_states = captured_states_list[0]
        seq_lens = [len(ids) for ids in input_ids_list]
        results = []
        offset = 0
        for i, seq_len in enumerate(seq_lens):
            results.append([h[offset : offset + seq_len] for h in aux_hidden_states])
            offset += seq_len
        return results
"""
AFTER = '''\
class VllmHiddenStatesGenerator:
    def _setup_capture(self):
        self.executor.collective_rpc("_setup_hidden_states_capture")

    def _first_rows(
        self,
        computed: list[tuple[str, int]],
        prompts: list[tuple[str, int]],
    ) -> list[int]:
        """Where the rows of each prompt begin.

        `computed` holds the requests in the order of the captured rows, `prompts` those
        of the input, both with a number of tokens.
        """
        rows: dict[str, tuple[int, int]] = {}
        total = 0
        for request_id, num_tokens in computed:
            rows[request_id] = (total, num_tokens)
            total += num_tokens
        for i, (request_id, seq_len) in enumerate(prompts):
            num_tokens = rows.get(request_id, (0, 0))[1]
            if num_tokens != seq_len:
                raise RuntimeError(
                    f"{num_tokens} of {seq_len} tokens of prompt {i} were computed: "
                    "it must fit into one step (max_num_batched_tokens) and into "
                    f"{self.vllm_config.cache_config.num_gpu_blocks} KV cache blocks"
                )
        return [rows[request_id][0] for request_id, _ in prompts]

    def generate(self, token_ids):
        request_ids: list[str] = []
        computed: list[tuple[str, int]] = []
        for i, ids in enumerate(input_ids_list):
            req = Request(request_id=f"req_{i}", prompt_token_ids=ids)
            self.scheduler.add_request(req)
            request_ids.append(req.request_id)

        while (scheduler_output := self.scheduler.schedule()).total > 0:
            self.executor.execute_model(scheduler_output)

            # Only the worker knows the order of its batch.
            batch = self.executor.collective_rpc(
                lambda worker: list(worker.model_runner.input_batch.req_ids)
            )[0]
            computed += [
                (request_id, scheduler_output.num_scheduled_tokens[request_id])
                for request_id in batch
            ]
            for req_id in scheduler_output.num_scheduled_tokens:
                self.scheduler.finish_requests([req_id], ABORTED)

        first_rows = self._first_rows(
            computed, list(zip(request_ids, map(len, input_ids_list)))
        )
        captured_states_list = self.executor.collective_rpc(
            "_get_captured_states",
            unique_reply_rank=0,
        )
        aux_hidden_states = captured_states_list[0]
        seq_lens = [len(ids) for ids in input_ids_list]
        results = []
        num_rows = sum(num_tokens for _, num_tokens in computed)
        if any(len(states) != num_rows for states in aux_hidden_states):
            raise RuntimeError(
                f"{num_rows} tokens were scheduled, and hidden states were captured of "
                f"{[len(states) for states in aux_hidden_states]}, one number per layer"
            )
        for i, seq_len in enumerate(seq_lens):
            offset = first_rows[i]
            results.append([h[offset : offset + seq_len] for h in aux_hidden_states])
        return results
'''
