"""Small stand-ins for the engine, around the published and patched extraction code.

They behave as vLLM 0.16.0 does in what that code relies on: the arguments that calls
take, the shape of replies, the two halves of a step, the budgets of the scheduler. The
state that enters layer j of the model is `100 * token + j`, so that every row says
whose it is and how deep it was captured.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock

LAYERS = 8
PACKAGE = "speculators.data_generation"


class Rows:
    """Stands for a tensor with one number for each token."""

    def __init__(self, values: Iterable[int]) -> None:
        self.values = list(values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, part: slice) -> Rows:
        return Rows(self.values[part])

    def __add__(self, other: Rows) -> Rows:
        return Rows(map(sum, zip(self.values, other.values, strict=True)))

    def __bool__(self) -> bool:
        raise RuntimeError(
            "Boolean value of Tensor with more than one value is ambiguous"
        )

    def clone(self) -> Rows:
        return Rows(self.values)

    def cpu(self) -> Rows:
        return self

    def tolist(self) -> list[int]:
        return self.values


@dataclass
class Request:
    """A request, as vLLM 0.16.0 takes it."""

    request_id: str
    prompt_token_ids: list[int]
    sampling_params: object
    pooling_params: object
    eos_token_id: int
    arrival_time: float
    block_hasher: object = None
    computed: int = 0

    def __post_init__(self) -> None:
        if None in self.prompt_token_ids:
            raise TypeError("a token is an integer")


@dataclass
class Output:
    """What the scheduler tells the workers."""

    num_scheduled_tokens: dict[str, int]
    requests: list[Request]
    finished_req_ids: set[str]
    preempted_req_ids: set[str]

    @property
    def total_num_scheduled_tokens(self) -> int:
        return sum(self.num_scheduled_tokens.values())


class Scheduler:
    """First come, first served, within the budgets of tokens, places and cache."""

    newest_first = False

    def __init__(
        self,
        vllm_config: SimpleNamespace,
        kv_cache_config: SimpleNamespace,
        structured_output_manager: object,
        block_size: int,
    ) -> None:
        del structured_output_manager
        self.config = vllm_config.scheduler_config
        self.caching = vllm_config.cache_config.enable_prefix_caching
        self.block_size = block_size
        self.room = kv_cache_config.num_blocks * vllm_config.cache_config.block_size
        self.requests: dict[str, Request] = {}
        self.running: list[Request] = []
        self.finished: set[str] = set()

    def add_request(self, request: Request) -> None:
        self.requests[request.request_id] = request

    def finish_requests(self, request_ids: Iterable[str], status: object) -> None:
        del status
        for each in list(request_ids):
            if (request := self.requests.pop(each, None)) is not None:
                self.finished.add(each)
                self.running = [one for one in self.running if one is not request]

    def schedule(self) -> Output:
        budget, scheduled, preempted = self.config.max_num_batched_tokens, {}, set()
        held = sum(one.computed for one in self.running)
        for request in [*self.running, *self._waiting()]:
            left = len(request.prompt_token_ids) - request.computed
            part = min(left, budget)
            new = request not in self.running
            if new and len(self.running) == self.config.max_num_seqs:
                break
            assert not new or left > 0
            if part < left and not self.config.enable_chunked_prefill:
                break
            if part and held + part > self.room:
                if not new:
                    request.computed = 0
                    self.running.remove(request)
                    preempted.add(request.request_id)
                break
            assert not (self.caching and left >= self.block_size)
            if part:
                self.running += [request] if new else []
                scheduled[request.request_id] = part
                budget, held = budget - part, held + part
        sent = [dataclasses.replace(self.requests[each]) for each in scheduled]
        output = Output(scheduled, sent, self.finished, preempted)
        for each, part in scheduled.items():
            self.requests[each].computed += part
        self.finished = set()
        return output

    def _waiting(self) -> list[Request]:
        waiting = [one for one in self.requests.values() if one not in self.running]
        return waiting[::-1] if self.newest_first else waiting


class Layer:
    """Adds one to the state of every token."""

    def __call__(
        self, *, hidden_states: Rows, positions: object, residual: Rows | None
    ) -> tuple[Rows, Rows]:
        del positions
        both = hidden_states if residual is None else hidden_states + residual
        return Rows([1] * len(both)), both


class Decoder:
    """The decoder of a language model."""

    def __init__(self) -> None:
        self.layers = [Layer() for _ in range(LAYERS)]
        self.start_layer, self.end_layer = 0, LAYERS

    def embed_input_ids(self, input_ids: Sequence[int]) -> Rows:
        return Rows(100 * token for token in input_ids)

    def norm(self, hidden_states: Rows, residual: Rows) -> tuple[Rows, Rows]:
        return hidden_states, residual


class DeepseekV3ForCausalLM:
    """A text-only model."""

    def __init__(self) -> None:
        self.model = Decoder()

    @property
    def decoder(self) -> Decoder:
        return self.model


class KimiK25ForConditionalGeneration:
    """A wrapper of a text-only model."""

    def __init__(self) -> None:
        self.language_model = DeepseekV3ForCausalLM()

    def get_language_model(self) -> object:
        return self.language_model

    @property
    def decoder(self) -> Decoder:
        return self.language_model.model


class Wrapper15(KimiK25ForConditionalGeneration):
    """The wrapper of vLLM 0.15.x: its language model is the decoder."""

    def get_language_model(self) -> object:
        return self.language_model.model


@dataclass
class Runner:
    """The part of the model runner that the worker extension looks at."""

    model: Any
    requests: dict[str, Request] = field(default_factory=dict)
    input_batch: Any = None
    pending: bool = False


class Executor:
    """One worker, and the calls that reach it."""

    model: Callable[[], Any] = KimiK25ForConditionalGeneration
    order: Callable[[list[str]], list[str]] = staticmethod(lambda ids: ids)
    padding = 0
    extension: type

    def __init__(self, *, vllm_config: object) -> None:
        self.config = vllm_config
        self.worker: Any = self.extension()
        self.worker.model_runner = Runner(self.model())
        self.failure: BaseException | None = None
        self.dead = False

    @property
    def runner(self) -> Runner:
        runner: Runner = self.worker.model_runner
        return runner

    def collective_rpc(
        self,
        method: str | Callable[[Any], object],
        args: tuple[Any, ...] = (),
        unique_reply_rank: int | None = None,
    ) -> object:
        if self.dead:
            raise RuntimeError("Executor failed.")
        reply: object
        if method == "execute_model":
            self.execute_model(*args)
            reply = None
        elif method == "get_kv_cache_spec":
            reply = {}
        elif isinstance(method, str):
            reply = getattr(self.worker, method)(*args)
        else:
            reply = method(self.worker)
        return [reply] if unique_reply_rank is None else reply

    def execute_model(self, output: Output) -> None:
        if self.dead:
            raise RuntimeError("Executor failed.")
        runner = self.runner
        if runner.pending:
            raise RuntimeError(
                "State error: sample_tokens() must be called after execute_model()"
            )
        for each in output.finished_req_ids:
            runner.requests.pop(each, None)
        runner.requests |= {one.request_id: one for one in output.requests}
        order = self.order(list(output.num_scheduled_tokens))
        runner.input_batch = SimpleNamespace(
            req_ids=order,
            req_id_to_index={each: index for index, each in enumerate(order)},
        )
        if not order:
            return
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        tokens = [
            token
            for one in (runner.requests[each] for each in order)
            for token in one.prompt_token_ids[one.computed :][
                : output.num_scheduled_tokens[one.request_id]
            ]
        ]
        runner.model.decoder.forward([*tokens, *[0] * self.padding], None)
        runner.pending = True

    def sample_tokens(self, grammar: object) -> None:
        del grammar
        if self.dead:
            raise RuntimeError("Executor failed.")
        self.runner.pending = False

    def initialize_from_config(self, configs: object) -> None:
        del configs

    def shutdown(self) -> None:
        self.dead = True


def _namespace(**defaults: object) -> Callable[..., SimpleNamespace]:
    return lambda **given: SimpleNamespace(**{**defaults, **given})


def _vllm_config(*, cache_config: SimpleNamespace, **given: object) -> SimpleNamespace:
    cache_config.block_size = 64  # as the platform does for MLA
    return SimpleNamespace(cache_config=cache_config, **given)


def _scheduler_config(**given: object) -> SimpleNamespace:
    if given.pop("is_encoder_decoder", None) is not False:
        raise ValueError("1 validation error for SchedulerConfig\nis_encoder_decoder")
    return SimpleNamespace(**{"enable_chunked_prefill": True, **given})


def _tokenizer(_: str, *, trust_remote_code: bool = False) -> SimpleNamespace:
    if not trust_remote_code:
        raise ValueError(
            "contains custom code which must be executed to correctly load the model"
        )
    return SimpleNamespace(eos_token_id=0)


def _kv_cache_config(
    *, vllm_config: object, kv_cache_groups: object, available_memory: int
) -> SimpleNamespace:
    del vllm_config, kv_cache_groups
    return SimpleNamespace(num_blocks=available_memory)


def _modules(blocks: int) -> dict[str, dict[str, Any]]:
    group = SimpleNamespace(
        is_first_rank=True, is_last_rank=True, rank_in_group=0, world_size=1
    )
    memory = (blocks * 10, blocks * 10)  # of which a tenth is asked for
    return {
        "torch": {
            "Tensor": Rows,
            "long": None,
            "as_tensor": lambda values, dtype: Rows(values) if dtype is None else None,
            "cat": lambda parts, dim: Rows(
                value for part in parts for value in part.values[dim:]
            ),
            "cuda": SimpleNamespace(
                mem_get_info=lambda: memory, empty_cache=lambda: None
            ),
        },
        "transformers": {
            "AutoTokenizer": SimpleNamespace(from_pretrained=_tokenizer),
            "AutoConfig": SimpleNamespace(
                from_pretrained=lambda *_, **__: SimpleNamespace(
                    num_hidden_layers=LAYERS
                )
            ),
        },
        "vllm.config": {
            "CacheConfig": _namespace(
                enable_prefix_caching=True, prefix_caching_hash_algo="sha256"
            ),
            "DeviceConfig": _namespace(),
            "LoadConfig": _namespace(),
            "ModelConfig": _namespace(),
            "ParallelConfig": _namespace(),
            "SchedulerConfig": _scheduler_config,
            "VllmConfig": _vllm_config,
        },
        "vllm.distributed": {
            "get_pp_group": lambda: group,
            "get_tp_group": lambda: group,
        },
        "vllm.model_executor.models.interfaces": {"supports_eagle3": lambda _: False},
        "vllm.sampling_params": {"SamplingParams": _namespace()},
        "vllm.sequence": {"IntermediateTensors": dict},
        "vllm.utils.hashing": {"get_hash_fn_by_name": lambda _: hash},
        "vllm.v1.core.kv_cache_utils": {
            "_get_kv_cache_groups_uniform_spec": lambda _: [],
            "get_kv_cache_config_from_groups": _kv_cache_config,
            "get_request_block_hasher": lambda *_: None,
            "init_none_hash": lambda _: None,
            "unify_hybrid_kv_cache_specs": lambda _: None,
        },
        "vllm.v1.core.sched.scheduler": {"Scheduler": Scheduler},
        "vllm.v1.executor.multiproc_executor": {"MultiprocExecutor": Executor},
        "vllm.v1.request": {
            "Request": Request,
            "RequestStatus": SimpleNamespace(FINISHED_ABORTED="aborted"),
        },
        "vllm.v1.structured_output": {"StructuredOutputManager": _namespace()},
        "speculators.utils.util": {
            "empty_cache": lambda: None,
            "is_npu_available": lambda: False,
            "mem_get_info": lambda: memory,
        },
        f"{PACKAGE}.logging_utils": {"PipelineLogger": logging.getLogger},
    }


def _module(name: str, content: dict[str, Any]) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(content, __path__=[])
    return module


@contextlib.contextmanager
def engine(
    generator_source: bytes,
    worker_source: bytes,
    *,
    blocks: int = 1000,
    **traits: object,
) -> Iterator[Callable[..., Any]]:
    """The generator's class, made from source text, on the stand-ins.

    `blocks` is the size of the KV cache; `traits` are attributes of the executor or
    the scheduler (`model`, `order`, `padding`, `newest_first`).
    """
    modules = {name: _module(name, of) for name, of in _modules(blocks).items()}
    for name in list(modules):
        for end in range(1, name.count(".") + 1):
            parent = ".".join(name.split(".")[:end])
            modules.setdefault(parent, _module(parent, {}))
    modules["vllm"].v1 = modules["vllm.v1"]  # type: ignore[attr-defined]
    with mock.patch.dict(sys.modules, modules):
        worker = _run(worker_source, "custom_worker")
        names = {"extension": worker["HiddenStatesWorkerExtension"], **traits}
        mine = {name: names.pop(name) for name in ("newest_first",) if name in names}
        executor = type("Executor", (Executor,), names)
        scheduler = type("Scheduler", (Scheduler,), mine)
        vars(modules["vllm.v1.executor.multiproc_executor"])["MultiprocExecutor"] = (
            executor
        )
        vars(modules["vllm.v1.core.sched.scheduler"])["Scheduler"] = scheduler
        made = _run(generator_source, "vllm_hidden_states_generator")
        yield made["VllmHiddenStatesGenerator"]


def _run(source: bytes, name: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {
        "__name__": f"{PACKAGE}.{name}",
        "__package__": PACKAGE,
    }
    exec(compile(source, f"{name}.py", "exec", dont_inherit=True), namespace)  # noqa: S102
    return namespace
