"""Runs of the engine and of the extraction, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
LIMIT = 900  # seconds: the longest run takes about a minute

# What every run has in its environment. `stubs` says why for the platform's part.
COMMON = {
    "VLLM_MLA_DISABLE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "TRITON_INTERPRET": "1",
    # One thread: tensors this small are done before a second one is awake.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    # Small helpers of vLLM compile themselves even where the engine runs eagerly.
    "TORCHDYNAMO_DISABLE": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONUNBUFFERED": "1",
}


class NoResultError(RuntimeError):
    """A run ended without a result: killed, or broken before it could write one."""


def serving(root: Path, work: Path, job: dict[str, Any], **extra: str) -> Any:  # noqa: ANN401
    """Run `serving` in the environment at `root`; its result as a dictionary.

    The engine stays in one process, so that stubs and hooks reach it.
    """
    one = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    return _run(root, work, "serving", job, one | extra)


def extraction(root: Path, work: Path, job: dict[str, Any], **extra: str) -> Any:  # noqa: ANN401
    """Run `extraction` in the environment at `root`; its result as a dictionary."""
    return _run(root, work, "extraction", job, extra)


def training(root: Path, work: Path, job: dict[str, Any]) -> Any:  # noqa: ANN401
    """Run `training` in the environment at `root`; its result as a dictionary."""
    return _run(root, work, "training", job, {})


def script(root: Path, work: Path, name: str, *arguments: str) -> None:
    """Run one of the other scripts in the environment at `root`, to its end."""
    command = [str(root / "bin" / "python"), "-m", f"tests.e2e.{name}", *arguments]
    subprocess.run(command, check=True, env=_environment(work), timeout=LIMIT)


def _run(
    root: Path, work: Path, name: str, job: dict[str, Any], extra: dict[str, str]
) -> Any:  # noqa: ANN401
    work.mkdir(parents=True, exist_ok=True)
    asked, told, log = work / "job.json", work / "result.json", work / "log.txt"
    asked.write_text(json.dumps(job), encoding="utf-8")
    told.unlink(missing_ok=True)
    command = [str(root / "bin" / "python"), "-m", f"tests.e2e.{name}"]
    with log.open("w", encoding="utf-8") as output:
        subprocess.run(
            [*command, str(asked), str(told)],
            check=False,
            env=_environment(work) | extra,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
        )
    if not told.exists():
        tail = "\n".join(log.read_text(encoding="utf-8").splitlines()[-30:])
        message = f"{name} wrote no result; the whole log is {log}:\n{tail}"
        raise NoResultError(message)
    result = json.loads(told.read_text(encoding="utf-8"))
    return {**result, "log": log.read_text(encoding="utf-8")}


def _environment(work: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    cache = work.parent / "cache"  # remote code, and what vLLM knows of its models
    caches = {
        "HF_HOME": str(cache / "huggingface"),
        "VLLM_CACHE_ROOT": str(cache / "vllm"),
        "PYTHONPATH": str(CHECKOUT),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
    }
    return kept | COMMON | caches
