"""Try every pair of releases and write the tables that `patches/` ships."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from rich.progress import track

from patchset.catalogue import builtin_directory
from tests.matrix.releases import published
from tests.matrix.table import left_over, render
from tests.matrix.trial import Trials


def main() -> int:
    """Write matrix.json, MATRIX.md, golden.json and checked.json; 1 if a pair fails."""
    names = {"speculators": published("speculators"), "vllm": published("vllm")}
    newest = {name: versions[-1] for name, versions in names.items()}
    jobs = [(vllm, names["speculators"], newest) for vllm in names["vllm"]]
    with ProcessPoolExecutor() as pool:
        done = list(track(pool.map(_row, jobs), description="pairs", total=len(jobs)))
    pairs = [row for rows, _ in done for row in rows]
    golden = {_key(row): row for _, rows in done for row in rows}
    folder = builtin_directory()
    matrix = {"schema": 1, **names, "pairs": pairs}
    _write(folder / "matrix.json", matrix)
    (folder / "MATRIX.md").write_text(render(matrix))
    rows = [golden[key] for key in sorted(golden)]
    _write(folder / "golden.json", {"schema": 1, "rows": rows})
    bad = [one for one in pairs if not one["ok"]]
    for one in bad:
        print(f"vllm {one['vllm']}, speculators {one['speculators']}: {left_over(one)}")
    print(f"{len(pairs)} pairs, {len(bad)} with something left to do, {len(rows)} rows")
    if not bad:
        _write(folder / "checked.json", {"schema": 1, "newest": newest})
    return int(bool(bad))


def _row(
    job: tuple[str, Sequence[str], Mapping[str, str]],
) -> tuple[list[Any], list[dict[str, Any]]]:
    """One vLLM with every speculators: they share its wheel and most of its folds."""
    vllm, others, newest = job
    trials = Trials.of_catalogue(newest)
    done = [trials.run({"speculators": one, "vllm": vllm}) for one in others]
    return [row for row, _ in done], [row for _, rows in done for row in rows]


def _key(row: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    return row["path"], row["pristine"], tuple(row["patches"])


def _write(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
