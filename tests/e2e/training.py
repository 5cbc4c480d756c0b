"""The making of a draft: `python -m tests.e2e.training JOB.json RESULT.json`.

speculators makes an EAGLE-3 draft model for training from the target's checkpoint: its
sizes, its embeddings and its head. The training loop itself needs a GPU's attention.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from speculators import SpeculatorsConfig, VerifierConfig
from speculators.models.eagle3 import Eagle3DraftModel, Eagle3SpeculatorConfig
from speculators.proposals.greedy import GreedyTokenProposalConfig
from transformers import LlamaConfig

from tests.e2e.models import DRAFT_VOCAB, HEADS, HIDDEN, VOCAB
from tests.e2e.serving import describe


def make(target: str) -> dict[str, Any]:
    """Make a draft model for the target; tell if it took the checkpoint's tensors."""
    verifier = VerifierConfig(name_or_path=target, architectures=["Any"])
    config = Eagle3SpeculatorConfig(
        transformer_layer_config=LlamaConfig(
            hidden_size=HIDDEN,
            num_hidden_layers=1,
            num_attention_heads=HEADS,
            vocab_size=VOCAB,
        ),
        draft_vocab_size=DRAFT_VOCAB,
        speculators_config=SpeculatorsConfig(
            algorithm="eagle3",
            proposal_methods=[GreedyTokenProposalConfig(speculative_tokens=3)],
            default_proposal_method="greedy",
            verifier=verifier,
        ),
    )
    known = torch.arange(VOCAB) < DRAFT_VOCAB
    draft = Eagle3DraftModel(config, known, torch.zeros(DRAFT_VOCAB, dtype=torch.long))
    embeddings, head = (_stored(target, name) for name in ("embed_tokens", "lm_head"))
    return {
        "embeddings": torch.equal(draft.embed_tokens.weight, embeddings),
        "head": torch.equal(draft.lm_head.weight, head[known]),
    }


def _stored(target: str, part: str) -> torch.Tensor:
    with safe_open(Path(target) / "model.safetensors", framework="pt") as weights:
        (name,) = [name for name in weights.keys() if part in name]  # noqa: SIM118
        return weights.get_tensor(name)


def main() -> None:
    """Run a job and write its result, an error included."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        result = {"ok": True, **make(job["target"])}
    except Exception as error:  # noqa: BLE001 - any error is the result
        result = {"ok": False, **describe(error)}
        traceback.print_exc()
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
