"""The matrix as a page that people read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from patchset.rehearse import WELL
from tests.matrix.releases import TRANSFORMERS

_HEAD = """\
# What `patchset apply` does on every published pair

Written by `make matrix` from the published wheels; do not edit. Each cell counts the
patches that apply to that pair; **bold** where something is left to do by hand, `-`
where nothing is needed. Behind it, how many uses of vLLM by speculators cannot bind
even so, as `patchset doctor` sees them: such a pair was never meant to go together.
Tried beside transformers {transformers}, the last release that does not know Kimi-K2.5.

"""


def render(matrix: Mapping[str, Any]) -> str:
    """One table: a row for each vLLM, a column for each speculators."""
    cells = {(one["vllm"], one["speculators"]): one for one in matrix["pairs"]}
    columns: Sequence[str] = matrix["speculators"]
    lines = [
        f"| vLLM | {' | '.join(f'speculators {name}' for name in columns)} |",
        f"| --- |{' --- |' * len(columns)}",
    ]
    for vllm in matrix["vllm"]:
        row = [_cell(cells[vllm, name]) for name in columns]
        lines.append(f"| {vllm} | {' | '.join(row)} |")
    return (
        _HEAD.format(transformers=TRANSFORMERS)
        + "\n".join(lines)
        + "\n"
        + _left_over(matrix["pairs"])
    )


def _cell(pair: Mapping[str, Any]) -> str:
    counts = Counter(pair["verdicts"].values())
    text = str(counts["applies"] or "-")
    if pair["findings"]:
        text += f" ({len(pair['findings'])} do not bind)"
    return text if pair["ok"] else f"**{text}**"


def left_over(pair: Mapping[str, Any]) -> str:
    """The patches of a pair that somebody has to look at, with their verdicts."""
    left = [
        f"{name}: {text}"
        for name, text in pair["verdicts"].items()
        if text not in _FINE
    ]
    return ", ".join(left)


_FINE = {verdict.value for verdict in WELL}


def _left_over(pairs: Sequence[Mapping[str, Any]]) -> str:
    """What is behind the bold cells."""
    bad = [one for one in pairs if not one["ok"]]
    if not bad:
        return "\nNothing is left to do by hand on any of them.\n"
    lines = [
        f"- vLLM {one['vllm']}, speculators {one['speculators']}: {left_over(one)}"
        for one in bad
    ]
    return "\n" + "\n".join(lines) + "\n"
