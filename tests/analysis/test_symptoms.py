"""What is read off a log."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from patchset.analysis.findings import Finding, Kind, cured_by
from patchset.analysis.symptoms import nearest, read


@dataclass(frozen=True)
class Known:
    id: str
    symptoms: tuple[str, ...] = ()
    target: str = "app/a.py"
    cures: tuple[str, ...] = ()


def finding(kind: Kind, symbol: str, found: str, line: int = 7) -> Finding:
    return Finding(
        kind=kind,
        client="app",
        path="app/use.py",
        line=line,
        symbol=symbol,
        found=found,
        wanted="",
    )


@pytest.mark.parametrize(
    ("text", "kind", "name", "of"),
    [
        (
            "TypeError: f() got an unexpected keyword argument 'k'",
            Kind.UNEXPECTED_KEYWORD,
            "k",
            "f",
        ),
        (
            (
                "(pid=3) TypeError: Scheduler.__init__() missing 1 required positional "
                "argument: 'block_size'"
            ),
            Kind.MISSING_ARGUMENT,
            "block_size",
            "Scheduler",
        ),
        (
            "ImportError: cannot import name 'X' from 'lib.mod' (/a/lib/mod.py)",
            Kind.MISSING_NAME,
            "X",
            "mod",
        ),
        (
            "ModuleNotFoundError: No module named 'lib.gone'",
            Kind.MISSING_MODULE,
            "gone",
            "",
        ),
        (
            "AttributeError: 'Executor' object has no attribute 'sample'",
            Kind.MISSING_METHOD,
            "sample",
            "Executor",
        ),
        (
            "AttributeError: module 'lib.mod' has no attribute 'f'",
            Kind.MISSING_NAME,
            "f",
            "mod",
        ),
        (
            (
                "pydantic: 1 validation error for SchedulerConfig\nis_encoder\n"
                "  Field required [type=missing]"
            ),
            Kind.MISSING_ARGUMENT,
            "is_encoder",
            "SchedulerConfig",
        ),
    ],
)
def test_a_failure_is_known_by_its_shape(
    text: str, kind: Kind, name: str, of: str
) -> None:
    (shape,) = read(f"noise\n{text}\nmore", ()).shapes
    assert (shape.kind, shape.name, shape.of, shape.line) == (kind, name, of, 2)


def test_every_missing_argument_is_a_failure_of_its_own() -> None:
    text = "TypeError: f() missing 2 required positional arguments: 'a' and 'b'"
    assert [each.name for each in read(text, ()).shapes] == ["a", "b"]


def test_a_symptom_names_its_patch_and_its_line_whatever_the_colours() -> None:
    log = "one\n\x1b[31mERROR\x1b[0m Eagle3 is \x1b[1monly\x1b[0m for llama\nthree\n"
    known = [Known("app/b", ("never",)), Known("app/a", (r"Eagle3 is only for \w+",))]
    (found,) = read(log, known).sightings
    assert (found.patch, found.line, found.text) == (
        "app/a",
        2,
        "ERROR Eagle3 is only for llama",
    )


def test_a_failure_is_what_the_finding_foretold() -> None:
    reading = read("TypeError: f() got an unexpected keyword argument 'k'", ())
    assert reading.explains(finding(Kind.UNEXPECTED_KEYWORD, "lib.f", "k"))
    assert not reading.explains(finding(Kind.UNEXPECTED_KEYWORD, "lib.g", "k"))
    assert not reading.explains(finding(Kind.MISSING_ARGUMENT, "lib.f", "k"))


def test_the_nearest_findings_share_a_name_or_a_place() -> None:
    log = 'File "/x/app/use.py", line 9, in go\nValueError: no idea'
    here = finding(Kind.MISSING_ARGUMENT, "lib.f", "a", line=9)
    beside = finding(Kind.MISSING_ARGUMENT, "lib.g", "b", line=30)
    assert nearest(read(log, ()), [beside, here]) == (here,)
    assert nearest(read("nothing", ()), []) == ()


# --- which patch cures what -----------------------------------------------------------

FOUND = finding(Kind.MISSING_ARGUMENT, "lib.sched.Scheduler", "block_size")


@pytest.mark.parametrize(
    ("pattern", "cures"),
    [
        ("missing-argument lib.sched.Scheduler block_size", True),
        ("missing-argument *.Scheduler block_size", True),
        ("unexpected-keyword *.Scheduler block_size", False),
        ("missing-argument *.Scheduler size", False),
        ("missing-argument *.Scheduler", False),
        ("", False),
    ],
)
def test_a_patch_cures_what_it_declares(pattern: str, *, cures: bool) -> None:
    found = cured_by(FOUND, [Known("app/x", cures=(pattern,))])
    assert found == ("app/x" if cures else None)


def test_the_patch_of_the_file_comes_first() -> None:
    pattern = ("missing-argument *.Scheduler block_size",)
    patches = [
        Known("app/a", cures=pattern),
        Known("app/z", cures=pattern, target="app/use.py"),
    ]
    assert cured_by(FOUND, patches) == "app/z"
