"""What the parts of the proof share: places, patched environments, and the verdicts."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e import environment, runs

VLLM_VERSION = "0.16.0"
TARGETS = ("kimi", "deepseek")
LENGTHS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 100, 7, 15, 31, 63, 127)
BEGIN, MEDIA_BEGIN, MEDIA_PAD, MEDIA_END = 256, 259, 262, 261


class NotShownError(AssertionError):
    """A run did not show what it was to show."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """The folder of the proof, and what has been said on it."""

    root: Path
    python: str
    part: str
    """Every part has runs and caches of its own, for they go side by side."""
    began: float = field(default_factory=time.monotonic)

    @property
    def runs(self) -> Path:
        """Where the runs of this part leave their jobs, results and logs."""
        return self.root / "runs" / self.part

    @property
    def pristine(self) -> Path:
        """The environment that nothing is ever applied to."""
        return self.root / "environment"

    def model(self, name: str) -> str:
        """Return the path of a checkpoint."""
        return str(self.root / "models" / name)

    def say(self, sentence: str) -> None:
        """Print a line with the minutes since the start."""
        passed = int(time.monotonic() - self.began)
        clock = f"{passed // 60:02}:{passed % 60:02}"
        sys.stdout.write(f"[{clock}] {self.part}: {sentence}\n")
        sys.stdout.flush()

    def expect(self, holds: object, sentence: str) -> None:
        """Print the sentence if it holds; raise NotShownError with it otherwise."""
        if not holds:
            raise NotShownError(sentence)
        self.say(f"ok: {sentence}")

    def copy(self, name: str) -> Path:
        """Return a new copy of the pristine environment."""
        copy = self.root / "copies" / name
        environment.copy(self.pristine, copy)
        return copy

    def serve(self, root: Path, name: str, job: dict[str, Any], **extra: str) -> Any:  # noqa: ANN401
        """Run the engine; `target` and `draft` of the job are names of checkpoints."""
        return runs.serving(root, self.runs / name, self._job(job), **extra)

    def extract(self, root: Path, name: str, job: dict[str, Any], **extra: str) -> Any:  # noqa: ANN401
        """Run the generator; `target` of the job is the name of a checkpoint."""
        return runs.extraction(root, self.runs / name, self._job(job), **extra)

    def train(self, root: Path, name: str, job: dict[str, Any]) -> Any:  # noqa: ANN401
        """Make a draft model; `target` of the job is the name of a checkpoint."""
        return runs.training(root, self.runs / name, self._job(job))

    def _job(self, job: dict[str, Any]) -> dict[str, Any]:
        paths = {name: job[name] for name in ("target", "draft") if job.get(name)}
        return job | {name: self.model(path) for name, path in paths.items()}


def patchset(root: Path, *arguments: str) -> Any:  # noqa: ANN401
    """Run patchset on an environment; its JSON document. Any failure is raised."""
    command = [sys.executable, "-m", "patchset", "--python", str(root), *arguments]
    done = subprocess.run(
        [*command, "--json"], check=False, capture_output=True, text=True
    )
    if done.returncode:
        message = f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}"
        raise NotShownError(message + done.stdout)
    return json.loads(done.stdout)


def apply(root: Path, *options: str) -> Any:  # noqa: ANN401
    """Apply the catalogue to an environment, for the version that it is meant for."""
    return patchset(root, "apply", "--vllm", VLLM_VERSION, *options)


def only(patches: Iterable[str]) -> list[str]:
    """Return the options that select these patches and no other."""
    return [word for patch in patches for word in ("--only", patch)]


def prompts() -> list[dict[str, Any]]:
    """Return the prompts that the draft learns to continue, of many lengths."""
    source = random.Random(7)  # noqa: S311 - reproducible, not secret
    return [
        {"tokens": [BEGIN, *(source.randrange(256) for _ in range(length))]}
        for length in LENGTHS
    ]


def images() -> list[dict[str, Any]]:
    """Return prompts with an image each, of several sizes, and with text around it."""
    sizes = [(100, 70), (28, 28), (112, 112), (300, 60)]
    return [
        {
            "tokens": [BEGIN, seed, MEDIA_BEGIN, MEDIA_PAD, MEDIA_END, *range(seed)],
            "image": [*size, seed],
        }
        for seed, size in enumerate(sizes, start=1)
    ]
