# ruff: noqa: E501 - a log has the lines that it has
"""`doctor`, `inspect` and `explain` on the really installed founding pair."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.crossproduct import KIMI
from tests.environments import (
    Environment,
    clean_environ,
    copy_environment,
    make_environment,
)

pytestmark = pytest.mark.real
KEYS = ["kind", "client", "path", "line", "symbol", "found", "wanted", "patch"]


@pytest.fixture
def copy(founding: Environment, tmp_path: Path) -> Environment:
    return copy_environment(founding, tmp_path / "env")


@pytest.fixture
def kimi(tmp_path: Path) -> str:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(KIMI))
    return str(path)


def rows(document: dict[str, Any], *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(row[key] for key in keys) for row in document["findings"]]


def test_doctor_says_in_its_first_line_whether_it_will_work(copy: Environment) -> None:
    result = copy.run("doctor")
    assert result.code == 1
    assert result.out.startswith("will not work: 3 uses of vllm 0.16.0")
    assert "apply" in result.out.splitlines()[-1]


def test_doctor_names_each_finding_and_its_patch(copy: Environment) -> None:
    result = copy.run("doctor", "--json")
    assert result.code == 1
    document = result.document
    assert list(document) == ["schema", "ok", "findings"]
    assert (document["schema"], document["ok"]) == (1, False)
    assert rows(document, "line", "found", "patch") == [
        (136, "kv_cache_specs", "speculators/kv_cache_config"),
        (148, "block_size", "speculators/scheduler_block_size"),
        (194, "is_encoder_decoder", "speculators/encoder_decoder_flag"),
    ]
    assert all(list(row) == KEYS for row in document["findings"])


def test_after_apply_the_cured_ones_are_gone(copy: Environment, kimi: str) -> None:
    assert copy.run("doctor", "--model", kimi, "--method", "eagle3").code == 1
    assert copy.run("apply").code == 0
    result = copy.run("doctor")
    assert result.code == 0
    assert result.out.startswith("should work: ")
    assert copy.run("doctor", "--json").document["findings"] == []
    model = copy.run("doctor", "--model", kimi, "--method", "eagle3", "--json")
    assert (model.code, model.document["findings"]) == (0, [])


def test_doctor_reads_what_is_on_disk(copy: Environment) -> None:
    path = "vllm/v1/request.py"
    text = copy.path(path).read_bytes().replace(b"eos_token_id:", b"eos_token_ids:", 1)
    copy.edit(path, text)
    found = rows(copy.run("doctor", "--json").document, "kind", "found", "patch")
    assert ("unexpected-keyword", "eos_token_id", None) in found


def test_a_model_fails_in_the_engines_order(copy: Environment, kimi: str) -> None:
    result = copy.run("doctor", "--model", kimi, "--method", "eagle3", "--json")
    assert result.code == 1
    assert rows(result.document, "kind", "patch") == [
        ("whitelist", "vllm/eagle3_target_whitelist"),
        ("config-field", "vllm/eagle3_image_token"),
        ("protocol", "vllm/eagle3_kimi_k25"),
        ("protocol", "vllm/eagle3_deepseek_v2"),
    ]
    text = copy.run("doctor", "--model", kimi, "--method", "eagle3").out
    assert text.startswith("will not work: KimiK25ForConditionalGeneration with eagle3")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--client", "nothing"], 3, "nothing: found no such package"),
        (["--model", "none.json", "--method", "eagle3"], 2, "none.json"),
        (["--model", "LlamaForCausalLM"], 2, "--method"),
        (["--method", "eagle3"], 2, "--model"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    copy: Environment, arguments: list[str], code: int, words: str
) -> None:
    result = copy.run("doctor", *arguments)
    assert result.code == code
    assert words in result.err
    assert "next: " in result.err
    document = copy.run("doctor", *arguments, "--json").document
    assert (document["ok"], document["findings"]) == (False, [])


def test_any_pair_can_be_asked(tmp_path: Path) -> None:
    environment = make_environment(tmp_path / "env")
    for path, text in {
        "lib_x/__init__.py": "def f(a): ...\n",
        "app_x/__init__.py": "from lib_x import f\nf()\n",
    }.items():
        target = environment.path(path)
        target.parent.mkdir()
        target.write_text(text)
    result = environment.run(
        "doctor", "--client", "app-x", "--library", "lib_x", "--json"
    )
    assert rows(result.document, "kind", "line") == [("missing-argument", 2)]


def test_nothing_of_the_target_and_no_codemod_is_imported(copy: Environment) -> None:
    code = (
        "import sys\nfrom patchset.cli import cli\n"
        "cli.main(sys.argv[1:], standalone_mode=False)\n"
        "print(sorted({'libcst', 'vllm', 'torch', 'speculators', 'rich'}"
        " & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--python", str(copy.root), "doctor", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env=clean_environ(),
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_inspect_shows_what_people_grep_for(copy: Environment) -> None:
    name = "KimiK25ForConditionalGeneration"
    document = copy.run("inspect", name, "--json").document
    (found,) = document["definitions"]
    assert found["place"] == "vllm/model_executor/models/kimi_k25.py:309"
    protocols = {one["name"].rpartition(".")[2]: one for one in found["protocols"]}
    assert protocols["SupportsMultiModal"]["carries"]
    assert not protocols["SupportsEagle3"]["carries"]
    assert "set_aux_hidden_state_layers" in protocols["SupportsEagle3"]["lacking"]
    assert name in copy.run("inspect", name).out
    assert copy.run("inspect", "NoSuchThing").code == 2


def test_inspect_finds_callers(copy: Environment) -> None:
    result = copy.run("inspect", "Executor.sample_tokens", "--callers", "--json")
    callers = result.document["callers"]
    assert isinstance(callers, list)
    assert {
        "path": "vllm/v1/engine/core.py",
        "line": 413,
        "within": "EngineCore.step",
        "on": "self.model_executor",
        "class": "vllm.v1.executor.abstract.Executor",
    } in callers


LOG = """Traceback (most recent call last):
  File "/x/speculators/data_generation/vllm_hidden_states_generator.py", line 136
TypeError: get_kv_cache_config_from_groups() got an unexpected keyword argument 'kv_cache_specs'
"""


def test_explain_names_the_defect_its_state_and_the_command(
    copy: Environment, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text(LOG)
    result = copy.run("explain", str(log))
    assert result.code == 0
    assert result.out.startswith("recognised: 1 known defect")
    assert "speculators/kv_cache_config" in result.out
    assert "pending" in result.out
    assert copy.run("apply").code == 0
    document = copy.run("explain", str(log), "--json").document
    assert document["patches"] == [
        {"id": "speculators/kv_cache_config", "state": "applied", "reason": None}
    ]


def test_an_unknown_failure_gets_the_nearest_findings(
    copy: Environment, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text("ValueError: something else about block_size\n")
    result = copy.run("explain", str(log))
    assert result.code == 1
    assert result.out.startswith("not known")
    assert "doctor" in result.out
