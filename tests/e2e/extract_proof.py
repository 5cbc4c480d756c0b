"""Part 3: extracted hidden states are those that forward hooks see."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.e2e.obstacles import INTERRUPTED, LONG, SMALL, STOPPED
from tests.e2e.stage import TARGETS, Stage, apply

STATES = 9  # before each of eight layers, and after the last
VLLM_IDS = "speculators/vllm_layer_ids"


def prove(stage: Stage) -> None:
    """Extract from both targets, in both meanings of layer ids, on one rank and two."""
    root = stage.copy("extracting")
    apply(root)
    for target in TARGETS:
        job = _job(target, [*_usual(), *(_sizes() if target == "kimi" else [])])
        _check(stage, f"{target}", stage.extract(root, f"x-{target}", job), offset=1)
    job = _job("kimi", [_call("small", SMALL)]) | {"layers": [7, 0, 3, 3]}
    _check(stage, "ids 7, 0, 3, 3", stage.extract(root, "x-order", job), offset=1)
    job = _job("kimi", [_call("too long", [3000, 20])]) | {"max_model_len": 1024}
    _check(stage, "cut to the model", stage.extract(root, "x-cut", job), offset=1)
    _two_ranks(stage, root)
    apply(root, "--with", VLLM_IDS)
    for target in TARGETS:
        job = _job(target, [_call("small", SMALL)]) | {"layers": list(range(STATES))}
        result = stage.extract(root, f"x-{target}-vllm", job)
        _check(stage, f"{target} with {VLLM_IDS}", result, offset=0)


def _two_ranks(stage: Stage, root: Path) -> None:
    job = _job("kimi", [_call("small", SMALL), INTERRUPTED, _call("long", LONG)])
    result = stage.extract(root, "x-two", job | {"tensor_parallel": 2})
    _check(stage, "tensor parallel 2", result, offset=1)


def _check(stage: Stage, what: str, result: dict[str, Any], *, offset: int) -> None:
    """Assert that every row of every call that ended well is the prompt's own."""
    stage.expect(result["ok"], f"{what}: {result.get('message', 'extracts')}")
    ids = result["layers"]
    ended = [call for call in result["calls"] if "rows" in call]
    broken = [call["error"] for call in result["calls"] if "rows" not in call]
    for call in ended:
        wrong = {
            name: call[name] for name in ("short", "lost", "foreign") if call[name]
        }
        if wrong or call["depths"] != [[layer + offset] for layer in ids]:
            stage.expect(
                None, f"{what}, {call['name']}: {wrong}, ids {ids}: {call['depths']}"
            )
    prompts, tokens = (
        sum(call[name] for call in ended) for name in ("prompts", "tokens")
    )
    steps = max(call["steps"] for call in ended)
    after = f", also after {', '.join(broken)}" if broken else ""
    stage.expect(
        ended and tokens,
        f"{what}: ids {ids} are the hooks' states {[i + offset for i in ids]} bit by"
        f" bit: {len(ended)} calls, {prompts} prompts, {tokens} tokens, up to {steps}"
        f" steps a call, no row of another prompt{after}",
    )


def _job(target: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    return {"target": target, "layers": list(range(STATES - 1)), "calls": calls}


def _usual() -> list[dict[str, Any]]:
    """Return calls of every kind; each that breaks is followed by one that must not."""
    bad = _call("a token out of the vocabulary", [3, 50, 7]) | {"break": "token"}
    prefix = _call("a common prefix", [80, 90, 100, 64]) | {"shared_prefix": 48}
    tensor = _call("a tensor", [33, 33, 33]) | {"as_tensor": True}
    return [
        _call("small", SMALL),
        _call("the same again", SMALL),
        prefix,
        prefix,
        tensor,
        _call("longer than a step", LONG),
        bad,
        _call("after it", SMALL),
        INTERRUPTED,
        _call("after that", SMALL),
        STOPPED,
        _call("after that one", SMALL),
        _call("seventy", _lengths(70)),
    ]


def _sizes() -> list[dict[str, Any]]:
    """Return one call for each batch size from 1 to 70."""
    return [_call(f"{size} prompts", _lengths(size)) for size in range(1, 71)]


def _lengths(size: int) -> list[int]:
    source = random.Random(size)  # noqa: S311 - reproducible, not secret
    return [source.randint(1, 60) for _ in range(size)]


def _call(name: str, lengths: list[int]) -> dict[str, Any]:
    return {"name": name, "seed": sum(lengths), "lengths": lengths}
