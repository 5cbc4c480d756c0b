"""A checkpoint's own image processor: images become patches of a bounded grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers.image_processing_utils import BaseImageProcessor

PATCH = 14
MERGE = 2
MOST = 8  # patches a side, at most: the tiny model has no more to say


class KimiK25VisionProcessor(BaseImageProcessor):  # type: ignore[misc]
    model_input_names = ["pixel_values", "grid_thws"]  # noqa: RUF012
    num_frames_per_chunk = 4

    def media_tokens_calculator(self, media: dict[str, Any]) -> int:
        rows, columns = self._grid(self._frames(media)[0])
        return (rows // MERGE) * (columns // MERGE)

    def split_video_chunks(self, video: Any) -> list[Any]:  # noqa: ANN401
        step = self.num_frames_per_chunk
        return [video[at : at + step] for at in range(0, len(video), step)]

    def preprocess(self, medias: list[dict[str, Any]], **_: Any) -> dict[str, Any]:  # noqa: ANN401
        patches, grids = [], []
        for media in medias:
            frames = self._frames(media)
            rows, columns = self._grid(frames[0])
            patches += [self._patches(frame, rows, columns) for frame in frames]
            grids.append([len(frames), rows, columns])
        return {
            "pixel_values": torch.cat(patches),
            "grid_thws": torch.tensor(grids, dtype=torch.int64),
        }

    @staticmethod
    def _frames(media: dict[str, Any]) -> list[Any]:
        if media["type"] == "image":
            return [media["image"]]
        return list(media["video_chunk"])

    @staticmethod
    def _grid(image: Any) -> tuple[int, int]:  # noqa: ANN401
        width, height = image.size

        def side(pixels: int) -> int:
            return min(MOST, max(MERGE, pixels // (PATCH * MERGE) * MERGE))

        return side(height), side(width)

    @staticmethod
    def _patches(image: Any, rows: int, columns: int) -> torch.Tensor:  # noqa: ANN401
        small = image.convert("RGB").resize((columns * PATCH, rows * PATCH))
        pixels = torch.from_numpy(np.asarray(small).copy()).float() / 127.5 - 1.0
        grid = pixels.reshape(rows, PATCH, columns, PATCH, 3)
        return grid.permute(0, 2, 4, 1, 3).reshape(-1, 3, PATCH, PATCH)
