"""A target model and the engine's questions, on published wheels."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache

import pytest

from patchset.analysis.model import Prognosis, prognose
from patchset.analysis.source import Overlay, Source
from patchset.analysis.target import (
    BadConfigError,
    TargetModel,
    by_architecture,
    by_config,
)
from patchset.catalogue import read_catalogues
from patchset.model import Patch, Selection
from patchset.rewrite import Folded, fold
from patchset.select import choose
from tests.analysis.crossproduct import KIMI, foretold, prognosis, wheel

real = pytest.mark.real
WRAPPER = "vllm.model_executor.models.kimi_k25.KimiK25ForConditionalGeneration"


@real
@pytest.mark.parametrize("vllm", ["0.12.0", "0.15.1", "0.16.0", "0.17.1"])
def test_kimi_fails_in_the_order_in_which_the_engine_fails(vllm: str) -> None:
    assert prognosis(vllm) == foretold(vllm)


@real
@pytest.mark.parametrize(
    ("architecture", "kinds"),
    [
        ("LlamaForCausalLM", []),
        ("Qwen3MoeForCausalLM", []),
        ("Qwen3VLMoeForConditionalGeneration", []),
        ("HunYuanVLForConditionalGeneration", []),
        ("DeepseekV3ForCausalLM", ["whitelist", "protocol"]),
        (
            "KimiK25ForConditionalGeneration",
            ["whitelist", "config-field", "protocol", "protocol"],
        ),
        ("KimiK26ForConditionalGeneration", ["missing-name"]),
    ],
)
def test_an_architecture_alone_is_enough(architecture: str, kinds: list[str]) -> None:
    found = ask(by_architecture(architecture), wheel("vllm", "0.16.0"))
    assert [each.kind.value for each in found.findings] == kinds
    assert found.ok == (not kinds)


@real
def test_an_unknown_architecture_is_answered_with_near_ones() -> None:
    target = by_architecture("KimiK26ForConditionalGeneration")
    (finding,) = ask(target, wheel("vllm", "0.16.0")).findings
    assert "KimiK25ForConditionalGeneration" in finding.wanted


@real
def test_a_method_that_asks_for_no_hidden_states_is_not_held_up() -> None:
    assert ask(by_config(json.dumps(KIMI)), wheel("vllm", "0.16.0"), "ngram").ok


# --- with patches ---------------------------------------------------------------------


@cache
def patches() -> tuple[Patch, ...]:
    every = [one for catalogue in read_catalogues(()) for one in catalogue.patches]
    chosen = choose(every, {"vllm": "0.16.0", "speculators": "0.3.0"}, Selection())
    return tuple(one.patch for one in chosen if one.wanted)


def patched(source: Source, chosen: Iterable[Patch]) -> Overlay:
    by_target: dict[str, list[Patch]] = {}
    for one in sorted(chosen, key=lambda patch: patch.id):
        by_target.setdefault(one.target, []).append(one)
    files = {}
    for path, group in by_target.items():
        base = source.read(path)
        if base is not None:
            folded = fold(base, group, path=path, compiles=lambda *_: None)
            assert isinstance(folded, Folded)
            files[path] = folded.content
    return Overlay(base=source, files=files)


def ask(target: TargetModel, source: Source, method: str = "eagle3") -> Prognosis:
    return prognose(target, method, {"vllm": source}, patches())


@real
def test_every_failure_of_kimi_has_its_patch() -> None:
    found = ask(by_config(json.dumps(KIMI)), wheel("vllm", "0.16.0"))
    assert [each.patch for each in found.findings] == [
        "vllm/eagle3_target_whitelist",
        "vllm/eagle3_image_token",
        "vllm/eagle3_kimi_k25",
        "vllm/eagle3_deepseek_v2",
    ]


@real
@pytest.mark.parametrize(
    "target",
    [by_config(json.dumps(KIMI)), by_architecture("DeepseekV3ForCausalLM")],
    ids=["kimi", "deepseek"],
)
def test_with_all_patches_nothing_is_left(target: TargetModel) -> None:
    found = ask(target, patched(wheel("vllm", "0.16.0"), patches()))
    assert found.findings == ()


@real
@pytest.mark.parametrize(
    "left_out",
    [
        "eagle3_target_whitelist",
        "eagle3_image_token",
        "eagle3_kimi_k25",
        "eagle3_deepseek_v2",
    ],
)
def test_a_patch_left_out_is_the_one_that_is_named(left_out: str) -> None:
    chosen = [one for one in patches() if one.id != f"vllm/{left_out}"]
    source = patched(wheel("vllm", "0.16.0"), chosen)
    found = ask(by_config(json.dumps(KIMI)), source)
    assert {each.patch for each in found.findings} == {f"vllm/{left_out}"}


# --- what a config.json says ----------------------------------------------------------


def test_the_language_model_has_its_own_config() -> None:
    target = by_config(json.dumps(KIMI))
    assert target.text_config == KIMI["text_config"]
    assert target.model_type == "kimi_k25"
    assert target.is_nested
    assert target.has(("text_config", "model_type"))
    assert not target.has(("text_config", "image_token_index"))


def test_a_flat_config_is_its_own_text_config() -> None:
    text = '{"architectures": ["LlamaForCausalLM"], "model_type": "llama"}'
    target = by_config(text)
    assert target.text_config == json.loads(text)
    assert not target.is_nested


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON"),
        ("[]", "found list"),
        ("{}", 'no "architectures"'),
        ('{"architectures": "X"}', 'no "architectures"'),
    ],
)
def test_what_is_no_config_is_refused(text: str, words: str) -> None:
    with pytest.raises(BadConfigError, match=words):
        by_config(text)
