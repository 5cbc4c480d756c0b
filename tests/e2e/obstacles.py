"""Part 1: every obstacle is real, one after the other, as the patches go in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchset.catalogue import read_catalogues
from patchset.model import Patch
from tests.e2e.stage import TARGETS, Stage, apply, images, patchset, prompts

Result = dict[str, Any]
LONG = [2000, 2000, 2000, 2000, 2000, 300]  # more than one scheduling step holds
SMALL = [5, 40, 17, 100]
MIB = 1 << 20
BRIEF = 210


@dataclass(frozen=True, kw_only=True, slots=True)
class Obstacle:
    """What a run shows as long as one patch is missing and all before it are there."""

    patch: str
    job: dict[str, Any]
    wrong: Callable[[Result], str | None] | None = None
    """The wrong figures, where the patch says SILENT; None where they are right."""


def _serving(target: str) -> dict[str, Any]:
    batch = prompts()[:2] + (images()[:1] if target == "kimi" else [])
    return {"target": target, "draft": "draft-random", "batches": [batch]}


def _extraction(*lengths: list[int], **more: Any) -> dict[str, Any]:  # noqa: ANN401
    calls = [
        {"name": f"call {number}", "seed": number, "lengths": each}
        for number, each in enumerate(lengths)
    ]
    return {"target": "kimi", "layers": [2, 5], "calls": calls} | more


def short_rows(result: Result) -> str | None:
    """Return the rows that came back, if some prompt has too few or too many."""
    for call in result["calls"]:
        if call.get("short"):
            return f"rows per prompt: {call['rows']}"
    return None


def foreign_rows(result: Result) -> str | None:
    """Return which prompts of the last call got states that are not their own."""
    if not result["ok"]:
        return f"{result['error']}: {result['message']}"
    call = result["calls"][-1]
    if call["foreign"] or call["lost"]:
        return f"prompts with foreign states: {call['foreign'] + call['lost']}"
    return None


def other_layers(offset: int) -> Callable[[Result], str | None]:
    """Return a check that layer id i is the state before layer i + offset."""

    def check(result: Result) -> str | None:
        if not result["ok"]:
            return f"ids {result.get('layers')}: {result['message']}"
        ids, depths = result["layers"], result["calls"][-1]["depths"]
        if depths == [[layer + offset] for layer in ids]:
            return None
        return f"ids {ids} are the states before layers {[d[0] for d in depths]}"

    return check


INTERRUPTED = {"name": "interrupted", "seed": 8, "lengths": LONG, "break": "interrupt"}
STOPPED = {"name": "stopped", "seed": 8, "lengths": LONG, "break": "between"}
AFTERWARDS = {"name": "afterwards", "seed": 9, "lengths": SMALL}

SERVING = (
    Obstacle(patch="vllm/eagle3_target_whitelist", job=_serving("kimi")),
    Obstacle(patch="vllm/eagle3_image_token", job=_serving("kimi")),
    Obstacle(patch="vllm/eagle3_deepseek_v2", job=_serving("kimi")),
    Obstacle(patch="vllm/eagle3_kimi_k25", job=_serving("kimi")),
)
EXTRACTION = (
    Obstacle(patch="speculators/tokenizer_remote_code", job=_extraction(SMALL)),
    Obstacle(patch="speculators/encoder_decoder_flag", job=_extraction(SMALL)),
    Obstacle(patch="speculators/eagle3_gate", job=_extraction(SMALL)),
    Obstacle(patch="speculators/decoder_model", job=_extraction(SMALL)),
    Obstacle(patch="speculators/kv_cache_config", job=_extraction(SMALL)),
    Obstacle(patch="speculators/scheduler_block_size", job=_extraction(SMALL)),
    Obstacle(patch="speculators/prefix_caching", job=_extraction(SMALL)),
    Obstacle(patch="speculators/captured_states_reply", job=_extraction(SMALL)),
    Obstacle(patch="speculators/sample_tokens", job=_extraction(SMALL, SMALL)),
    Obstacle(
        patch="speculators/embed_input_ids",
        job=_extraction(SMALL, target="deepseek"),
    ),
    Obstacle(
        patch="speculators/whole_prompts", job=_extraction(LONG), wrong=short_rows
    ),
    Obstacle(
        patch="speculators/call_cleanup",
        job=_extraction(calls=[STOPPED, AFTERWARDS]),
        wrong=foreign_rows,
    ),
    Obstacle(
        patch="speculators/states_by_request",
        # The second prompt alone finds no room in so small a cache.
        job=_extraction([50, 6000, 40], max_model_len=8192, free_memory=256 * MIB),
        wrong=short_rows,
    ),
    Obstacle(
        patch="speculators/layer_order",
        job=_extraction(SMALL, layers=[5, 2]),
        wrong=other_layers(1),
    ),
    Obstacle(
        patch="speculators/vllm_layer_ids",
        job=_extraction(SMALL, layers=None),
        wrong=other_layers(0),
    ),
    Obstacle(
        patch="speculators/embeddings_capture",
        job=_extraction(SMALL, layers=[0, 3, 8]),
        wrong=other_layers(0),
    ),
)


# speculators 0.3.0 makes a draft for the wrapper only with all three.
TRAINING = tuple(
    Obstacle(patch=f"speculators/{defect}", job={"target": "kimi"})
    for defect in (
        "verifier_config_eagle3",
        "verifier_text_config",
        "verifier_weight_names",
    )
)


def prove_serving(stage: Stage) -> list[str]:
    """Put the serving patches in one at a time; return the rows of the users' table."""
    rows = _walk(stage, "serving", SERVING)
    for target in TARGETS:
        job = _serving(target)
        result = stage.serve(stage.root / "copies" / "serving", f"free-{target}", job)
        stage.expect(result["ok"], f"{target}: serves with EAGLE-3 after the four")
    return rows


