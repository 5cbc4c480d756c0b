"""A checkpoint's own tokenizer class: one token per byte, and the special tokens."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedTokenizer

BYTES = 256
SPECIAL = (
    "[BOS]",
    "[EOS]",
    "<|im_end|>",
    "<|media_begin|>",
    "<|media_content|>",
    "<|media_end|>",
    "<|media_pad|>",
    "[PAD]",
    "[UNK]",
)


class KimiTokenizer(PreTrainedTokenizer):  # type: ignore[misc]
    vocab_files_names: dict[str, str] = {}  # noqa: RUF012 - transformers' own type
    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012

    def __init__(self, **kwargs: Any) -> None:  # noqa: ANN401
        names = [chr(byte) for byte in range(BYTES)] + list(SPECIAL)
        self._ids = {name: index for index, name in enumerate(names)}
        self._names = names
        usual = ("bos", "eos", "pad", "unk")
        kwargs |= {f"{name}_token": f"[{name.upper()}]" for name in usual}
        kwargs["additional_special_tokens"] = list(SPECIAL[2:-2])
        super().__init__(**kwargs)

    @property
    def vocab_size(self) -> int:
        return len(self._names)

    def get_vocab(self) -> dict[str, int]:
        return dict(self._ids)

    def _tokenize(self, text: str, **_: Any) -> list[str]:  # noqa: ANN401
        return [chr(byte) for byte in text.encode()]

    def _convert_token_to_id(self, token: str) -> int:
        return self._ids.get(token, self._ids["[UNK]"])

    def _convert_id_to_token(self, index: int) -> str:
        # The model's vocabulary is padded beyond the tokenizer's, as is usual.
        return self._names[index] if index < len(self._names) else "[UNK]"

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        data = bytes(ord(token) for token in tokens if len(token) == 1)
        return data.decode(errors="replace")

    def save_vocabulary(
        self, save_directory: str, filename_prefix: str | None = None
    ) -> tuple[str, ...]:
        del save_directory, filename_prefix
        return ()
