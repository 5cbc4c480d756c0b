"""What the patched configuration and loader of vLLM do, run among stand-ins."""

from __future__ import annotations

import ast
from types import SimpleNamespace

import pytest

from tests.releases import releases_of
from tests.serving import BY_NAME, on_releases, patched, pristine
from tests.stand_ins import definition, execute, run

pytestmark = pytest.mark.real

# --- the whitelist ---------------------------------------------------------------


def verify(content: bytes, model_type: str, method: str = "eagle3") -> None:
    config = SimpleNamespace(
        method=method,
        tensor_parallel_size=None,
        num_speculative_tokens=1,
        draft_model_config=None,
        disable_by_batch_size=None,
        target_model_config=SimpleNamespace(
            hf_text_config=SimpleNamespace(model_type=model_type)
        ),
        verify_equal_vocab_size_if_draft_model=lambda: None,
    )
    execute(content, "SpeculativeConfig._verify_args")(config)


@pytest.mark.parametrize(
    ("name", "release"),
    [
        (name, release)
        for name in BY_NAME
        if name.startswith("eagle3_target_whitelist")
        for release in releases_of(BY_NAME[name].patch)
    ],
)
def test_the_whitelist_lets_in_two_more_and_no_others(name: str, release: str) -> None:
    patch = BY_NAME[name].patch
    before, after = pristine(name, release), patched(name, release)
    verify(before, "llama")
    for model_type in ("kimi_k2", "deepseek_v3"):
        with pytest.raises(ValueError, match=patch.symptoms[0]):
            verify(before, model_type)
        verify(after, model_type)
    verify(after, "llama")
    for model_type in ("mixtral", "deepseek_v2", "kimi_linear"):
        with pytest.raises(ValueError, match="only supported for"):
            verify(after, model_type)


# --- the drafter's loader --------------------------------------------------------

LOADER = "SpecDecodeBaseProposer.load_model"


def statement(content: bytes, path: str, holding: str) -> ast.stmt:
    """The outermost `if` statement of a function whose text holds something."""
    return next(
        node
        for node in ast.walk(definition(content, path))
        if isinstance(node, ast.If) and holding in ast.unparse(node)
    )


class KimiK25Config:
    media_placeholder_token_id = 163605


def image_token(content: bytes, name: str, config: object) -> int:
    """The image token that the loader writes into the draft's config."""
    draft = SimpleNamespace(model=SimpleNamespace(config=SimpleNamespace()))
    draft.get_model_name = lambda _target: name
    target = SimpleNamespace(config=config, get_language_model=lambda: None)
    run(
        statement(content, LOADER, "image_token_index"),
        self=draft,
        target_model=target,
        supports_multimodal=lambda _target: True,
        cast=lambda _kind, value: value,
        SupportsMultiModal=object,
    )
    token: int = draft.model.config.image_token_index
    return token


@on_releases("eagle3_image_token")
def test_the_image_token_of_kimi_and_of_others(release: str) -> None:
    patch = BY_NAME["eagle3_image_token"].patch
    before = pristine("eagle3_image_token", release)
    after = patched("eagle3_image_token", release)
    kimi = "KimiK25ForConditionalGeneration"
    with pytest.raises(AttributeError, match=patch.symptoms[0]):
        image_token(before, kimi, KimiK25Config())
    assert image_token(after, kimi, KimiK25Config()) == 163605
    pixtral = SimpleNamespace(vision_config=SimpleNamespace(image_token_id=10))
    others = {
        "PixtralForConditionalGeneration": pixtral,
        "Qwen3VLForConditionalGeneration": SimpleNamespace(image_token_id=11),
        "LlavaForConditionalGeneration": SimpleNamespace(image_token_index=12),
    }
    for name, config in others.items():
        assert image_token(after, name, config) == image_token(before, name, config)


class DeepseekV2Model:
    def __init__(self) -> None:
        self.embed_tokens = SimpleNamespace(weight=0)


@on_releases("eagle3_bare_decoder")
def test_what_the_draft_shares_with_its_target(release: str) -> None:
    patch = BY_NAME["eagle3_bare_decoder"].patch
    before = pristine("eagle3_bare_decoder", release)
    after = patched("eagle3_bare_decoder", release)
    with pytest.raises(AttributeError, match=patch.symptoms[0]):
        shared(before, DeepseekV2Model(), head="of the wrapper")
    decoder = DeepseekV2Model()
    assert shared(after, decoder, head="of the wrapper") == (
        decoder.embed_tokens,
        "of the wrapper",
    )
    whole_model = SimpleNamespace(model=decoder, lm_head="its own")
    for content in (before, after):
        assert shared(content, whole_model, head=None) == (
            decoder.embed_tokens,
            "its own",
        )


def shared(
    content: bytes, language_model: object, head: object
) -> tuple[object, object]:
    """The embedding and the head that the loader gives a draft without its own."""
    function = definition(content, LOADER)
    first = next(
        index
        for index, node in enumerate(function.body)
        if "target_language_model" in ast.unparse(node)
    )
    inner = SimpleNamespace()
    draft = SimpleNamespace(
        model=SimpleNamespace(
            model=inner,
            config=SimpleNamespace(),
            has_own_embed_tokens=False,
            has_own_lm_head=False,
        ),
        get_model_name=lambda _target: "",
    )
    target = SimpleNamespace(
        config=SimpleNamespace(image_token_index=0),
        get_language_model=lambda: language_model,
    )
    if head is not None:
        target.lm_head = head
    names: dict[str, object] = {
        "self": draft,
        "target_model": target,
        "supports_multimodal": lambda _target: True,
        "get_pp_group": lambda: SimpleNamespace(world_size=1),
        "logger": SimpleNamespace(info=lambda _text: None),
        "torch": SimpleNamespace(Tensor=object),
    }
    for node in function.body[first:]:
        names = run(node, **names)
    return inner.embed_tokens, draft.model.lm_head


# --- the key of the compile cache ------------------------------------------------


def key(content: bytes, method: str, layers: object = None) -> str:
    draft = SimpleNamespace()
    if layers is not None:
        draft.eagle_aux_hidden_state_layer_ids = layers
    config = SimpleNamespace(
        method=method, draft_model_config=SimpleNamespace(hf_config=draft)
    )

    def digest(data: bytes, **_: object) -> object:
        return SimpleNamespace(hexdigest=data.decode)

    compute = execute(
        content,
        "SpeculativeConfig.compute_hash",
        Any=object,
        safe_hash=digest,
        hashlib=SimpleNamespace(md5=digest),
    )
    found: str = compute(config)
    return found


@on_releases("eagle3_compile_cache_key")
def test_other_layers_have_another_key(release: str) -> None:
    before = pristine("eagle3_compile_cache_key", release)
    after = patched("eagle3_compile_cache_key", release)
    assert key(before, "eagle3", [1, 2, 3]) == key(before, "eagle3", [4, 5, 6])
    keys = [key(after, "eagle3", layers) for layers in ([1, 2, 3], [4, 5, 6], None)]
    assert len(set(keys)) == len(keys)
    assert key(after, "eagle3", [1, 2, 3]) == keys[0]
    for method in ("ngram", "eagle", "mtp"):
        assert key(after, method, [1]) == key(before, method, [2])
