"""Looking names up: definitions, ancestors, protocols, callers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from patchset.analysis.callers import callers
from patchset.analysis.lookup import class_of, describe
from patchset.analysis.modules import Program
from patchset.analysis.source import Directory

Write = Callable[[Mapping[str, str]], Directory]

FILES = {
    "lib/__init__.py": "from .deep.core import Engine as Engine\n",
    "lib/deep/__init__.py": "",
    "lib/deep/core.py": """
        from typing import Protocol
        from ..mixin import Mixin
        class Runs(Protocol):
            flag: bool
            def run(self, x): ...
            def stop(self): ...
        class Walks(Protocol):
            def walk(self): ...
        class Engine(Mixin, Runs, foreign.Thing):
            def __init__(self, size, *, name=None):
                self.flag = True
            def run(self, x): return x
        """,
    "lib/mixin.py": """
        class Mixin:
            def walk(self):
                return 1
            class Engine:
                pass
        """,
    "app/__init__.py": "",
    "app/use.py": """
        from lib import Engine
        from lib.mixin import Mixin
        class App:
            def __init__(self, given):
                self.engine = Engine(1)
                self.given = given
                self.mixin = Mixin()
            def go(self):
                self.engine.run(1)
                self.given.run(2)
                self.mixin.run(3)
        run(4)
        """,
}


@pytest.fixture
def program(write: Write) -> Program:
    source = write(FILES)
    return Program(packages={"app": source, "lib": source})


def test_a_dotted_name_is_followed_through_a_re_export(program: Program) -> None:
    (found,) = describe(program, "lib.Engine")
    assert found.name == "lib.deep.core.Engine"
    assert (found.kind, found.place) == ("class", "lib/deep/core.py:10")
    assert found.signature == "(size, *, name=…)"


def test_a_bare_name_is_found_wherever_it_is_defined(program: Program) -> None:
    assert [each.name for each in describe(program, "Engine")] == [
        "lib.deep.core.Engine",
        "lib.mixin.Mixin.Engine",
    ]


def test_the_order_of_ancestors_crosses_files(program: Program) -> None:
    (found,) = describe(program, "lib.Engine")
    assert [(each.name, each.place) for each in found.ancestors] == [
        ("lib.deep.core.Engine", "lib/deep/core.py:10"),
        ("lib.mixin.Mixin", "lib/mixin.py:2"),
        ("lib.deep.core.Runs", "lib/deep/core.py:4"),
        ("typing.Protocol", None),
        ("?", None),
    ]


def test_protocols_are_held_against_what_the_class_defines(program: Program) -> None:
    (found,) = describe(program, "lib.Engine")
    runs, walks = found.standings
    assert (runs.inherits, runs.carries, runs.lacking) == (True, True, ("stop",))
    assert (walks.inherits, walks.carries, walks.lacking) == (False, True, ())


def test_a_method_is_found_by_its_class(program: Program) -> None:
    (found,) = describe(program, "Engine.run")
    assert (found.name, found.kind) == ("lib.deep.core.Engine.run", "method")
    assert found.to_json()["signature"] == "(self, x)"


def test_a_name_that_nothing_defines_is_not_found(program: Program) -> None:
    assert describe(program, "Nothing") == ()
    assert describe(program, "lib.Nothing") == ()


def test_callers_say_on_what(program: Program) -> None:
    found = [(each.line, each.on, each.of) for each in callers(program, "run")]
    assert found == [
        (10, "self.engine", "lib.deep.core.Engine"),
        (11, "self.given", None),
        (12, "self.mixin", "lib.mixin.Mixin"),
        (13, "", None),
    ]


def test_callers_of_a_class_leave_out_what_is_surely_another(program: Program) -> None:
    cls = class_of(program, "Runs.run")
    found = callers(program, "run", cls)
    assert [(each.line, each.within) for each in found] == [
        (10, "App.go"),
        (11, "App.go"),
    ]
