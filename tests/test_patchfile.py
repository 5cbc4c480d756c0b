"""Patch files that are wrong in every way, and what is read from those that are not."""

from __future__ import annotations

import re

import pytest

from patchset.errors import UsageError
from patchset.model import Patch
from patchset.patchfile import parse_patch

LINES = {
    "docstring": '"""One is two.\n\nSymptom and cause.\n"""\n',
    "import": "import libcst as cst\n\nfrom patchset import edit\n",
    "TARGET": 'TARGET = "pkg/m.py"\n',
    "NEEDS": 'NEEDS = {"pkg": ">=1,<2"}\n',
    "SYMPTOMS": 'SYMPTOMS = ["b is 1"]\n',
    "UPSTREAM": 'UPSTREAM = "https://example.org/1"\n',
    "TOUCHES": 'TOUCHES = ["<module>"]\n',
    "rewrite": "def rewrite(module: cst.Module) -> cst.Module:\n    return module\n",
    "fixed": "def fixed(module: cst.Module) -> bool:\n    return True\n",
}


def text(**changed: str) -> str:
    return "".join({**LINES, **changed}.values())


def parse(source: str, *, stem: str = "one", catalogue: str | None = None) -> Patch:
    return parse_patch(
        source,
        package="pkg",
        stem=stem,
        catalogue=catalogue,
        origin="pkg/one.py",
        checked={"known": "3.1"},
    )


def problems(source: str, *, stem: str = "one") -> list[str]:
    with pytest.raises(UsageError) as caught:
        parse(source, stem=stem)
    assert {one.kind for one in caught.value.problems} == {"patch-file"}
    assert all("pkg/one.py" in one.hint for one in caught.value.problems)
    return [one.message.removeprefix("pkg/one.py: ") for one in caught.value.problems]


def fields(source: str) -> set[str]:
    return {one.partition(":")[0] for one in problems(source)}


def test_a_good_file_is_read_without_running_it() -> None:
    more = 'GROUP = "numbers"\nFIXED_IN = {"pkg": "2.0"}\nOPT_IN = True\n_A = print\n'
    more += 'BEFORE = "b = 1"\nAFTER = "b = 2"\nCURES = ["kind a.b 1"]\nraise OSError\n'
    patch = parse(text(TARGET=LINES["TARGET"] + more), stem="one__v0_4", catalogue="t")
    assert (patch.id, patch.variant, patch.catalogue) == ("t:pkg/one", "v0_4", "t")
    assert (patch.title, patch.description) == ("One is two", "Symptom and cause.")
    assert (patch.target, patch.package, patch.defect) == ("pkg/m.py", "pkg", "pkg/one")
    assert patch.needs == ({"pkg": ">=1,<2"},)
    assert patch.fixed_in == {"pkg": "2.0"}
    assert patch.symptoms == ("b is 1",)
    assert patch.upstream == "https://example.org/1"
    assert patch.touches == ("<module>",)
    assert patch.opt_in is True
    assert patch.group == "numbers"
    assert patch.example == ("b = 1", "b = 2")
    assert patch.cures == ("kind a.b 1",)
    assert patch.checked == {"known": "3.1"}


@pytest.mark.parametrize("name", sorted(set(LINES) - {"import"}))
def test_a_missing_field_is_named(name: str) -> None:
    (problem,) = problems(text(**{name: ""}))
    assert name in problem.partition(": found")[0]


