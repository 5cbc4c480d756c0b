"""What vLLM's CPU platform alone obstructs; imported before any engine starts.

Nothing here touches an installed file, and nothing here is what a patch cures. The
spawned workers of an executor import the main script again and with it this module,
so that they get the stubs too. MLA itself has no CPU kernel: VLLM_MLA_DISABLE=1 (see
`runs`) makes vLLM use its expanded attention below the same model code. Triton's
kernels run in Triton's own interpreter (TRITON_INTERPRET=1).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from typing_extensions import Self
from vllm.config import CompilationMode
from vllm.platforms.cpu import CpuPlatform
from vllm.v1.worker import cpu_model_runner, gpu_model_runner

GIB = 1 << 30


class _Stream:
    """Stands for a CUDA stream: on a CPU all work is in order already."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def wait_stream(self, stream: object) -> None:
        del stream


class _Event:
    """Stands for a CUDA event, for the same reason."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def record(self, *_: object) -> None:
        pass

    def synchronize(self) -> None:
        pass


class _Profiler:
    """Stands for the profiler of device memory, which asks CUDA for the figures."""

    consumed_memory = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def _cuda_names() -> Iterator[None]:
    kept = torch.Event, torch.cuda.Stream
    torch.Event, torch.cuda.Stream = _Event, _Stream
    try:
        yield
    finally:
        torch.Event, torch.cuda.Stream = kept


def _start(runner: Any, vllm_config: Any, device: Any) -> None:  # noqa: ANN401
    """Do what CPUModelRunner.__init__ does, without its assert."""
    with _cuda_names():
        gpu_model_runner.GPUModelRunner.__init__(runner, vllm_config, device)
    runner.use_cuda_graph = False
    runner.cascade_attn_enabled = False
    runner._postprocess_tensors()


def _keep_mode(vllm_config: Any) -> None:  # noqa: ANN401
    """Do what CpuPlatform.check_and_update_config does, but for the way to compile."""
    asked = vllm_config.compilation_config.mode
    _check_and_update_config(vllm_config)
    if asked == CompilationMode.VLLM_COMPILE:
        vllm_config.compilation_config.mode = asked
        # None would mean that there is nothing to compile.
        vllm_config.compilation_config.compile_sizes = []


# The CPU platform compiles in a way that keeps nothing on disk; a GPU's does.
_check_and_update_config = CpuPlatform.check_and_update_config
CpuPlatform.check_and_update_config = staticmethod(_keep_mode)
# CPUModelRunner.__init__ asserts that there is no speculation.
cpu_model_runner.CPUModelRunner.__init__ = _start
# CPUModelRunner.load_model loads no drafter and skips the EAGLE-3 check; the method
# that every GPU uses does both.
cpu_model_runner.CPUModelRunner.load_model = gpu_model_runner.GPUModelRunner.load_model
gpu_model_runner.DeviceMemoryProfiler = _Profiler
# The runner copies draft token ids to the host on a stream of its own.
torch.cuda.current_stream = lambda *_: _Stream()
torch.cuda.stream = lambda *_: contextlib.nullcontext()
# The generator of speculators sizes its cache by the free memory of a GPU.
torch.cuda.mem_get_info = lambda *_: (GIB, GIB)
