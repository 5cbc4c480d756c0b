"""The patched code that reads a verifier's checkpoint, run without torch."""

from __future__ import annotations

import json
import sys
import types
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from patchset.catalogue import builtin_directory, read_catalogue
from patchset.rewrite import Folded, fold
from patchset.versions import holds
from tests.releases import target_of
from tests.stand_ins import execute

pytestmark = pytest.mark.real

PATCHES = read_catalogue(builtin_directory(), None).patches
CORE = "speculators/models/eagle3/core.py"
LOADING = "speculators/utils/loading.py"
EMBEDDINGS, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def source(release: str, path: str, *defects: str) -> bytes:
    base = target_of("speculators", release, path)
    chosen = [
        one
        for one in PATCHES
        if one.defect in {f"speculators/{defect}" for defect in defects}
        and any(holds(needs["speculators"], release) for needs in one.needs)
    ]
    assert len(chosen) == len(defects)
    folded = fold(base, chosen, path=path, compiles=lambda *_: None)
    assert isinstance(folded, Folded)
    return folded.content


# --- names of weights ------------------------------------------------------------


class Shard:
    """Stands for an opened file of safetensors."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def keys(self) -> list[str]:
        return self._names

    def get_tensor(self, name: str) -> str:
        return f"tensor {name}"


def load(code: bytes, folder: Path, names: list[str], *, indexed: bool) -> Any:  # noqa: ANN401
    (folder / "model.safetensors").touch()
    if indexed:
        weights = {"weight_map": dict.fromkeys(names, "model.safetensors")}
        (folder / "model.safetensors.index.json").write_text(json.dumps(weights))
    logger = SimpleNamespace(
        **dict.fromkeys(("info", "warning", "error"), lambda *_: None)
    )
    modules: dict[str, dict[str, Any]] = {
        "torch": {"Tensor": object},
        "huggingface_hub": {"hf_hub_download": None},
        "huggingface_hub.errors": {"EntryNotFoundError": FileNotFoundError},
        "loguru": {"logger": logger},
        "safetensors": {"safe_open": lambda *_, **__: nullcontext(Shard(names))},
    }
    made = {}
    for name, content in modules.items():
        made[name] = types.ModuleType(name)
        vars(made[name]).update(content)
    namespace: dict[str, Any] = {"__name__": "speculators.utils.loading"}
    with mock.patch.dict(sys.modules, made):
        exec(compile(code, LOADING, "exec", dont_inherit=True), namespace)  # noqa: S102
        return namespace["load_model_layers"]([EMBEDDINGS, HEAD], str(folder))


@pytest.mark.parametrize("indexed", [True, False], ids=["shards", "one-file"])
@pytest.mark.parametrize("prefix", ["", "language_model."], ids=["text", "wrapper"])
def test_weights_are_found_under_their_own_name_and_a_wrappers(
    tmp_path: Path, prefix: str, *, indexed: bool
) -> None:
    names = ["other.weight", f"{prefix}{EMBEDDINGS}", f"{prefix}{HEAD}"]
    code = source("0.3.0", LOADING, "verifier_weight_names")
    assert load(code, tmp_path, names, indexed=indexed) == {
        EMBEDDINGS: f"tensor {prefix}{EMBEDDINGS}",
        HEAD: f"tensor {prefix}{HEAD}",
    }


def test_a_name_as_it_stands_comes_first_and_a_lacking_one_stays_lacking(
    tmp_path: Path,
) -> None:
    code = source("0.3.0", LOADING, "verifier_weight_names")
    names = [f"draft.{EMBEDDINGS}", EMBEDDINGS, "my_lm_head.weight"]
    assert load(code, tmp_path, names, indexed=True) == {
        EMBEDDINGS: f"tensor {EMBEDDINGS}"
    }


# --- the config ------------------------------------------------------------------


def config_of(path: str, *, trust_remote_code: bool = False) -> SimpleNamespace:
    """Stands for transformers: the config of Kimi-K2.5 is code of the checkpoint."""
    assert path == "kimi"
    if not trust_remote_code:
        raise ValueError("contains custom code which must be executed")
    return SimpleNamespace(text_config=SimpleNamespace(hidden_size=7))


@pytest.mark.parametrize(
    ("defects", "told"),
    [
        ((), "contains custom code"),
        (("verifier_config_eagle3",), "has no attribute 'hidden_size'"),
        (("verifier_config_eagle3", "verifier_text_config"), "has no attribute 'vocab"),
    ],
    ids=["pristine", "trusted", "text-config"],
)
def test_the_obstacles_go_one_after_the_other(
    defects: tuple[str, ...], told: str
) -> None:
    setup = execute(
        source("0.3.0", CORE, *defects),
        "Eagle3DraftModel._setup_embeddings_and_lm_heads",
        AutoConfig=SimpleNamespace(from_pretrained=config_of),
    )
    with pytest.raises((ValueError, AttributeError), match=told):
        setup(
            SimpleNamespace(hidden_size=7),
            SimpleNamespace(name_or_path="kimi"),
            SimpleNamespace(shape=(1,)),
        )


@pytest.mark.parametrize(
    ("release", "path", "function", "defect"),
    [
        ("0.5.0", "speculators/models/utils.py", "get_verifier_config", "layers"),
        (
            "0.7.0",
            "speculators/train/vocab_mapping.py",
            "get_target_vocab_size",
            "vocabulary",
        ),
    ],
)
def test_the_config_is_read(
    release: str, path: str, function: str, defect: str
) -> None:
    argument = ["kimi"] if defect == "layers" else [None, "kimi"]
    names = {"AutoConfig": SimpleNamespace(from_pretrained=config_of)}
    with pytest.raises(ValueError, match="custom code"):
        execute(target_of("speculators", release, path), function, **names)(*argument)
    patched = source(release, path, f"verifier_config_{defect}")
    read = execute(patched, function, **names)
    if defect == "layers":
        assert read(*argument).hidden_size == 7
    else:
        with pytest.raises(AttributeError, match="vocab_size"):
            read(*argument)
