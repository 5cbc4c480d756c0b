"""The proof that `make e2e` runs leaves no founding patch out."""

from __future__ import annotations

from patchset.catalogue import read_catalogues
from patchset.model import PatchState, Selection
from patchset.select import choose
from tests.e2e.obstacles import EXTRACTION, SERVING, TRAINING
from tests.e2e.serve_proof import CACHE_KEY

FOUNDING = {"vllm": "0.16.0", "speculators": "0.3.0", "transformers": "4.57.6"}


def test_every_founding_patch_is_proven_by_running() -> None:
    patches = [patch for each in read_catalogues(()) for patch in each.patches]
    wanted = {
        choice.patch.id
        for choice in choose(patches, FOUNDING, Selection())
        if choice.state in {PatchState.PENDING, PatchState.UNSELECTED}
    }
    shown = {obstacle.patch for obstacle in (*SERVING, *EXTRACTION, *TRAINING)}
    assert shown | {CACHE_KEY} == wanted
