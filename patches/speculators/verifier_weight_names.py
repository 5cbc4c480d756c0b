"""Training finds the verifier's embeddings under a multimodal checkpoint's names.

Training an EAGLE-3 draft takes the embeddings and the head from the verifier's
checkpoint. speculators 0.3.0 looks for `model.embed_tokens.weight` and `lm_head.weight`
by these very names. In the checkpoint of a multimodal model such as Kimi-K2.5 they are
the language model's, and have `language_model.` before them.

A name that is there as it stands is taken as before. Drop this with speculators 0.4.0,
which looks for names by their ends.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/utils/loading.py"
GROUP = "eagle3-training"
NEEDS = {"speculators": ">=0.3.0,<0.4.0"}
FIXED_IN = {"speculators": "0.4.0"}
SYMPTOMS = [r"Tensor 'model\.embed_tokens\.weight' not found in"]
UPSTREAM = "https://github.com/vllm-project/speculators/releases/tag/v0.4.0"
TOUCHES = ["_stored_name", "load_model_layers"]

_LOAD = "load_model_layers"
_SHARD = "weight_map.get(_stored_name(name, weight_map))"
_STORED = "stored_name = _stored_name(name, available)"
_TAKEN = "out[name] = f.get_tensor(stored_name)"
_FUNCTION = '''


def _stored_name(name, names):
    """The name that a checkpoint has a tensor under: a wrapper's has a prefix."""
    if name in names:
        return name
    return min((each for each in names if each.endswith(f".{name}")), default=name)
'''


def rewrite(module: cst.Module) -> cst.Module:
    module = edit.within(
        module,
        _LOAD,
        edit.replace_expression("weight_map.get(name)", _SHARD),
        edit.insert_before("if name not in available:\n    ...", _STORED),
        edit.replace_expression(
            "name not in available", "stored_name not in available"
        ),
        edit.replace("out[name] = f.get_tensor(name)", _TAKEN),
    )
    return edit.within(
        module,
        edit.MODULE,
        edit.insert_after("from safetensors import safe_open", _FUNCTION),
    )


def fixed(module: cst.Module) -> bool:
    return all(
        edit.count(module, _LOAD, part) == 1 for part in (_SHARD, _STORED, _TAKEN)
    ) and edit.defines(module, edit.MODULE, "_stored_name")


BEFORE = """\
from safetensors import safe_open


def load_model_layers(layer_names, model_path):
    for name in layer_names:
        shard = weight_map.get(name)
        shard_to_names.setdefault(shard, []).append(name)
    for name in names:
        if name not in available:
            continue
        out[name] = f.get_tensor(name)
    return out
"""
AFTER = '''\
from safetensors import safe_open


def _stored_name(name, names):
    """The name that a checkpoint has a tensor under: a wrapper's has a prefix."""
    if name in names:
        return name
    return min((each for each in names if each.endswith(f".{name}")), default=name)


def load_model_layers(layer_names, model_path):
    for name in layer_names:
        shard = weight_map.get(_stored_name(name, weight_map))
        shard_to_names.setdefault(shard, []).append(name)
    for name in names:
        stored_name = _stored_name(name, available)
        if stored_name not in available:
            continue
        out[name] = f.get_tensor(stored_name)
    return out
'''
