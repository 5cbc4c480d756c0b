"""The KV cache is planned by functions from the module that has them.

vLLM 0.33.0 moved the three functions with which the hidden states generator lays out
the KV cache from `vllm.v1.core.kv_cache_utils` to `vllm.v1.core.kv_cache_planning`, and
left their parameters as they were. The two functions that make block hashes stayed.
Importing the generator fails.

Drop this with speculators 0.5.0, which has no such generator.
"""

import libcst as cst

from patchset import edit

TARGET = "speculators/data_generation/vllm_hidden_states_generator.py"
GROUP = "hidden-states-extraction"
NEEDS = {"speculators": ">=0.4.0,<0.5.0", "vllm": ">=0.33.0"}
FIXED_IN = {"speculators": "0.5.0"}
SYMPTOMS = [
    r"cannot import name '_get_kv_cache_groups_uniform_spec' from 'vllm\.v1\.core",
]
UPSTREAM = "https://github.com/vllm-project/speculators/pull/353"
TOUCHES = ["<module>"]
CURES = [
    "missing-name vllm.v1.core.* _get_kv_cache_groups_uniform_spec",
    "missing-name vllm.v1.core.* get_kv_cache_config_from_groups",
    "missing-name vllm.v1.core.* unify_hybrid_kv_cache_specs",
]

_OLD = """
from vllm.v1.core.kv_cache_utils import (
    _get_kv_cache_groups_uniform_spec,
    get_kv_cache_config_from_groups,
    get_request_block_hasher,
    init_none_hash,
    unify_hybrid_kv_cache_specs,
)
"""
_MOVED = """
from vllm.v1.core.kv_cache_planning import (
    _get_kv_cache_groups_uniform_spec,
    get_kv_cache_config_from_groups,
    unify_hybrid_kv_cache_specs,
)
"""
_KEPT = """
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
"""


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(module, edit.MODULE, edit.replace(_OLD, _MOVED + _KEPT.lstrip()))


def fixed(module: cst.Module) -> bool:
    moved = (
        edit.count(module, edit.MODULE, _MOVED) == 1
        and edit.count(module, edit.MODULE, _KEPT) == 1
    )
    if not moved and edit.count(module, edit.MODULE, _OLD) != 1:
        raise edit.Mismatch("the planning functions are imported in another way")
    return moved


BEFORE = """\
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import (
    _get_kv_cache_groups_uniform_spec,
    get_kv_cache_config_from_groups,
    get_request_block_hasher,
    init_none_hash,
    unify_hybrid_kv_cache_specs,
)
from vllm.v1.core.sched.scheduler import Scheduler
"""
AFTER = """\
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_planning import (
    _get_kv_cache_groups_uniform_spec,
    get_kv_cache_config_from_groups,
    unify_hybrid_kv_cache_specs,
)
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.scheduler import Scheduler
"""
