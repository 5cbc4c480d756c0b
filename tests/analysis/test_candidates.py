"""Where code may have gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from patchset.analysis.candidates import near_definitions, near_files
from patchset.analysis.source import Directory

Write = Callable[[Mapping[str, str]], Directory]


def test_the_file_that_has_the_definitions_now_comes_first(write: Write) -> None:
    source = write(
        {
            "lib/v1/eagle_x.py": "other = 1\n",
            "lib/v1/llm_base.py": "class Proposer:\n    def load(self): ...\n",
            "lib/v1/far.py": "",
        }
    )
    found = near_files(source, "lib/v1/eagle.py", ["<module>", "Proposer.load"])
    assert found[:2] == ["lib/v1/llm_base.py", "lib/v1/eagle_x.py"]


def test_without_definitions_near_names_are_left(write: Write) -> None:
    source = write({"lib/speculation.py": "", "lib/zzz.py": ""})
    assert near_files(source, "lib/speculative.py", ["<module>"]) == [
        "lib/speculation.py"
    ]


def test_a_definition_that_is_still_there_is_its_own_candidate() -> None:
    text = b"class A:\n    def load_model(self): ...\ndef load_models(): ...\n"
    assert near_definitions(text, ["A.load_model"]) == ["A.load_model:2"]
    assert near_definitions(text, ["A.load_mode"]) == [
        "A.load_model:2",
        "load_models:3",
    ]
    assert near_definitions(text, ["<module>"]) == []
    assert near_definitions(b"def (", ["A"]) == []
