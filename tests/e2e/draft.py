"""Trains the draft on the tiny target: `-m tests.e2e.draft TRACE OUT TARGET LAYER…`.

The draft is EAGLE-3's: the embedding of the next token beside the target's auxiliary
states, one decoder layer, and its own earlier output in place of those states from
the second drafted token on. A minute on a CPU is enough to learn the few greedy
continuations of the trace by heart, which is all that is asked of it.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from tests.e2e.models import (
    DRAFT_VOCAB,
    HEADS,
    HIDDEN,
    Weights,
    draft_weights,
    write_draft,
)

STEPS = 3  # drafted tokens that training looks ahead
ROUNDS = 1000  # at most; about a hundred are needed
LEARNT = 0.1  # loss at which there is nothing left to learn
LAYER = "midlayer"
IGNORED = -100


def train(trace: Path, embeddings: torch.Tensor, layers: list[int]) -> Weights:
    """Return weights trained on the states and tokens of a trace."""
    weights = draft_weights(torch.Generator().manual_seed(2))
    learnt = [name for name in weights if name.endswith("weight")]
    for name in learnt:
        weights[name].requires_grad_()
    optimizer = torch.optim.AdamW([weights[name] for name in learnt], lr=1e-3)
    batch = _batch(torch.load(trace), layers)
    loss, rounds = math.inf, 0
    while loss > LEARNT and rounds < ROUNDS:
        rounds += 1
        optimizer.zero_grad()
        error = _loss(weights, embeddings, *batch)
        error.backward()
        optimizer.step()
        loss = error.item()
    sys.stdout.write(f"draft: a loss of {loss:.3f} after {rounds} rounds\n")
    return {name: tensor.detach() for name, tensor in weights.items()}


def _batch(pieces: list[dict[str, Any]], layers: list[int]) -> tuple[torch.Tensor, ...]:
    """Return tokens, what is to be learnt of them, and the states beside them.

    Only what the target itself said is to be learnt, not the prompts.
    """
    tokens = pad_sequence([piece["tokens"] for piece in pieces], batch_first=True)
    wanted = torch.full_like(tokens, IGNORED)
    for row, piece in zip(wanted, pieces, strict=True):
        said = slice(piece["prompt"], len(piece["tokens"]))
        row[said] = piece["tokens"][said]
    wanted[wanted >= DRAFT_VOCAB] = IGNORED
    states = [torch.cat(list(piece["states"][layers]), dim=-1) for piece in pieces]
    return tokens, wanted, pad_sequence(states, batch_first=True)


def _loss(
    weights: Weights,
    embeddings: torch.Tensor,
    tokens: torch.Tensor,
    wanted: torch.Tensor,
    states: torch.Tensor,
) -> torch.Tensor:
    """Return the mean loss over the drafted tokens, each step fed by the one before."""
    count = tokens.shape[1] - STEPS - 1
    hidden = (states @ weights["fc.weight"].T)[:, :count]
    kept: list[tuple[torch.Tensor, torch.Tensor]] = []
    losses = []
    for step in range(STEPS):
        embedded = embeddings[tokens[:, step + 1 : step + 1 + count]]
        output, hidden = _forward(weights, embedded, hidden, kept)
        logits = output @ weights["lm_head.weight"].T
        label = wanted[:, step + 2 : step + 2 + count]
        losses.append(
            functional.cross_entropy(
                logits.flatten(0, 1), label.flatten(), ignore_index=IGNORED
            )
        )
    return torch.stack(losses).mean()


def _forward(
    weights: Weights,
    embedded: torch.Tensor,
    hidden: torch.Tensor,
    kept: list[tuple[torch.Tensor, torch.Tensor]],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Run the draft's layer; `kept` holds the keys and values of the steps before."""
    own = f"{LAYER}.self_attn"
    into = torch.cat(
        [
            _norm(embedded, weights[f"{LAYER}.input_layernorm.weight"]),
            _norm(hidden, weights[f"{LAYER}.hidden_norm.weight"]),
        ],
        dim=-1,
    )
    places = torch.arange(into.shape[1]) + len(kept)
    query, key, value = (
        _heads(into @ weights[f"{own}.{name}_proj.weight"].T) for name in "qkv"
    )
    kept.append((_rotate(key, places), value))
    mixed = _attend(_rotate(query, places), kept)
    hidden = hidden + mixed @ weights[f"{own}.o_proj.weight"].T
    normed = _norm(hidden, weights[f"{LAYER}.post_attention_layernorm.weight"])
    gate = functional.silu(normed @ weights[f"{LAYER}.mlp.gate_proj.weight"].T)
    up = normed @ weights[f"{LAYER}.mlp.up_proj.weight"].T
    hidden = hidden + (gate * up) @ weights[f"{LAYER}.mlp.down_proj.weight"].T
    return _norm(hidden, weights["norm.weight"]), hidden


def _attend(
    query: torch.Tensor, kept: list[tuple[torch.Tensor, torch.Tensor]]
) -> torch.Tensor:
    """Attend to the first step's keys up to one's place, and one's own later ones."""
    (first, values), later = kept[0], kept[1:]
    length = query.shape[2]
    scores = query @ first.transpose(-1, -2)
    ahead = torch.ones(length, length, dtype=torch.bool).triu(1)
    parts = [scores.masked_fill(ahead, -math.inf)]
    parts += [(query * key).sum(-1, keepdim=True) for key, _ in later]
    share = (torch.cat(parts, dim=-1) / query.shape[-1] ** 0.5).softmax(dim=-1)
    mixed = share[..., :length] @ values
    for index, (_, value) in enumerate(later):
        mixed = mixed + share[..., length + index, None] * value
    return mixed.transpose(1, 2).flatten(2)


def _heads(states: torch.Tensor) -> torch.Tensor:
    return states.unflatten(-1, (HEADS, -1)).transpose(1, 2)


def _rotate(states: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    half = states.shape[-1] // 2
    rates = 10000.0 ** -(torch.arange(half) / half)
    angles = places[:, None] * rates
    left, right = states[..., :half], states[..., half:]
    turned = left * angles.cos() - right * angles.sin()
    return torch.cat([turned, right * angles.cos() + left * angles.sin()], dim=-1)


def _norm(states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(states, (HIDDEN,), weight, 1e-5)


def main() -> None:
    """Train on the trace named first; write the draft where the second says."""
    from safetensors import safe_open  # noqa: PLC0415

    trace, out, target = map(Path, sys.argv[1:4])
    layers = [int(layer) for layer in sys.argv[4:]]
    with safe_open(target / "model.safetensors", framework="pt") as stored:
        (name,) = [name for name in stored.keys() if "embed_tokens" in name]  # noqa: SIM118
        embeddings = stored.get_tensor(name)
    # The tensors are so small that a second thread only waits for the first.
    torch.set_num_threads(1)
    write_draft(out, train(trace, embeddings, layers), None)


if __name__ == "__main__":
    main()
