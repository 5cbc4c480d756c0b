"""Tiny checkpoints with seeded random weights, of the real architectures and names.

They imitate the published ones where it matters: eight layers, so that the default
auxiliary layers (2, n // 2, n - 3) are three different ones; `kimi_k2` as the type of
the wrapper's text model; a media placeholder and no image token index; configuration,
tokenizer and image processor as remote code.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

LAYERS = 8
HIDDEN = 128
HEADS = 4
VOCAB = 320
DRAFT_VOCAB = 288
MEDIA_PAD = 262
LENGTH = 16384

# The tensors of one run; names as in the published checkpoint.
Weights = dict[str, torch.Tensor]

TEXT: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": HIDDEN,
    "intermediate_size": 256,
    "moe_intermediate_size": 64,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "q_lora_rank": 64,
    "kv_lora_rank": 64,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 32,
    "v_head_dim": 32,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "n_group": 1,
    "topk_group": 1,
    "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
    "norm_topk_prob": True,
    "routed_scaling_factor": 2.827,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "num_nextn_predict_layers": 0,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 50000.0,
    "rope_scaling": {
        "type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": LENGTH // 4,
        "beta_fast": 1.0,
        "beta_slow": 1.0,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
    "max_position_embeddings": LENGTH,
    "attention_bias": False,
    "tie_word_embeddings": False,
    "bos_token_id": 256,
    "eos_token_id": 257,
    "torch_dtype": "float32",
}
VISION: dict[str, Any] = {
    "patch_size": 14,
    "init_pos_emb_height": 8,
    "init_pos_emb_width": 8,
    "init_pos_emb_time": 4,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "intermediate_size": 128,
    "merge_kernel_size": [2, 2],
    "mm_hidden_size": HIDDEN,
}


def write_targets(root: Path, remote_code: Path) -> None:
    """Write `kimi` (the wrapper) and `deepseek` (text only), with one text model.

    `dense` is text only without experts: those have no kernel that compiles ahead.
    """
    weights = text_weights(torch.Generator().manual_seed(0), TEXT)
    wrapper = {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "model_type": "kimi_k25",
        "auto_map": {"AutoConfig": "configuration_kimi_k25.KimiK25Config"},
        "text_config": {**TEXT, "model_type": "kimi_k2"},
        "vision_config": VISION,
        "media_placeholder_token_id": MEDIA_PAD,
        "use_unified_vision_chunk": True,
        "tie_word_embeddings": False,
        "pad_token_id": 263,
        "torch_dtype": "float32",
    }
    seen = vision_weights(torch.Generator().manual_seed(1))
    spoken = {f"language_model.{name}": tensor for name, tensor in weights.items()}
    write(root / "kimi", wrapper, {**spoken, **seen})
    text = {
        **TEXT,
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
    }
    write(root / "deepseek", text, weights)
    dense = {**text, "first_k_dense_replace": LAYERS}
    write(root / "dense", dense, text_weights(torch.Generator().manual_seed(0), dense))
    for name in ("kimi", "deepseek", "dense"):
        _write_processors(root / name, remote_code)


def write_draft(folder: Path, weights: Weights, layers: list[int] | None) -> None:
    """Write a Llama-style EAGLE-3 draft, with its own auxiliary layers if given."""
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": 256,
        "num_hidden_layers": 1,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": 64,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "max_position_embeddings": LENGTH,
        "vocab_size": VOCAB,
        "draft_vocab_size": DRAFT_VOCAB,
        "tie_word_embeddings": False,
        "bos_token_id": 256,
        "eos_token_id": 257,
        "torch_dtype": "float32",
    }
    if layers is not None:
        config["eagle_aux_hidden_state_layer_ids"] = layers
    write(folder, config, weights)


def draft_weights(generator: torch.Generator) -> Weights:
    """Return a draft's random weights; its vocabulary is the first of the target's."""

    def linear(out: int, into: int) -> torch.Tensor:
        return torch.randn(out, into, generator=generator) * into**-0.5

    inner = HEADS * 64
    known = torch.zeros(VOCAB, dtype=torch.bool)
    known[:DRAFT_VOCAB] = True
    return {
        "fc.weight": linear(HIDDEN, 3 * HIDDEN),
        "midlayer.input_layernorm.weight": torch.ones(HIDDEN),
        "midlayer.hidden_norm.weight": torch.ones(HIDDEN),
        "midlayer.post_attention_layernorm.weight": torch.ones(HIDDEN),
        "midlayer.self_attn.q_proj.weight": linear(inner, 2 * HIDDEN),
        "midlayer.self_attn.k_proj.weight": linear(inner, 2 * HIDDEN),
        "midlayer.self_attn.v_proj.weight": linear(inner, 2 * HIDDEN),
        "midlayer.self_attn.o_proj.weight": linear(HIDDEN, inner),
        "midlayer.mlp.gate_proj.weight": linear(256, HIDDEN),
        "midlayer.mlp.up_proj.weight": linear(256, HIDDEN),
        "midlayer.mlp.down_proj.weight": linear(HIDDEN, 256),
        "norm.weight": torch.ones(HIDDEN),
        "lm_head.weight": linear(DRAFT_VOCAB, HIDDEN),
        "d2t": torch.zeros(DRAFT_VOCAB, dtype=torch.int64),
        "t2d": known,
    }


def text_weights(generator: torch.Generator, config: dict[str, Any]) -> Weights:
    """Return a text model's weights: dense layers first, then mixtures of experts."""

    def linear(out: int, into: int) -> torch.Tensor:
        return torch.randn(out, into, generator=generator) * into**-0.5

    def norm(size: int) -> torch.Tensor:
        return 1.0 + 0.1 * torch.randn(size, generator=generator)

    def mlp(prefix: str, size: int) -> Iterator[tuple[str, torch.Tensor]]:
        yield f"{prefix}.gate_proj.weight", linear(size, HIDDEN)
        yield f"{prefix}.up_proj.weight", linear(size, HIDDEN)
        yield f"{prefix}.down_proj.weight", linear(HIDDEN, size)

    weights = {
        "model.embed_tokens.weight": torch.randn(VOCAB, HIDDEN, generator=generator),
        "model.norm.weight": norm(HIDDEN),
        "lm_head.weight": linear(VOCAB, HIDDEN),
    }
    query, rope = config["qk_nope_head_dim"], config["qk_rope_head_dim"]
    low, value = config["kv_lora_rank"], config["v_head_dim"]
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}"
        attention = f"{prefix}.self_attn"
        weights |= {
            f"{prefix}.input_layernorm.weight": norm(HIDDEN),
            f"{prefix}.post_attention_layernorm.weight": norm(HIDDEN),
            f"{attention}.q_a_proj.weight": linear(64, HIDDEN),
            f"{attention}.q_a_layernorm.weight": norm(64),
            f"{attention}.q_b_proj.weight": linear(HEADS * (query + rope), 64),
            f"{attention}.kv_a_proj_with_mqa.weight": linear(low + rope, HIDDEN),
            f"{attention}.kv_a_layernorm.weight": norm(low),
            f"{attention}.kv_b_proj.weight": linear(HEADS * (query + value), low),
            f"{attention}.o_proj.weight": linear(HIDDEN, HEADS * value),
        }
        if layer < config["first_k_dense_replace"]:
            weights |= mlp(f"{prefix}.mlp", config["intermediate_size"])
            continue
        size, experts = config["moe_intermediate_size"], config["n_routed_experts"]
        weights[f"{prefix}.mlp.gate.weight"] = linear(experts, HIDDEN)
        weights[f"{prefix}.mlp.gate.e_score_correction_bias"] = 0.1 * torch.randn(
            experts, generator=generator
        )
        weights |= mlp(f"{prefix}.mlp.shared_experts", size)
        for expert in range(experts):
            weights |= mlp(f"{prefix}.mlp.experts.{expert}", size)
    return weights


