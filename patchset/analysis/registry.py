"""Which class of vLLM an architecture name stands for, and which config class."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from patchset.analysis.scope import Value
from patchset.analysis.source import python_files
from patchset.analysis.things import ClassRef
from patchset.analysis.values import Values

MODELS = "vllm.model_executor.models"
CONFIGS = "vllm.transformers_utils"


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered:
    """An architecture, the class that serves it, and whether the registry says so."""

    architecture: str
    cls: ClassRef | None
    listed: bool


def architecture(values: Values, name: str) -> Registered:
    """Return the class that serves an architecture.

    Looked up in the registry's tables of `name: (module, class)`; for a name that it
    does not list, by the class statement in whichever file has it.
    """
    for key, module, cls in _tables(values):
        if key == name:
            found = _class(values, f"{MODELS}.{module}", cls)
            return Registered(architecture=name, cls=found, listed=True)
    return Registered(architecture=name, cls=_by_text(values, name), listed=False)


def near(values: Values, name: str) -> list[str]:
    """Return the registered architectures whose names are near."""
    return get_close_matches(name, sorted({key for key, _, _ in _tables(values)}), n=3)


def causal(values: Values, model_type: str) -> str | None:
    """Return the architecture that generates text for a model type, by its name."""
    wanted = f"{model_type.replace('_', '')}forcausallm"
    return next((key for key, _, _ in _tables(values) if key.lower() == wanted), None)


def config_class(values: Values, model_type: str) -> ClassRef | None:
    """Return vLLM's own config class for a model type, None where it has none."""
    module = values.program.module(f"{CONFIGS}.config")
    if module is None:
        return None
    for binding in module.scope.every.get("_CONFIG_REGISTRY", ()):
        value = binding.bound.value if isinstance(binding.bound, Value) else None
        for key, item in _entries(value):
            if key != model_type:
                continue
            match item:
                case ast.Constant(value=str(name)) | ast.Name(id=name):
                    return _class(values, f"{CONFIGS}.configs", name)
                case _:
                    return None
    return None


def annotated_config(values: Values, cls: ClassRef) -> ClassRef | None:
    """Return the config class that a model's constructor names for its `config`."""
    for node in ast.walk(cls.node):
        match node:
            case ast.AnnAssign(target=ast.Name(id="config"), annotation=annotation):
                for thing in values.annotations.read(cls.module, annotation):
                    if isinstance(thing.target, ClassRef):
                        return thing.target
            case _:
                pass
    return None


def text_type(values: Values, config: ClassRef) -> str | None:
    """Return the model type of the text config that a config class makes by default.

    Read off the name of the class that `self.text_config` is annotated with or made
    of: `DeepseekV3Config` has the model type `deepseek_v3`.
    """
    for given in values.attributes.given(config, "text_config") or ():
        for node in (given.annotation, given.value):
            name = _config_name(node)
            if name is not None:
                return name
    return None


def snake(name: str) -> str:
    """Return a class name as a model type would be written."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return text.lower()


def _config_name(node: ast.expr | None) -> str | None:
    for each in ast.walk(node) if node is not None else ():
        if (
            isinstance(each, ast.Name)
            and each.id.endswith("Config")
            and each.id not in ("PretrainedConfig", "PreTrainedConfig")
        ):
            return snake(each.id.removesuffix("Config"))
    return None


def _entries(value: ast.expr | None) -> Iterator[tuple[str, ast.expr]]:
    match value:
        case ast.Call(keywords=keywords):
            for each in keywords:
                if each.arg is not None:
                    yield each.arg, each.value
            for one in value.args:
                yield from _entries(one)
        case ast.Dict(keys=keys, values=items):
            for key, item in zip(keys, items, strict=True):
                if isinstance(key, ast.Constant):
                    yield str(key.value), item
        case _:
            return


def _tables(values: Values) -> Iterator[tuple[str, str, str]]:
    module = values.program.module(f"{MODELS}.registry")
    for bindings in module.scope.every.values() if module is not None else ():
        for each in bindings:
            value = each.bound.value if isinstance(each.bound, Value) else None
            if not isinstance(value, ast.Dict):
                continue
            for key, item in _entries(value):
                match item:
                    case ast.Tuple(
                        elts=[
                            ast.Constant(value=str(where)),
                            ast.Constant(value=str(cls)),
                            *_,
                        ]
                    ):
                        yield key, where, cls
                    case _:
                        pass


def _class(values: Values, module: str, name: str) -> ClassRef | None:
    found = values.resolver.imported(module, name)
    return next((each for each in found if isinstance(each, ClassRef)), None)


def _by_text(values: Values, name: str) -> ClassRef | None:
    source = values.program.packages["vllm"]
    statement = re.compile(rf"^class\s+{re.escape(name)}\b".encode(), re.MULTILINE)
    for path in python_files(source, MODELS.replace(".", "/")):
        if statement.search(source.read(path) or b""):
            return _class(values, path.removesuffix(".py").replace("/", "."), name)
    return None
