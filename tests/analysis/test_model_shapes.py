"""The shapes that models take, as small packages named vllm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from patchset.analysis.model import Prognosis, prognose
from patchset.analysis.source import Directory
from patchset.analysis.target import by_architecture, by_config

Write = Callable[[Mapping[str, str]], Directory]

INTERFACES = """
from typing import ClassVar, Literal, Protocol
class SupportsMultiModal(Protocol):
    def get_language_model(self): ...
class SupportsEagle3(Protocol):
    supports_eagle3: ClassVar[Literal[True]] = True
    def set_aux_hidden_state_layers(self, layers): ...
    def get_eagle3_aux_hidden_state_layers(self): ...
"""
DEFAULTS = """
from typing import ClassVar, Literal, Protocol
class SupportsMultiModal(Protocol):
    def get_language_model(self):
        return self.found()
class EagleModelMixin:
    def _set_aux_hidden_state_layers(self, layers):
        self.aux_hidden_state_layers = layers
class SupportsEagle3(Protocol):
    supports_eagle3: ClassVar[Literal[True]] = True
    def set_aux_hidden_state_layers(self, layers):
        parent_ref = self
        assert isinstance(parent_ref.model, EagleModelMixin)
        parent_ref.model._set_aux_hidden_state_layers(layers)
"""
REGISTRY = """
_TEXT = {"Plain": ("plain", "Plain"), "Inner": ("plain", "Inner")}
_ALL = {**_TEXT, "Wrap": ("wrap", "Wrap")}
"""
WRAP = """
from .interfaces import SupportsEagle3, SupportsMultiModal
class Wrap(nn.Module, SupportsMultiModal, SupportsEagle3):
    def __init__(self, vllm_config):
        with self._mark_language_model(vllm_config):
            self.{attr} = init_vllm_registered_model(
                vllm_config=vllm_config, architectures=["Inner"])
    def set_aux_hidden_state_layers(self, layers):
        self.{attr}.set_aux_hidden_state_layers(layers)
    def get_eagle3_aux_hidden_state_layers(self):
        return self.{attr}.get_eagle3_aux_hidden_state_layers()
"""
INNER = """
from .interfaces import SupportsEagle3
class Inner(nn.Module, SupportsEagle3):
    def __init__(self):
        self.model = Base()
    def set_aux_hidden_state_layers(self, layers):
        self.model.aux_hidden_state_layers = layers
    def get_eagle3_aux_hidden_state_layers(self):
        return (1, 2, 3)
class Base(nn.Module):
    def forward(self):
        for i in self.aux_hidden_state_layers: ...
"""


@pytest.fixture
def ask(write: Write) -> Callable[..., Prognosis]:
    def run(
        architecture: str,
        models: Mapping[str, str],
        method: str = "eagle3",
        **more: str,
    ) -> Prognosis:
        folder = "vllm/model_executor/models"
        files = {"interfaces": INTERFACES, "registry": REGISTRY, **models}
        whole = {
            f"{folder}/{name}.py": f"from torch import nn\n{dedent(text)}"
            for name, text in files.items()
        }
        whole |= {path.replace("__", "/") + ".py": text for path, text in more.items()}
        for path in list(whole):
            for parent in Path(path).parents[:-1]:
                whole.setdefault(f"{parent}/__init__.py", "")
        return prognose(by_architecture(architecture), method, {"vllm": write(whole)})

    return run


def found(prognosis: Prognosis) -> list[tuple[str, str, str]]:
    return [
        (f.kind.value, f.symbol.rpartition(".")[2], f.found) for f in prognosis.findings
    ]


def test_a_wrapper_that_hands_on_to_a_model_that_captures(
    ask: Callable[..., Prognosis],
) -> None:
    models = {"wrap": WRAP.format(attr="lm"), "plain": INNER}
    assert found(ask("Wrap", models)) == []


def test_a_wrapper_that_hands_on_to_a_model_that_does_not(
    ask: Callable[..., Prognosis],
) -> None:
    models = {"wrap": WRAP.format(attr="lm"), "plain": "class Inner(nn.Module): ..."}
    assert found(ask("Wrap", models)) == [("protocol", "Inner", "SupportsEagle3")]


DECODER = """
from .interfaces import SupportsEagle3
class Inner(nn.Module, SupportsEagle3):
    def __init__(self):
        self.model = Base()
    def set_aux_hidden_state_layers(self, layers):
        self.model.set_aux_hidden_state_layers(layers)
    def get_eagle3_aux_hidden_state_layers(self):
        return (1, 2, 3)
class Base(nn.Module):
    def set_aux_hidden_state_layers(self, layers):
        self.aux_hidden_state_layers = layers
    def forward(self):
        for i in self.aux_hidden_state_layers: ...