def vision_weights(generator: torch.Generator) -> Weights:
    """Return the vision tower's and the projector's weights."""

    def linear(name: str, out: int, into: int) -> Weights:
        weight = torch.randn(out, into, generator=generator) * into**-0.5
        return {f"{name}.weight": weight, f"{name}.bias": torch.zeros(out)}

    def norm(name: str, size: int) -> Weights:
        return {f"{name}.weight": torch.ones(size), f"{name}.bias": torch.zeros(size)}

    size, patch = VISION["hidden_size"], VISION["patch_size"]
    side = VISION["init_pos_emb_height"]
    tower = "vision_tower"
    pixels = linear(f"{tower}.patch_embed.proj", size, 3 * patch * patch)
    pixels[f"{tower}.patch_embed.proj.weight"] = pixels[
        f"{tower}.patch_embed.proj.weight"
    ].reshape(size, 3, patch, patch)
    weights = {
        **pixels,
        f"{tower}.patch_embed.pos_emb.weight": torch.randn(
            side, side, size, generator=generator
        ),
        **norm(f"{tower}.encoder.final_layernorm", size),
        **norm("mm_projector.pre_norm", size),
        **linear("mm_projector.proj.0", 4 * size, 4 * size),
        **linear("mm_projector.proj.2", HIDDEN, 4 * size),
    }
    for index in range(VISION["num_hidden_layers"]):
        block = f"{tower}.encoder.blocks.{index}"
        weights |= {
            **norm(f"{block}.norm0", size),
            **norm(f"{block}.norm1", size),
            **linear(f"{block}.mlp.fc0", VISION["intermediate_size"], size),
            **linear(f"{block}.mlp.fc1", size, VISION["intermediate_size"]),
            **linear(f"{block}.wqkv", 3 * size, size),
            **linear(f"{block}.wo", size, size),
        }
    return weights


def write(folder: Path, config: dict[str, Any], weights: Weights) -> None:
    """Write a checkpoint: its configuration and its one file of weights."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, indent=2)
    (folder / "config.json").write_text(text, encoding="utf-8")
    whole = {name: tensor.contiguous() for name, tensor in weights.items()}
    save_file(whole, folder / "model.safetensors", metadata={"format": "pt"})


def main() -> None:
    """Write every checkpoint but the trained draft: `-m tests.e2e.models FOLDER`."""
    root = Path(sys.argv[1])
    write_targets(root, Path(__file__).resolve().parent / "remote_code")
    weights = draft_weights(torch.Generator().manual_seed(3))
    write_draft(root / "draft-random", weights, None)
    # The first and the last state that there are, and one between.
    write_draft(root / "draft-layers", weights, [0, 3, LAYERS])


def _write_processors(folder: Path, remote_code: Path) -> None:
    for source in sorted(remote_code.glob("*.py")):
        shutil.copyfile(source, folder / source.name)
    tokenizer = {
        "tokenizer_class": "KimiTokenizer",
        "auto_map": {"AutoTokenizer": ["tokenization_kimi.KimiTokenizer", None]},
        "model_max_length": LENGTH,
    }
    processor = {
        "image_processor_type": "KimiK25VisionProcessor",
        "auto_map": {
            "AutoImageProcessor": "kimi_k25_vision_processing.KimiK25VisionProcessor"
        },
    }
    for name, content in (
        ("tokenizer_config.json", tokenizer),
        ("preprocessor_config.json", processor),
        ("generation_config.json", {"eos_token_id": 257, "max_length": LENGTH}),
    ):
        (folder / name).write_text(json.dumps(content, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
