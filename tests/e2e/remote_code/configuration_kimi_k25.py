"""A checkpoint's own configuration class, as Kimi-K2.5 brings one along."""

from __future__ import annotations

from typing import Any

from transformers import DeepseekV3Config, PretrainedConfig


class KimiK25Config(PretrainedConfig):  # type: ignore[misc]
    model_type = "kimi_k25"

    def __init__(
        self,
        text_config: dict[str, Any] | None = None,
        vision_config: dict[str, Any] | None = None,
        media_placeholder_token_id: int = 0,
        **kwargs: Any,  # noqa: ANN401 - the signature of transformers
    ) -> None:
        self.text_config = DeepseekV3Config(**(text_config or {}))
        self.vision_config = PretrainedConfig(**(vision_config or {}))
        self.media_placeholder_token_id = media_placeholder_token_id
        super().__init__(**kwargs)
