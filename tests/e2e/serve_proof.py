"""Part 2: EAGLE-3 serving, and the compile cache that knows the draft's layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.stage import Stage, apply, images, only, prompts

DRAFTS = ("draft", "draft-random", "draft-layers")
LAYERS = {"draft": [2, 4, 5], "draft-random": [2, 4, 5], "draft-layers": [0, 3, 8]}
TOKENS = 40
CACHE_KEY = "vllm/eagle3_compile_cache_key"
EAGLE3 = (
    "vllm/eagle3_target_whitelist",
    "vllm/eagle3_image_token",
    "vllm/eagle3_deepseek_v2",
    "vllm/eagle3_kimi_k25",
)


def prove(stage: Stage, target: str) -> None:
    """Serve with three drafts: what is said, accepted, and given to the draft."""
    root = stage.copy(f"applied-{target}")
    done = apply(root)
    stage.expect(done["ok"], f"apply --vllm 0.16.0: {len(done['changed'])} files")
    job = {"target": target, "batches": _batches(target), "max_tokens": TOKENS}
    plain = stage.serve(stage.pristine, f"{target}-plain", job)
    stage.expect(plain["ok"], f"{target}: the pristine engine serves without a draft")
    said = _tokens(plain)
    rate = {}
    for draft in DRAFTS:
        # Steps so short that the longer prompts come in several.
        steps = {"step_tokens": 64} if draft == "draft-layers" else {}
        name = f"{target}-{draft}"
        result = stage.serve(root, name, job | {"draft": draft} | steps)
        stage.expect(
            result["ok"], f"{target}, {draft}: {result.get('message', 'serves')}"
        )
        count = sum(map(len, said))
        stage.expect(
            _tokens(result) == said,
            f"{target}, {draft}: all {count} greedy tokens of {len(said)} prompts are"
            " those without a draft",
        )
        seen = result["auxiliary"]
        stage.expect(
            seen["layers"] == LAYERS[draft]
            and seen["equal"]
            and seen["reached_draft"]
            and seen["largest"] > 0,
            f"{target}, {draft}: states {seen['layers']} equal the hooks' bit by bit,"
            f" {seen['passes']} passes, {seen['tokens']} tokens, and reach the draft",
        )
        rate[draft] = result["accepted"] / result["drafted"]
        stage.say(
            f"{target}, {draft}: {result['accepted']} of {result['drafted']} drafted"
            f" tokens accepted"
        )
    stage.expect(
        # It has learnt the prompts without an image only.
        rate["draft"] > 1 / 3 > 10 * rate["draft-random"],
        f"{target}: accepted {rate['draft']:.0%} with the trained draft and"
        f" {rate['draft-random']:.1%} with the random one",
    )


def prove_cache(stage: Stage) -> list[str]:
    """Start twice on one compile cache, with drafts that take different layers."""
    root = stage.copy("cache")
    apply(root, *only(EAGLE3))
    wrong = _second_start(stage, root, "shared")
    stage.expect(
        wrong["nearest"] != wrong["layers"],
        f"without {CACHE_KEY}: the draft asks for {wrong['layers']} and silently gets"
        f" {wrong['nearest']}, which an earlier start compiled",
    )
    apply(root, *only([*EAGLE3, CACHE_KEY]))
    right = _second_start(stage, root, "apart")
    stage.expect(
        right["nearest"] == right["layers"] and right["gap"] < 0.01,
        f"with {CACHE_KEY}: it gets {right['nearest']}, to {right['gap']:.1e}",
    )
    symptom = f"silent: auxiliary layers {wrong['nearest']} for {wrong['layers']}"
    return [f"| {symptom} | `{CACHE_KEY}` |"]


def _second_start(stage: Stage, root: Path, name: str) -> Any:  # noqa: ANN401
    cache = stage.runs / f"cache-{name}"
    extra = {
        "VLLM_USE_AOT_COMPILE": "1",
        "VLLM_CACHE_ROOT": str(cache),
        "TORCHDYNAMO_DISABLE": "0",
    }
    first = {
        "target": "dense",
        "draft": "draft-random",
        "batches": [prompts()[8:9]],
        "max_tokens": 1,
        "compile": True,
        "states": str(stage.root / "models" / "dense.trace"),
    }
    results = [
        stage.serve(root, f"{name}-{draft}", first | {"draft": draft}, **extra)
        for draft in ("draft-random", "draft-layers")
    ]
    for result in results:
        stage.expect(result["ok"], f"compiled: {result.get('message', 'serves')}")
    return results[-1]["auxiliary"]


def _batches(target: str) -> list[list[dict[str, Any]]]:
    """Return batches of one, two, five and more prompts, some with an image."""
    known = prompts()
    batches = [known[:1], known[1:3], known[3:8], known[8:]]
    if target == "kimi":
        seen = images()
        batches += [seen[:1], [seen[1], known[4], seen[2], known[0], seen[3]]]
    return batches


def _tokens(result: dict[str, Any]) -> list[list[int]]:
    return [each["tokens"] for batch in result["outputs"] for each in batch]