"""


@pytest.mark.parametrize(
    ("change", "lacking"),
    [
        ("", []),
        (
            (
                "    def set_aux_hidden_state_layers(self, layers):\n"
                "        self.aux_hidden_state_layers = layers\n"
            ),
            [("protocol", "Base", "set_aux_hidden_state_layers")],
        ),
        (
            "        for i in self.aux_hidden_state_layers: ...\n",
            [("protocol", "Base", "aux_hidden_state_layers")],
        ),
    ],
)
def test_what_is_handed_on_must_be_there_and_no_more(
    ask: Callable[..., Prognosis], change: str, lacking: list[tuple[str, str, str]]
) -> None:
    plain = DECODER.replace(change, "        ...\n" if "for" in change else "")
    models = {"wrap": WRAP.format(attr="lm"), "plain": plain}
    assert found(ask("Wrap", models)) == lacking
    assert found(ask("Inner", models)) == lacking


def test_the_layers_are_given_to_a_model_that_never_reads_them(
    ask: Callable[..., Prognosis],
) -> None:
    models = {"plain": INNER.replace("self.aux_hidden_state_layers: ", "(): ")}
    assert found(ask("Inner", models)) == [
        ("protocol", "Base", "aux_hidden_state_layers")
    ]


def test_an_inherited_method_that_says_nothing_is_lacking(
    ask: Callable[..., Prognosis],
) -> None:
    plain = """
        from .interfaces import SupportsEagle3
        class Plain(nn.Module, SupportsEagle3):
            def set_aux_hidden_state_layers(self, layers):
                self.layers = layers
        """
    assert found(ask("Plain", {"plain": plain})) == [
        ("protocol", "Plain", "get_eagle3_aux_hidden_state_layers")
    ]


def test_members_without_the_base_carry_the_protocol(
    ask: Callable[..., Prognosis],
) -> None:
    plain = """
        class Plain(nn.Module):
            supports_eagle3 = True
            def set_aux_hidden_state_layers(self, layers):
                self.aux = layers
            def get_eagle3_aux_hidden_state_layers(self):
                return (1,)
        """
    assert found(ask("Plain", {"plain": plain})) == []


@pytest.mark.parametrize(("base", "lacking"), [("EagleModelMixin, ", 0), ("", 1)])
def test_the_default_of_the_protocol_needs_the_mixin(
    ask: Callable[..., Prognosis], base: str, lacking: int
) -> None:
    plain = f"""
        from .interfaces import SupportsEagle3, EagleModelMixin
        class Base({base}nn.Module): ...
        class Plain(nn.Module, SupportsEagle3):
            base_cls = Base
            def __init__(self):
                self.model = self.make()
            def make(self):
                return Base()
        """
    got = found(ask("Plain", {"plain": plain, "interfaces": DEFAULTS}))
    assert got == [("protocol", "Base", "EagleModelMixin")] * lacking


WHITELIST = """
class SpeculativeConfig:
    def check(self):
        {name} = {names}
        if (
            {method}
            and not any(
                one in self.target_model_config.hf_text_config.model_type
                for one in {name}
            )
        ):
            raise ValueError(f"only {{{name}}}")
"""


@pytest.mark.parametrize(
    ("method", "names", "refused"),
    [
        ('self.method == "eagle3"', ["llama"], True),
        ('self.method == "eagle3"', ["llama", "pla"], False),
        ('self.method in ("eagle3", "dflash")', ("llama",), True),
        ('self.method in ("dflash",)', ("llama",), False),
        ("self.target_model_config", ["llama"], True),
    ],
)
def test_a_whitelist_is_known_by_what_it_does(
    ask: Callable[..., Prognosis], method: str, names: object, *, refused: bool
) -> None:
    text = WHITELIST.format(name="supported", names=names, method=method)
    plain = {"plain": INNER + "\nclass Plain(Inner): ..."}
    got = found(ask("Plain", plain, vllm__config__speculative=text))
    assert got == [("whitelist", "check", "plain")] * refused


LOADER = """
class Base:
    def load_model(self, target_model):
        if supports_multimodal(target_model):
            if self.get_model_name(target_model) in ["Other"]:
                self.x = target_model.config.a_token
            elif self.get_model_name(target_model) == "Wrap":
                self.x = target_model.config.vision_config.token
            else:
                self.x = target_model.config.image_token_index
class EagleProposer(Base): ...
"""
CONFIGS = """
class WrapConfig(PretrainedConfig):
    def __init__(self, **kwargs):
        self.vision_config = make()
"""


@pytest.mark.parametrize(
    ("vision", "lacking"), [({"token": 1}, []), ({}, ["token"]), (None, [])]
)
def test_the_branch_of_the_target_decides_which_fields_are_read(
    write: Write, vision: dict[str, int] | None, lacking: list[str]
) -> None:
    folder = "vllm/model_executor/models"
    files = {
        "vllm/__init__.py": "",
        "vllm/v1/spec_decode/eagle.py": LOADER,
        "vllm/transformers_utils/config.py": '_CONFIG_REGISTRY = D(wrap="WrapConfig")',
        "vllm/transformers_utils/configs/__init__.py": CONFIGS,
        f"{folder}/interfaces.py": INTERFACES,
        f"{folder}/registry.py": REGISTRY,
        f"{folder}/wrap.py": WRAP.format(attr="lm"),
        f"{folder}/plain.py": INNER,
    }
    text = '{"architectures": ["Wrap"], "model_type": "wrap"'
    if vision is not None:
        text += f', "vision_config": {vision}'.replace("'", '"')
    got = prognose(by_config(text + "}"), "eagle3", {"vllm": write(files)})
    assert [f.found for f in got.findings] == lacking