def prove_extraction(stage: Stage) -> list[str]:
    """Put the extraction patches in one at a time; return the rows of the table."""
    return _walk(stage, "extraction", EXTRACTION)


def prove_training(stage: Stage) -> list[str]:
    """Put the training patches in one at a time; return the rows of the table."""
    rows = _walk(stage, "training", TRAINING)
    for target in TARGETS:
        name = f"free-training-{target}"
        result = stage.train(
            stage.root / "copies" / "training", name, {"target": target}
        )
        stage.expect(
            result["ok"] and result["embeddings"] and result["head"],
            f"{target}: a draft is made, with the target's own embeddings and head",
        )
    return rows


def _known(stage: Stage) -> dict[str, Patch]:
    """Return the patches, of each the variant that this environment calls for."""
    listed = patchset(stage.pristine, "list")["patches"]
    called_for = {(row["id"], row["variant"]) for row in listed}
    return {
        patch.id: patch
        for catalogue in read_catalogues(())
        for patch in catalogue.patches
        if (patch.id, patch.variant) in called_for
    }


def _walk(stage: Stage, kind: str, obstacles: Sequence[Obstacle]) -> list[str]:
    """Show each obstacle, and that its patch removes it."""
    known = _known(stage)
    root = stage.copy(kind)
    rows = []
    for number, obstacle in enumerate(obstacles):
        patch = known[obstacle.patch]
        before = _look(stage, kind, root, obstacle, patch)
        stage.expect(before, f"without {patch.id}: {before}")
        rows.append(f"| {before} | `{patch.id}` |")
        apply(root, *_selected(obstacles[: number + 1], known))
        # Where the next obstacle is met by the same job, its own turn tells.
        if any(each.job == obstacle.job for each in obstacles[number + 1 : number + 2]):
            continue
        after = _look(stage, kind, root, obstacle, patch)
        stage.expect(not after, f"with {patch.id}: no more of it")
    return rows


def _look(
    stage: Stage, kind: str, root: Path, obstacle: Obstacle, patch: Patch
) -> str | None:
    """Run the obstacle's job; return what is wrong, by the patch's own description."""
    runs = {
        "serving": stage.serve,
        "extraction": stage.extract,
        "training": stage.train,
    }
    result = runs[kind](root, patch.id.replace("/", "-"), obstacle.job)
    if obstacle.wrong:
        return obstacle.wrong(result)
    if result["ok"]:
        return None
    for symptom in patch.symptoms:
        if found := re.search(symptom, result["log"]):
            return _brief(result["error"], found.group())
    return None


def _brief(error: str, message: str) -> str:
    """Return an error in one short line, as the user reads it."""
    text = re.sub(r"[\s^]+", " ", f"{error}: {message}").strip()
    return text if len(text) <= BRIEF else text[:BRIEF] + " …"


def _selected(obstacles: Sequence[Obstacle], known: dict[str, Patch]) -> list[str]:
    words: list[str] = []
    for each in obstacles:
        words += ["--with" if known[each.patch].opt_in else "--only", each.patch]
    return words