def test_a_file_without_anything_names_all_that_is_missing() -> None:
    assert fields("pass") == {
        "docstring", "TARGET", "NEEDS", "TOUCHES", "rewrite", "fixed",
        "SYMPTOMS / SILENT", "UPSTREAM / NO_UPSTREAM",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("TARGET", 'TARGET = "other/m.py"'),
        ("TARGET", 'TARGET = "pkg/../m.py"'),
        ("TARGET", 'TARGET = "../pkg/m.py"'),
        ("TARGET", 'TARGET = "/pkg/m.py"'),
        ("TARGET", 'TARGET = "pkg"'),
        ("TARGET", 'TARGET = "pkg.py"'),
        ("TARGET", 'TARGET = "pkg/m.pyc"'),
        ("TARGET", 'TARGET = "pkg//m.py"'),
        ("TARGET", 'TARGET = "./pkg/m.py"'),
        ("TARGET", 'TARGET = "pkg/m.py/"'),
        ("TARGET", 'TARGET = "."'),
        ("TARGET", 'TARGET = ""'),
        ("TARGET", 'TARGET = "pkg/m\\0.py"'),
        ("TARGET", 'TARGET = "pkg\\\\m.py"'),
        ("TARGET", "TARGET = 1"),
        ("TARGET", "TARGET = print()"),
        ("TARGET", "TARGET: str"),
        ("TARGET", 'TARGET = "pkg/m.py"\nTARGET = "pkg/m.py"'),
        ("TARGET", 'TARGET = "pkg/m.py"\nTARGET += ""'),
        ("NEEDS", "NEEDS = {}"),
        ("NEEDS", "NEEDS = []"),
        ("NEEDS", "NEEDS = 1"),
        ("NEEDS", 'NEEDS = {"pkg": 1}'),
        ("NEEDS", 'NEEDS = {"known": ">=1"}'),
        ("NEEDS", 'NEEDS = [{"pkg": "<1"}, {"known": ">=1"}]'),
        ("NEEDS", 'NEEDS = {"pkg": ">=1"}'),
        ("NEEDS", 'NEEDS = {"pkg": ""}'),
        ("NEEDS", 'NEEDS = {"pkg": "<2", "other": ">=1"}'),
        ("NEEDS", 'NEEDS = {"pkg": "one"}'),
        ("NEEDS", 'NEEDS = {"pkg": "<0.16.1.dev3+gabc"}'),  # C7
        ("SYMPTOMS", "SYMPTOMS = 1"),
        ("SYMPTOMS", "SYMPTOMS = ['']"),
        ("SYMPTOMS", "SYMPTOMS = ['(']"),
        ("SYMPTOMS", "SYMPTOMS = ['a{99999999999999999999}']"),
        ("SYMPTOMS / SILENT", "SYMPTOMS = ['a']\nSILENT = 'b'"),
        ("SYMPTOMS / SILENT", "SYMPTOMS = []"),
        ("SILENT", "SILENT = 1"),
        ("UPSTREAM / NO_UPSTREAM", "UPSTREAM = 'https://a'\nNO_UPSTREAM = 'b'"),
        ("UPSTREAM", "UPSTREAM = 'example.org'"),
        ("NO_UPSTREAM", "NO_UPSTREAM = ' '"),
        ("TOUCHES", "TOUCHES = []"),
        ("TOUCHES", "TOUCHES = 'a'"),
        ("TOUCHES", "TOUCHES = ['a', 1]"),
        ("GROUP", "GROUP = 'Not A Name'"),
        ("FIXED_IN", "FIXED_IN = '2.0'"),
        ("FIXED_IN", "FIXED_IN = {'pkg': 'two'}"),
        ("FIXED_IN", "FIXED_IN = {'pkg': 2}"),
        ("FIXED_IN", "FIXED_IN = {'pkg': '2', 1: '2'}"),
        ("OPT_IN", "OPT_IN = 1"),
        ("CURES", "CURES = 'a'"),
        ("BEFORE, AFTER", "BEFORE = 'a'"),
        ("BEFORE, AFTER", "AFTER = 'a'"),
        ("BEFORE, AFTER", "BEFORE = 'a'\nAFTER = 1"),
        ("unknown name", "NEED = 1"),
        ("unknown name", "FIXEDIN: int = 1"),
        ("import", "import os"),
        ("import", "import patchset"),
        ("import", "import patchset.store"),
        ("import", "import libcst, sys"),
        ("import", "from os import path"),
        ("import", "from . import edit"),
        ("import", "from .. import edit"),
        ("import", "from patchset import edit, store"),
        ("import", "from patchset.store import Store"),
        ("import", "from patchset.edit.nodes import anything"),
        ("import", "def helper():\n    import os"),
        ("import", "if True:\n    from os import path"),
        ("rewrite", "rewrite = fixed"),
        ("fixed", "async def fixed(module): ..."),
        ("docstring", "''"),
        ("docstring", "'''Title only.'''"),
    ],
)
def test_a_bad_field_is_named(field: str, line: str) -> None:
    keys = re.findall(r"SYMPTOMS|UPSTREAM", field) or [field]
    replaced = {key: "" for key in keys if key in LINES}
    first = next(iter(replaced), None) or "import"
    kept = LINES["import"] if first == "import" else ""
    source = text(**{**replaced, first: f"{kept}{line}\n"})
    assert field in {one.partition(": ")[0] for one in problems(source)}


