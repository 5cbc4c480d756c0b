"""The patched extraction code itself, run against stand-ins for the engine."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from patchset.catalogue import builtin_directory, read_catalogue
from patchset.model import Patch, PatchState, Selection
from patchset.rewrite import Folded, fold
from patchset.select import choose
from tests.extraction_stand_ins import (
    LAYERS,
    DeepseekV3ForCausalLM,
    KimiK25ForConditionalGeneration,
    Wrapper15,
    engine,
)
from tests.releases import target_of

pytestmark = pytest.mark.real

FOUNDING = ("0.3.0", "0.16.0")
NEWER = ("0.4.0.1", "0.16.0")
GROUP = "hidden-states-extraction"
OPT_IN = "speculators/vllm_layer_ids"
GENERATOR = "speculators/data_generation/vllm_hidden_states_generator.py"
WORKER = "speculators/data_generation/custom_worker.py"
every_pair = pytest.mark.parametrize("pair", [FOUNDING, NEWER], ids=lambda x: x[0])


@cache
def wanted(pair: tuple[str, str], plus: tuple[str, ...] = ()) -> tuple[Patch, ...]:
    versions = dict(zip(("speculators", "vllm"), pair, strict=True))
    patches = read_catalogue(builtin_directory(), None).patches
    choices = choose(patches, versions, Selection(plus=plus))
    return tuple(
        one.patch
        for one in choices
        if one.state in {PatchState.PENDING, PatchState.UNTESTED}
        and one.patch.group == GROUP
        and (one.patch.id in plus or not one.patch.opt_in)
    )


@cache
def patched(
    pair: tuple[str, str], path: str, without: str | None, plus: tuple[str, ...]
) -> bytes:
    base = target_of("speculators", pair[0], path)
    patches = [
        one for one in wanted(pair, plus) if one.target == path and one.id != without
    ]
    folded = fold(base, patches, path=path, compiles=lambda *_: None)
    assert isinstance(folded, Folded)
    assert len(folded.applied) == len(patches)
    return folded.content


@contextmanager
def started(
    pair: tuple[str, str],
    *,
    without: str | None = None,
    plus: tuple[str, ...] = (),
    options: Mapping[str, Any] | None = None,
    **traits: Any,  # noqa: ANN401
) -> Iterator[Any]:
    """A generator of the patched release, at work."""
    sources = [patched(pair, path, without, plus) for path in (GENERATOR, WORKER)]
    with engine(*sources, **traits) as make:
        given = {
            "model_path": "kimi",
            "layer_ids": list(range(LAYERS)),
            "gpu_memory_utilization": 0.5,
            **(options or {}),
        }
        yield make(**given)


def prompts(*lengths: int, seed: int = 0) -> list[list[int]]:
    tokens = iter(random.Random(seed).sample(range(1, 10**6), sum(lengths)))  # noqa: S311
    return [[next(tokens) for _ in range(length)] for length in lengths]


def assert_own(
    results: Sequence[Any], asked: Sequence[Sequence[int]], depths: Sequence[int]
) -> None:
    """Each result is of the prompt in its position, each tensor of its layer."""
    assert [one["input_ids"].tolist() for one in results] == list(asked)
    for result, prompt in zip(results, asked, strict=True):
        assert [states.values for states in result["hidden_states"]] == [
            [100 * token + depth for token in prompt] for depth in depths
        ]


def assert_nothing_left(generator: Any) -> None:  # noqa: ANN401
    assert not generator.scheduler.requests
    assert not generator.scheduler.running
    assert not generator.executor.runner.requests
    assert not generator.executor.runner.pending
    assert generator.executor.worker._captured_states is None


OUTPUTS = range(1, LAYERS + 1)


# --- whose states ----------------------------------------------------------------


@every_pair
@pytest.mark.parametrize("size", [1, 2, 10, 11, 32, 33, 64, 70])
def test_every_prompt_gets_its_own_states(pair: tuple[str, str], size: int) -> None:
    lengths = [1 + 7 * index % 40 for index in range(size)]
    with started(pair) as generator:
        for seed in range(3):
            asked = prompts(*lengths, seed=seed)
            assert_own(generator.generate(asked), asked, OUTPUTS)
            assert_nothing_left(generator)


@every_pair
@pytest.mark.parametrize(
    "traits",
    [
        {"order": staticmethod(lambda ids: ids[::-1])},
        {"newest_first": True},
        {"model": DeepseekV3ForCausalLM},
    ],
    ids=["batch-reversed", "newest-first", "text-only"],
)
def test_whatever_the_engine_does(
    pair: tuple[str, str], traits: Mapping[str, Any]
) -> None:
    with started(pair, **traits) as generator:
        asked = prompts(*range(1, 41))
        assert_own(generator.generate(asked), asked, OUTPUTS)


@every_pair
def test_prompts_longer_than_what_is_left_of_a_step(pair: tuple[str, str]) -> None:
    with started(pair) as generator:
        asked = prompts(2000, 2000, 2000, 2000, 2000, 300, 1500, 5)
        assert_own(generator.generate(asked), asked, OUTPUTS)


def test_prompts_in_parts() -> None:
    options = {"max_num_batched_tokens": 100}
    with started(NEWER, options=options) as generator:
        asked = prompts(250, 3, 99, 1000)
        assert_own(generator.generate(asked), asked, OUTPUTS)
        assert_nothing_left(generator)


def test_the_language_model_that_is_the_decoder() -> None:
    pair = ("0.4.0.1", "0.15.1")
    with started(pair, model=Wrapper15) as generator:
        asked = prompts(3, 4)
        assert_own(generator.generate(asked), asked, OUTPUTS)
    without = "speculators/decoder_model"
    with (
        pytest.raises(AttributeError, match="object has no attribute 'model'"),
        started(pair, model=Wrapper15, without=without),
    ):
        pass


# --- what is refused -------------------------------------------------------------


@every_pair
def test_a_prompt_for_which_there_is_no_room(pair: tuple[str, str]) -> None:
    with started(pair, blocks=2) as generator:
        good = prompts(50, 60)
        assert_own(generator.generate(good), good, OUTPUTS)
        for lengths in (50, 129, 20), (50, 129), (129,):
            with pytest.raises(RuntimeError, match=r"rompt .*2 KV cache blocks"):
                generator.generate(prompts(*lengths))
            assert_nothing_left(generator)
        assert_own(generator.generate(good), good, OUTPUTS)


def test_a_part_for_which_there_is_no_room() -> None:
    options = {"max_num_batched_tokens": 100}
    with started(NEWER, options=options, blocks=2) as generator:
        for lengths in (50, 140, 20), (50, 140):
            with pytest.raises(
                RuntimeError, match="not fit into the 2 KV cache blocks"
            ):
                generator.generate(prompts(*lengths))
            assert_nothing_left(generator)
        good = prompts(50, 120, 20)
        assert_own(generator.generate(good), good, OUTPUTS)


def test_rows_that_are_nobodys() -> None:
    with (
        started(FOUNDING, padding=3) as generator,
        pytest.raises(RuntimeError, match=r"5 tokens were scheduled, .* of \[8, 8"),
    ):
        generator.generate(prompts(2, 3))


# --- calls that fail -------------------------------------------------------------


@every_pair
@pytest.mark.parametrize(
    "failure", [RuntimeError("out of memory"), KeyboardInterrupt()], ids=repr
)
def test_a_call_after_one_whose_worker_failed(
    pair: tuple[str, str], failure: BaseException
) -> None:
    with started(pair) as generator:
        generator.executor.failure = failure
        with pytest.raises(type(failure), match=f"^{failure}$"):
            generator.generate(prompts(30, 40, seed=1))
        assert_nothing_left(generator)
        asked = prompts(5, 6)
        assert_own(generator.generate(asked), asked, OUTPUTS)


@every_pair
def test_a_call_after_one_that_was_cut_between_the_halves_of_a_step(
    pair: tuple[str, str],
) -> None:
    def interrupted(_: object) -> None:
        del generator.executor.sample_tokens
        raise KeyboardInterrupt

    with started(pair) as generator:
        generator.executor.sample_tokens = interrupted
        with pytest.raises(KeyboardInterrupt):
            generator.generate(prompts(30, 40, seed=1))
        assert_nothing_left(generator)
        asked = prompts(5, 6)
        assert_own(generator.generate(asked), asked, OUTPUTS)


@every_pair
@pytest.mark.parametrize("bad", [[], [None]], ids=["empty", "no-token"])
def test_a_call_after_one_with_a_bad_prompt(
    pair: tuple[str, str], bad: list[Any]
) -> None:
    with started(pair) as generator:
        asked = prompts(5, 6)
        with pytest.raises((AssertionError, TypeError)):
            generator.generate([*asked, bad, *asked])
        assert_nothing_left(generator)
        assert_own(generator.generate(asked), asked, OUTPUTS)


@every_pair
def test_dead_workers_do_not_hide_why_the_call_ended(
    pair: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    def die(_: object) -> None:
        generator.executor.dead = True
        raise RuntimeError("the worker died")

    with started(pair) as generator:
        generator.executor.execute_model = die
        with pytest.raises(RuntimeError, match="the worker died"):
            generator.generate(prompts(5, 6))
        assert not generator.scheduler.requests
        assert "A worker may keep requests of this call: Executor failed" in caplog.text


# --- layer ids -------------------------------------------------------------------


@every_pair
def test_states_come_in_the_order_of_the_ids(pair: tuple[str, str]) -> None:
    with started(pair, options={"layer_ids": [7, 0, 3, 3]}) as generator:
        asked = prompts(5, 6)
        assert_own(generator.generate(asked), asked, [8, 1, 4, 4])


@every_pair
@pytest.mark.parametrize(
    ("ids", "depths"),
    [
        (list(range(LAYERS + 1)), range(LAYERS + 1)),
        ([LAYERS, 0, 3], [LAYERS, 0, 3]),
        (None, [2, LAYERS // 2, LAYERS - 3, LAYERS]),
    ],
    ids=["all", "unsorted", "default"],
)
def test_ids_mean_what_they_mean_to_vllm_where_asked_for(
    pair: tuple[str, str], ids: list[int] | None, depths: Sequence[int]
) -> None:
    with started(pair, plus=(OPT_IN,), options={"layer_ids": ids}) as generator:
        asked = prompts(5, 6)
        assert_own(generator.generate(asked), asked, depths)


@every_pair
def test_no_layer_beyond_the_last(pair: tuple[str, str]) -> None:
    for plus, first in ((), LAYERS), ((OPT_IN,), LAYERS + 1):
        with (
            pytest.raises(ValueError, match=rf"Layer index {first} out of bounds"),
            started(pair, plus=plus, options={"layer_ids": [first]}),
        ):
            pass


# --- each patch is needed --------------------------------------------------------


def left_out() -> Iterator[Any]:
    for pair in (FOUNDING, NEWER):
        for patch in wanted(pair):
            yield pytest.param(pair, patch, id=f"{pair[0]}-{patch.defect}")


@pytest.mark.parametrize(("pair", "patch"), list(left_out()))
def test_without_it_the_work_cannot_be_done(
    pair: tuple[str, str], patch: Patch
) -> None:
    """The stand-ins show the very message that the patch names, or wrong states."""
    if patch.defect == "speculators/embeddings_capture":
        with started(
            pair, without=patch.id, plus=(OPT_IN,), options={"layer_ids": [0, 3]}
        ) as generator:
            with pytest.raises(ValueError, match="shorter"):
                generator.generate(prompts(5))
            return
    try:
        with started(pair, without=patch.id, **_circumstance(patch)) as generator:
            _everyday_work(generator)
    except AssertionError as error:
        told = str(error)
        assert patch.silent or patch.defect == "speculators/prefix_caching", told
    except Exception as error:  # noqa: BLE001 - the symptom is the question
        if patch.symptoms:
            told = f"{type(error).__name__}: {error}"
            assert any(re.search(each, told) for each in patch.symptoms), told
    else:
        pytest.fail("it is not missed")


def _circumstance(patch: Patch) -> dict[str, Any]:
    text = patch.defect == "speculators/embed_input_ids"
    return {
        "model": DeepseekV3ForCausalLM if text else KimiK25ForConditionalGeneration,
        "order": staticmethod(lambda ids: ids[::-1]),
    }


def _everyday_work(generator: Any) -> None:  # noqa: ANN401
    generator.layer_ids = generator.layer_ids[::-1]
    depths = list(OUTPUTS)[::-1]
    for asked in (prompts(70, 8, 90), prompts(*range(1, 41)), prompts(*[2000] * 5)):
        assert_own(generator.generate(asked), asked, depths)
        assert_nothing_left(generator)
