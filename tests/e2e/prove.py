"""Proves the founding patches by running what they are for: `make e2e`."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from subprocess import TimeoutExpired

from tests.e2e import (
    environment,
    extract_proof,
    obstacles,
    revert_proof,
    runs,
    serve_proof,
)
from tests.e2e.stage import NotShownError, Stage, prompts

NOT_SHOWN = """\
Not shown, because a CPU cannot: MLA's own attention kernels and their KV cache (the
expanded attention ran instead, below the same model code), CUDA graphs, streams and
asynchronous scheduling, quantized weights, pipeline parallelism, the training loop of
speculators, and the real weights.
"""


def prepare(stage: Stage) -> None:
    """Build the environment and the checkpoints, and train the draft."""
    environment.build(stage.pristine, stage.python)
    stage.say(f"environment: {stage.pristine}")
    work = stage.runs / "draft"
    if not (stage.root / "models" / "draft" / "config.json").exists():
        runs.script(stage.pristine, work, "models", str(stage.root / "models"))
        _trace(stage, "dense")
        trace = _trace(stage, "deepseek")
        arguments = [trace, stage.model("draft"), stage.model("deepseek")]
        runs.script(stage.pristine, work, "draft", *arguments, "2", "4", "5")
    stage.say(f"checkpoints and trained draft: {stage.root / 'models'}")


def _trace(stage: Stage, target: str) -> str:
    """Save what a target says to the known prompts, and its states meanwhile."""
    trace = str(stage.root / "models" / f"{target}.trace")
    job = {"target": target, "batches": [prompts()], "max_tokens": 1}
    more = {"trace": trace, "trace_tokens": 64}
    result = stage.serve(stage.pristine, "trace", job | more)
    stage.expect(result["ok"], f"{target}: {result.get('message', 'traced')}")
    return trace


def _show(stage: Stage, name: str) -> list[str] | None:
    """Go through one part; return its rows of the table, None if it failed."""
    own = replace(stage, part=name)
    try:
        rows = PARTS[name](own) or []
    except (NotShownError, runs.NoResultError, TimeoutExpired) as error:
        own.say(f"FAILED: {error}")
        return None
    own.say("shown")
    return rows


def main() -> int:
    """Run all parts, or those asked for; return 0 if everything was shown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=environment.default_root())
    parser.add_argument("--environment-python", default=None)
    parser.add_argument(
        "parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default"
    )
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    python = environment.find_python(asked.environment_python)
    stage = Stage(root=asked.root.resolve(), python=python, part="prepare")
    prepare(stage)
    names = [name for name in PARTS if not asked.parts or name in asked.parts]
    # A run keeps one core busy, and takes some 2 GB.
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        shown = list(pool.map(lambda name: _show(stage, name), names))
    failed = [name for name, rows in zip(names, shown, strict=True) if rows is None]
    table = [row for rows in shown for row in rows or []]
    lines = ["| without it | patch |", "| --- | --- |", *table] if table else []
    sys.stdout.write("\n".join([*lines, "", NOT_SHOWN]))
    stage.say(f"failed: {', '.join(failed)}" if failed else "all of it shown")
    if not failed and not asked.parts:
        # Links to the files of the one environment; what else is kept is used again.
        shutil.rmtree(stage.root / "copies", ignore_errors=True)
    return 1 if failed else 0


PARTS: dict[str, Callable[[Stage], list[str] | None]] = {
    "serving-obstacles": obstacles.prove_serving,
    "extraction-obstacles": obstacles.prove_extraction,
    "training-obstacles": obstacles.prove_training,
    "serving-wrapper": partial(serve_proof.prove, target="kimi"),
    "serving-text-only": partial(serve_proof.prove, target="deepseek"),
    "compile-cache": serve_proof.prove_cache,
    "extraction": extract_proof.prove,
    "revert": revert_proof.prove,
}

if __name__ == "__main__":
    sys.exit(main())
