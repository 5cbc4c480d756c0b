"""Hidden states as forward hooks see them, independent of vLLM's and speculators' own.

What goes into decoder layer i is state i; what comes out of the last one is state n.
That is vLLM's own convention for auxiliary layers.
"""

from __future__ import annotations

from typing import Any

import torch


class Capture:
    """Records, for every forward pass, the state before each layer and after the last.

    `passes` holds one tensor of shape (states, tokens, width) for each pass.
    """

    def __init__(self, model: Any) -> None:  # noqa: ANN401
        self.passes: list[torch.Tensor] = []
        self._states: list[torch.Tensor] = []
        layers = decoder(model).layers
        for layer in layers:
            layer.register_forward_pre_hook(self._before, with_kwargs=True)
        layers[-1].register_forward_hook(self._after)

    def _before(self, _: Any, args: Any, kwargs: Any) -> None:  # noqa: ANN401
        named = dict(
            zip(("positions", "hidden_states", "residual"), args, strict=False)
        )
        named |= kwargs
        self._states.append(_sum(named["hidden_states"], named["residual"]))

    def _after(self, _: Any, __: Any, output: Any) -> None:  # noqa: ANN401
        self._states.append(_sum(*output))
        self.passes.append(torch.stack(self._states))
        self._states = []


def decoder(model: Any) -> Any:  # noqa: ANN401
    """Return the module that owns the decoder layers, through any wrapper."""
    inner = getattr(model, "language_model", model)
    return inner.model


def _sum(hidden: torch.Tensor, residual: torch.Tensor | None) -> torch.Tensor:
    return hidden.clone() if residual is None else hidden + residual
