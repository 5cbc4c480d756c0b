"""Every mismatch of the published releases of a client with those of vLLM.

The rows were found by reading the published wheels with grep and `ast`, apart from
the code that they test. `python -m tests.analysis.crossproduct` tries every pair.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache

from packaging.version import Version

from patchset.analysis.doctor import diagnose
from patchset.analysis.model import prognose
from patchset.analysis.target import by_config
from patchset.wheel import Wheel
from tests.matrix.releases import published, wheel_of

GENERATOR = "speculators/data_generation/vllm_hidden_states_generator.py"
MOONCAKE = "hs_connectors/mooncake_hidden_states_connector.py"
FP8 = "hs_connectors/fp8_hidden_states_connector.py"
PLANNING = "vllm.v1.core.kv_cache_utils"
KV_BASE = "vllm.distributed.kv_transfer.kv_connector.v1"
EXAMPLE = f"{KV_BASE}.example_hidden_states_connector"
MODELS = "vllm.model_executor.models"


@dataclass(frozen=True, slots=True)
class Row:
    """One mismatch, and the first and last vLLM in which it is one."""

    path: str
    line: int
    kind: str
    symbol: str
    found: str
    first: str
    last: str

    @property
    def key(self) -> tuple[str, int, str, str, str]:
        return self.path, self.line, self.kind, self.symbol, self.found


def _generator(line: int, kind: str, symbol: str, found: str, versions: str) -> Row:
    first, _, last = versions.partition("..")
    return Row(GENERATOR, line, kind, symbol, found, first, last or first)


def _moved(line: int) -> list[Row]:
    names = (
        "_get_kv_cache_groups_uniform_spec",
        "get_kv_cache_config_from_groups",
        "unify_hybrid_kv_cache_specs",
    )
    return [
        _generator(line, "missing-name", f"{PLANNING}.{name}", name, "0.33.0")
        for name in names
    ]


_CONFIG_FROM_GROUPS = f"{PLANNING}.get_kv_cache_config_from_groups"
_SCHEDULER = "vllm.v1.core.sched.scheduler.Scheduler"
_EXECUTOR = "vllm.v1.executor.multiproc_executor.MultiprocExecutor"
_KEYWORD, _ARGUMENT = "unexpected-keyword", "missing-argument"
_NAME, _MODULE = "missing-name", "missing-module"

_V030 = [
    _generator(148, _ARGUMENT, _SCHEDULER, "block_size", "0.11.1..0.33.0"),
    _generator(136, _KEYWORD, _CONFIG_FROM_GROUPS, "kv_cache_specs", "0.12.0..0.32.0"),
    _generator(
        194,
        _ARGUMENT,
        "vllm.config.SchedulerConfig",
        "is_encoder_decoder",
        "0.12.0..0.33.0",
    ),
    _generator(
        234, _KEYWORD, "vllm.v1.request.Request", "eos_token_id", "0.17.0..0.33.0"
    ),
    *_moved(15),
]
_V040 = [
    _generator(
        15,
        _MODULE,
        "vllm.utils.hashing.get_hash_fn_by_name",
        "vllm.utils.hashing",
        "0.11.0",
    ),
    _generator(143, _ARGUMENT, _CONFIG_FROM_GROUPS, "kv_cache_specs", "0.11.0..0.11.2"),
    _generator(154, _KEYWORD, _SCHEDULER, "block_size", "0.11.0"),
    _generator(
        215, _KEYWORD, "vllm.config.SchedulerConfig", "is_encoder_decoder", "0.11.0"
    ),
    _generator(
        315, "missing-method", f"{_EXECUTOR}.sample_tokens", "sample_tokens", "0.11.0"
    ),
    _generator(
        264, _KEYWORD, "vllm.v1.request.Request", "eos_token_id", "0.17.0..0.33.0"
    ),
    *_moved(16),
]


def _mooncake(  # a line for each mismatch
    hybrid: int,
    metadata: int,
    spec: int,
    init: int,
    layer: int,
    *,
    example: int | None = None,
) -> list[Row]:
    extract = f"{MODELS}.extract_hidden_states"
    attention = "vllm.v1.attention.backend"
    rows = [
        Row(
            MOONCAKE,
            hybrid,
            _NAME,
            f"{KV_BASE}.base.SupportsHMA",
            "SupportsHMA",
            "0.11.0",
            "0.11.0",
        ),
        Row(
            MOONCAKE,
            metadata,
            _MODULE,
            f"{attention}.AttentionMetadata",
            attention,
            "0.11.0",
            "0.13.0",
        ),
        Row(
            MOONCAKE,
            spec,
            _NAME,
            "vllm.v1.kv_cache_interface.HiddenStateCacheSpec",
            "HiddenStateCacheSpec",
            "0.11.0",
            "0.21.0",
        ),
        Row(
            MOONCAKE,
            init,
            _KEYWORD,
            f"{KV_BASE}.base.KVConnectorBase_V1",
            "kv_cache_config",
            "0.11.0",
            "0.11.0",
        ),
        Row(
            MOONCAKE,
            layer,
            _MODULE,
            f"{extract}.CacheOnlyAttentionLayer",
            extract,
            "0.11.0",
            "0.16.0",
        ),
    ]
    if example is None:
        return rows
    names = ("ExampleHiddenStatesConnector", "extract_from_kv_cache")
    return rows + [
        Row(MOONCAKE, example, _MODULE, f"{EXAMPLE}.{n}", EXAMPLE, "0.11.0", "0.16.0")
        for n in names
    ]


_FP8 = Row(
    FP8, 23, _NAME, EXAMPLE, "example_hidden_states_connector", "0.11.0", "0.16.0"
)
ROWS: dict[tuple[str, str], list[Row]] = {
    ("speculators", "0.3.0"): _V030,
    ("speculators", "0.4.0"): _V040,
    ("speculators", "0.4.0.1"): _V040,
    ("hs-connectors", "0.7.0"): _mooncake(19, 27, 87, 127, 191),
    ("hs-connectors", "0.8.1"): _mooncake(19, 31, 84, 124, 188, example=25),
    ("hs-connectors", "0.9.0"): [*_mooncake(19, 31, 88, 161, 231, example=25), _FP8],
    **{
        ("speculators", version): [] for version in ("0.2.0", "0.5.0", "0.7.0", "0.9.0")
    },
}
DECLARED = {
    ("speculators", "0.3.0"): ("0.11.0",),
    ("speculators", "0.4.0"): ("0.12.0", "0.13.0", "0.14.1", "0.15.1", "0.16.0"),
    ("speculators", "0.4.0.1"): ("0.12.0", "0.13.0", "0.14.1", "0.15.1", "0.16.0"),
}
"""Releases of vLLM that a release says it works with: no row may be in there."""


def expected(client: tuple[str, str], vllm: str) -> set[tuple[str, int, str, str, str]]:
    version = Version(vllm)
    return {
        row.key
        for row in ROWS[client]
        if Version(row.first) <= version <= Version(row.last)
    }


@cache
def wheel(name: str, version: str) -> Wheel:
    return wheel_of(name, version)


def actual(client: tuple[str, str], vllm: str) -> set[tuple[str, int, str, str, str]]:
    package = client[0].replace("-", "_")
    sources = {package: wheel(*client), "vllm": wheel("vllm", vllm)}
    found = diagnose(package, "vllm", sources)
    assert not found.unread
    return {(f.path, f.line, f.kind.value, f.symbol, f.found) for f in found.findings}


KIMI: dict[str, object] = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "media_placeholder_token_id": 163605,
    "text_config": {
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "kimi_k2",
    },
}
"""What matters here of the config.json of Kimi-K2.5."""
_WRAPPER = "kimi_k25.KimiK25ForConditionalGeneration"


def foretold(vllm: str) -> list[tuple[str, str, str]]:
    """Return what fails for Kimi-K2.5 with EAGLE-3: kind, end of symbol, found."""
    version = Version(vllm)
    if version >= Version("0.18.0"):
        return []
    if version < Version("0.15.0"):
        return [("missing-name", f"registry.{_WRAPPER.partition('.')[2]}", KIMI_NAME)]
    early = version < Version("0.16.0")
    inner = "DeepseekV2Model" if early else "DeepseekV2ForCausalLM"
    embeddings = ("protocol", "deepseek_v2.DeepseekV2Model", "model")
    field = "image_token_index"
    return [
        ("whitelist", "speculative.SpeculativeConfig._verify_args", "kimi_k2"),
        ("config-field", f"{_WRAPPER}.config.{field}", field),
        *([embeddings] if early else []),
        ("protocol", _WRAPPER, "SupportsEagle3"),
        ("protocol", f"deepseek_v2.{inner}", "SupportsEagle3"),
    ]


KIMI_NAME = "KimiK25ForConditionalGeneration"


def prognosis(vllm: str) -> list[tuple[str, str, str]]:
    target = by_config(json.dumps(KIMI))
    found = prognose(target, "eagle3", {"vllm": wheel("vllm", vllm)})
    return [(f.kind.value, _end(f.symbol), f.found) for f in found.findings]


def _end(symbol: str) -> str:
    return symbol.removeprefix(f"{MODELS}.").removeprefix("vllm.config.")


def _row(vllm: str) -> list[str]:
    wrong = []
    if prognosis(vllm) != foretold(vllm):
        wrong.append(f"Kimi-K2.5 on vllm {vllm}: {prognosis(vllm)}")
    for client in ROWS:
        got, want = actual(client, vllm), expected(client, vllm)
        if got != want:
            name = " ".join(client)
            wrong.append(f"{name} on vllm {vllm}: {sorted(got ^ want)}")
    return wrong


def main() -> int:
    """Try every pair; 1 if a mismatch is missed or one too many is found."""
    releases = published("vllm")
    with ProcessPoolExecutor() as pool:
        wrong = [line for lines in pool.map(_row, releases) for line in lines]
    for line in wrong:
        print(line)
    print(f"{len(releases) * len(ROWS)} pairs, {len(wrong)} not as they should be")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
