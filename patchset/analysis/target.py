"""The target model that a user names: a config.json, or an architecture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TEXT_CONFIGS = ("text_config", "llm_config", "language_config")


class BadConfigError(ValueError):
    """A config.json that does not say what model it is for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetModel:
    """What is known of the model before any code is asked."""

    architectures: tuple[str, ...]
    """As the config names them; the engine takes the first that it knows."""
    config: Mapping[str, Any] | None = field(default=None)
    """The parsed config.json; None where only an architecture is known."""

    @property
    def model_type(self) -> str | None:
        """The outer model type."""
        return None if self.config is None else self.config.get("model_type")

    @property
    def text_config(self) -> Mapping[str, Any] | None:
        """The config of the language model inside, or the whole one."""
        if self.config is None:
            return None
        thinker = self.config.get("thinker_config")
        for outer in (self.config, thinker if isinstance(thinker, dict) else {}):
            for name in TEXT_CONFIGS:
                inner = outer.get(name)
                if isinstance(inner, dict):
                    return inner
        return self.config

    @property
    def is_nested(self) -> bool:
        """Whether the language model has a config of its own."""
        return self.config is not None and self.text_config is not self.config

    def has(self, names: tuple[str, ...]) -> bool:
        """Whether the config.json itself holds a field, by its path."""
        inner: Any = self.config
        for name in names:
            if not isinstance(inner, dict) or name not in inner:
                return False
            inner = inner[name]
        return True


def by_architecture(name: str) -> TargetModel:
    """Return a target of which only the architecture is known."""
    return TargetModel(architectures=(name,))


def by_config(text: str) -> TargetModel:
    """Return the target that a config.json describes.

    Raises BadConfigError where it is no JSON object or names no architecture.
    """
    try:
        config = json.loads(text)
    except ValueError as error:
        raise BadConfigError(f"found no JSON ({error})") from error
    if not isinstance(config, dict):
        raise BadConfigError(f"found {type(config).__name__}, wanted a JSON object")
    names = config.get("architectures")
    if not isinstance(names, list) or not names:
        raise BadConfigError('found no "architectures", wanted a list of class names')
    return TargetModel(architectures=tuple(str(each) for each in names), config=config)
