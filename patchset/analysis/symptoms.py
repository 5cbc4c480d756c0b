"""What a log or traceback shows: known symptoms, and failures of a known shape."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from patchset.analysis.findings import Finding, Kind

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_FILE = re.compile(r'File "([^"]+)", line (\d+)')
_QUOTED = re.compile(r"'(\w+)'")


class Symptomatic(Protocol):
    """What must be known of a patch to recognise what it cures."""

    @property
    def id(self) -> str:
        """The patch's id."""

    @property
    def symptoms(self) -> tuple[str, ...]:
        """Regular expressions that find the defect in a log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A failure that Python or pydantic words in a known way."""

    kind: Kind
    name: str
    """The offending keyword or name."""
    of: str
    """What was called or looked into: the last part of its name; empty if unsaid."""
    line: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Sighting:
    """A symptom of one patch, where it was seen."""

    patch: str
    line: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """All that a log shows."""

    sightings: tuple[Sighting, ...]
    shapes: tuple[Shape, ...]
    frames: tuple[tuple[str, int], ...]
    """The files and lines of its tracebacks."""

    def explains(self, finding: Finding) -> bool:
        """Whether one of the failures is what the finding foretells."""
        return any(
            shape.kind is finding.kind
            and shape.name == finding.found.rpartition(".")[2]
            and _same(shape.of, finding.symbol)
            for shape in self.shapes
        )

    def distance(self, finding: Finding) -> int:
        """How near a finding is to what was seen: 0 explains it, 9 has no relation."""
        if self.explains(finding):
            return 0
        if any(shape.name in finding.found for shape in self.shapes):
            return 1
        if any(_same(shape.of, finding.symbol) for shape in self.shapes if shape.of):
            return 2
        lines = [line for path, line in self.frames if path.endswith(finding.path)]
        if finding.line in lines:
            return 3
        return 4 if lines else 9


def read(text: str, patches: Iterable[Symptomatic]) -> Reading:
    """Return what the text shows; nothing is asked of anything but the text."""
    plain = _ANSI.sub("", text)
    starts = [0, *(match.end() for match in re.finditer(r"\n", plain))]
    sightings = [
        Sighting(patch=patch.id, line=line, text=words)
        for patch in patches
        for symptom in patch.symptoms
        if (match := re.search(symptom, plain)) is not None
        for line, words in [_place(plain, starts, match.start())]
    ]
    once = {each.patch: each for each in reversed(sightings)}
    return Reading(
        sightings=tuple(
            sorted(once.values(), key=lambda each: (each.line, each.patch))
        ),
        shapes=tuple(dict.fromkeys(_shapes(plain, starts))),
        frames=tuple((path, int(line)) for path, line in _FILE.findall(plain)),
    )


def nearest(reading: Reading, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings that are nearest to what was seen; all if none is."""
    if not findings:
        return ()
    best = min(reading.distance(each) for each in findings)
    return tuple(each for each in findings if reading.distance(each) == best)


def _same(short: str, symbol: str) -> bool:
    return bool(short) and short in symbol.split(".")


def _place(text: str, starts: list[int], offset: int) -> tuple[int, str]:
    line = bisect_right(starts, offset)
    end = text.find("\n", offset)
    return line, text[starts[line - 1] : end if end >= 0 else len(text)].strip()


_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        Kind.UNEXPECTED_KEYWORD,
        re.compile(
            r"TypeError: (?P<of>[\w.<>]+)\(\) got an unexpected keyword argument "
            r"'(?P<name>\w+)'"
        ),
    ),
    (
        Kind.MISSING_ARGUMENT,
        re.compile(
            r"TypeError: (?P<of>[\w.<>]+)\(\) missing \d+ required [\w-]+ "
            r"arguments?: (?P<names>'\w+'[^\n]*)"
        ),
    ),
    (
        Kind.TOO_MANY_ARGUMENTS,
        re.compile(
            r"TypeError: (?P<of>[\w.<>]+)\(\) takes (?P<name>[^\n]*) positional "
            r"arguments? but"
        ),
    ),
    (
        Kind.MISSING_NAME,
        re.compile(
            r"ImportError: cannot import name '(?P<name>\w+)' from "
            r"(?:partially initialized module )?'(?P<of>[\w.]+)'"
        ),
    ),
    (
        Kind.MISSING_NAME,
        re.compile(
            r"AttributeError: module '(?P<of>[\w.]+)' has no attribute '(?P<name>\w+)'"
        ),
    ),
    (
        Kind.MISSING_MODULE,
        re.compile(r"ModuleNotFoundError: No module named '(?P<of>)(?P<name>[\w.]+)'"),
    ),
    (
        Kind.MISSING_METHOD,
        re.compile(
            r"AttributeError: (?:type object )?'(?P<of>\w+)'(?: object)? has no "
            r"attribute '(?P<name>\w+)'"
        ),
    ),
    (
        Kind.MISSING_ARGUMENT,
        re.compile(
            r"validation errors? for (?P<of>\w+)\n[^\n]*?(?P<name>\w+)\n"
            r"[^\n]*Field required"
        ),
    ),
    (
        Kind.UNEXPECTED_KEYWORD,
        re.compile(
            r"validation errors? for (?P<of>\w+)\n[^\n]*?(?P<name>\w+)\n"
            r"[^\n]*Unexpected keyword argument"
        ),
    ),
)


def _shapes(text: str, starts: list[int]) -> Iterator[Shape]:
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            names = _QUOTED.findall(groups["names"]) if "names" in groups else None
            line, words = _place(text, starts, match.start())
            of = groups["of"].removesuffix(".__init__").rpartition(".")[2]
            for name in names if names is not None else [groups["name"]]:
                last = name.rpartition(".")[2]
                yield Shape(kind=kind, name=last, of=of, line=line, text=words)
