"""What the patched models of vLLM do, run among stand-ins.

A hidden state is a number here: layer i adds 10 to the power of i, so that the digits
of a state tell which layers it has gone through; 5 is the embedding.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest

from tests.releases import target_of
from tests.serving import BY_NAME, on_releases, patched, pristine
from tests.stand_ins import execute

pytestmark = pytest.mark.real

EMBEDDING = 5


# --- the decoder -----------------------------------------------------------------


def layer(index: int) -> Callable[..., tuple[int, int]]:
    def forward(
        _positions: object, hidden: int, residual: int | None, *_scaling: object
    ) -> tuple[int, int]:
        return int(10**index), hidden if residual is None else hidden + residual

    return forward


class Module:
    """`nn.Module`, as far as a class body needs it."""


def decoder(content: bytes, *, layers: int, start: int, end: int, last: bool) -> Any:  # noqa: ANN401
    """A `DeepseekV2Model` without its `__init__`, as subclasses of it are."""
    names = {
        "torch": SimpleNamespace(Tensor=int),
        "nn": SimpleNamespace(Module=Module),
        "islice": islice,
        "IntermediateTensors": dict,
        "get_pp_group": lambda: SimpleNamespace(
            is_first_rank=start == 0, is_last_rank=last
        ),
    }
    kind = execute(content, "DeepseekV2Model", **names)
    model = kind.__new__(kind)
    model.config = SimpleNamespace()
    model.layers = [layer(index) for index in range(1, layers + 1)]
    model.start_layer, model.end_layer = start, end
    model.norm = lambda hidden, residual: (hidden + residual, None)
    model.embed_tokens = lambda _ids: EMBEDDING
    return model


def whole(content: bytes, layers: int) -> Any:  # noqa: ANN401
    return decoder(content, layers=layers, start=0, end=layers, last=True)


def entering(index: int) -> int:
    """What enters layer `index`: the embedding and all layers before it."""
    return int(EMBEDDING + sum(10**each for each in range(1, index + 1)))


@on_releases("eagle3_deepseek_v2")
@pytest.mark.parametrize(
    "layers", [(0,), (3,), (8,), (0, 8), (2, 4, 5), (0, 1, 2, 3, 4, 5, 6, 7, 8)]
)
def test_a_layer_id_stands_for_what_enters_the_layer(
    release: str, layers: tuple[int, ...]
) -> None:
    model = whole(patched("eagle3_deepseek_v2", release), 8)
    model.set_aux_hidden_state_layers(layers)
    final, states = model.forward(None, None, None)
    assert final == entering(8)
    assert states == [entering(index) for index in layers]


@on_releases("eagle3_deepseek_v2")
def test_states_come_in_the_order_of_layers(release: str) -> None:
    model = whole(patched("eagle3_deepseek_v2", release), 8)
    model.set_aux_hidden_state_layers([5, 2])
    assert model.aux_hidden_state_layers == (5, 2)
    _, states = model.forward(None, None, None)
    assert states == [entering(2), entering(5)]


@on_releases("eagle3_deepseek_v2")
def test_without_layers_the_result_is_what_it_was(release: str) -> None:
    assert whole(patched("eagle3_deepseek_v2", release), 8).forward(
        None, None, None
    ) == (entering(8))
    before = whole(pristine("eagle3_deepseek_v2", release), 8)
    assert before.forward(None, None, None) == entering(8)


@on_releases("eagle3_deepseek_v2")
def test_given_embeddings_are_what_enters_the_first_layer(release: str) -> None:
    model = whole(patched("eagle3_deepseek_v2", release), 2)
    model.set_aux_hidden_state_layers((0,))
    assert model.forward(None, None, None, inputs_embeds=7) == (117, [7])


@on_releases("eagle3_deepseek_v2")
def test_the_last_stage_counts_from_the_first_layer_of_the_model(release: str) -> None:
    content = patched("eagle3_deepseek_v2", release)
    model = decoder(content, layers=8, start=4, end=8, last=True)
    model.set_aux_hidden_state_layers((4, 6, 8))
    received = {"hidden_states": 10**4, "residual": entering(3)}
    final, states = model.forward(None, None, received)
    assert final == entering(8)
    assert states == [entering(4), entering(6), entering(8)]


@on_releases("eagle3_deepseek_v2")
def test_another_stage_hands_on_what_it_did(release: str) -> None:
    content = patched("eagle3_deepseek_v2", release)
    model = decoder(content, layers=8, start=0, end=4, last=False)
    sent = model.forward(None, None, None)
    assert sent == {"hidden_states": 10**4, "residual": entering(3)}


@on_releases("eagle3_deepseek_v2")
@pytest.mark.parametrize("layers", [(2, 5, 8), (4, 9), (-1,)])
def test_a_layer_of_another_stage_is_refused(
    release: str, layers: tuple[int, ...]
) -> None:
    content = patched("eagle3_deepseek_v2", release)
    model = decoder(content, layers=8, start=4, end=8, last=True)
    with pytest.raises(ValueError, match=r"that enter layers 4 to 8 only"):
        model.set_aux_hidden_state_layers(layers)
    assert model.aux_hidden_state_layers == ()


# --- who passes it on ------------------------------------------------------------


def causal_model(release: str, inner: object) -> Any:  # noqa: ANN401
    bases = ("SupportsPP", "SupportsLoRA", "SupportsEagle", "SupportsEagle3")
    mixtures = ("MixtureOfExperts", "DeepseekV2MixtureOfExperts")
    model = execute(
        patched("eagle3_deepseek_v2", release),
        "DeepseekV2ForCausalLM",
        nn=SimpleNamespace(Module=Module),
        DeepseekV2Model=object,
        **{name: type(name, (), {}) for name in (*bases, *mixtures)},
    )
    made = model.__new__(model)
    made.model = inner
    return made


def wrapper(release: str, inner: object) -> Any:  # noqa: ANN401
    bases = ("SupportsMultiModal", "SupportsPP", "SupportsQuant", "SupportsEagle3")
    model = execute(
        patched("eagle3_kimi_k25", release),
        "KimiK25ForConditionalGeneration",
        nn=SimpleNamespace(Module=Module),
        WeightsMapper=dict,
        **{name: type(name, (), {}) for name in bases},
    )
    made = model.__new__(model)
    made.language_model = inner
    return made


@on_releases("eagle3_deepseek_v2")
@pytest.mark.parametrize(("layers", "wanted"), [(61, (2, 30, 58)), (8, (2, 4, 5))])
def test_the_default_layers(release: str, layers: int, wanted: tuple[int, ...]) -> None:
    inner = whole(patched("eagle3_deepseek_v2", release), layers)
    model = causal_model(release, inner)
    assert model.get_eagle3_aux_hidden_state_layers() == wanted
    model.set_aux_hidden_state_layers(wanted)
    assert inner.aux_hidden_state_layers == wanted
    _, states = inner.forward(None, None, None)
    assert states == [entering(index) for index in wanted]


@pytest.mark.parametrize("release", ["0.15.0", "0.16.0"])
def test_the_wrapper_passes_on_to_either_language_model(release: str) -> None:
    inner = whole(patched("eagle3_deepseek_v2", release), 8)
    # On 0.15.x the wrapper holds the decoder, from 0.16.0 on a whole model.
    held = inner if release.startswith("0.15.") else causal_model(release, inner)
    model = wrapper(release, held)
    assert model.get_eagle3_aux_hidden_state_layers() == (2, 4, 5)
    model.set_aux_hidden_state_layers((1, 8))
    _, states = inner.forward(None, None, None)
    assert states == [entering(1), entering(8)]


# --- the last layer, where upstream collects the others --------------------------


@on_releases("final_layer_state")
def test_what_leaves_the_last_layer(release: str) -> None:
    def states(content: bytes) -> list[int]:
        model = whole(content, 8)
        model.config.llama_4_scaling = None
        model.aux_hidden_state_layers = (2, 8)
        found: list[int] = model.forward(0, None, None)[1]
        return found

    assert states(pristine("final_layer_state", release)) == [entering(2)]
    assert states(patched("final_layer_state", release)) == [entering(2), entering(8)]


# --- the symptoms are the messages of the published code -------------------------


@pytest.mark.parametrize("name", ["eagle3_deepseek_v2", "eagle3_kimi_k25"])
def test_the_runner_says_what_the_symptom_looks_for(name: str) -> None:
    runner = target_of("vllm", "0.16.0", "vllm/v1/worker/gpu_model_runner.py")
    texts = [
        node.value
        for node in ast.walk(ast.parse(runner))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    for symptom in BY_NAME[name].patch.symptoms:
        assert any(re.search(symptom, text) for text in texts)