def test_all_problems_of_a_file_are_shown_at_once() -> None:
    source = text(
        TARGET='TARGET = "/etc/passwd.py"\n',
        NEEDS='NEEDS = {"pkg": ">=1"}\n',
        TOUCHES="import os\n",
        fixed="",
    )
    assert fields(source) == {"TARGET", "NEEDS", "TOUCHES", "import", "fixed"}


@pytest.mark.parametrize("source", ["def f(:\n", "x = '\0'\n", "x = " + "(" * 5000])
def test_what_is_no_python_is_refused(source: str) -> None:
    (problem,) = problems(source)
    assert problem.startswith("syntax: ")


def test_a_syntax_error_names_its_line() -> None:
    (problem,) = problems("x = 1\ndef f(:\n")
    assert "line 2" in problem


@pytest.mark.parametrize("stem", ["One", "1", "one__", "one__a-b", "", "a b", "__one"])
def test_a_bad_file_name_is_refused(stem: str) -> None:
    assert any(one.startswith("file name") for one in problems(text(), stem=stem))


@pytest.mark.parametrize(
    "needs",
    [
        {"pkg": "<2"},
        {"pkg": "==1.*"},
        {"pkg": "==0.16.0+cu129"},  # C10: a version is metadata, never a file name
        {"pkg": "~=1.0", "known": ">=1"},
    ],
)
def test_a_range_that_something_bounds_is_taken(needs: dict[str, str]) -> None:
    assert parse(text(NEEDS=f"NEEDS = {needs!r}\n")).needs == (needs,)


@pytest.mark.parametrize(
    "line",
    [
        "from libcst import matchers",
        "from patchset.edit import within",
        "from __future__ import annotations",
    ],
)
def test_what_a_patch_may_import(line: str) -> None:
    assert parse(text(**{"import": f"{line}\n"})).id == "pkg/one"


def test_metadata_is_no_code() -> None:
    other = text(
        docstring='"""Another title.\n\nOther prose.\n"""\n',
        NEEDS='NEEDS: dict = {"pkg": ">=1,<3"}\n',
        SYMPTOMS="SILENT = 'unseen'\n",
        UPSTREAM="NO_UPSTREAM = 'none'\n",
    )
    assert parse(other).code == parse(text()).code


def test_metadata_that_the_code_reads_is_code() -> None:
    reading = "def fixed(module):\n    return TOUCHES\n"
    one = text(fixed=reading)
    other = text(fixed=reading, TOUCHES='TOUCHES = ["<module>", "f"]\n')
    assert parse(one).code != parse(other).code


def test_a_constant_of_its_own_is_code() -> None:
    one = text(TOUCHES=LINES["TOUCHES"] + "_N = 1\n")
    other = text(TOUCHES=LINES["TOUCHES"] + "_N = 2\n")
    assert parse(one).code != parse(other).code
