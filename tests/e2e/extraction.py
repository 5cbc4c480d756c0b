"""One run of speculators' generator: `-m tests.e2e.extraction JOB.json RESULT.json`.

A job names a target, layer ids and calls of `generate()`; the result tells for each
call, row by row, whether what came back for a prompt is what forward hooks in the
worker saw for exactly that prompt, and before which layer they saw it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from vllm.v1.worker import cpu_model_runner

from tests.e2e import stubs  # noqa: F401 - effects only
from tests.e2e.capture import Capture
from tests.e2e.serving import describe

FOLDER = "PATCHSET_E2E_CAPTURE"
_load_model = cpu_model_runner.CPUModelRunner.load_model


class _Saved(list):  # type: ignore[type-arg]
    """Hands every pass to the driver's process: one file for each."""

    def append(self, states: torch.Tensor) -> None:
        folder = Path(os.environ[FOLDER])
        name = f"{len(list(folder.iterdir())):06}.pt"
        torch.save(states, folder / name)


def _load_and_hook(runner: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
    _load_model(runner, *args, **kwargs)
    if torch.distributed.get_rank() == 0:
        Capture(runner.model).passes = _Saved()


# At module level: the executor's workers import this script again.
cpu_model_runner.CPUModelRunner.load_model = _load_and_hook


def run(job: dict[str, Any], result: dict[str, Any]) -> None:
    """Start the generator as the job says, make its calls, and fill in `result`."""
    from speculators.data_generation.vllm_hidden_states_generator import (  # noqa: PLC0415
        VllmHiddenStatesGenerator,
    )

    if free := job.get("free_memory"):
        torch.cuda.mem_get_info = lambda *_: (free, free)
    generator = VllmHiddenStatesGenerator(
        model_path=job["target"],
        layer_ids=job.get("layers"),
        max_model_len=job.get("max_model_len", 2048),
        tensor_parallel_size=job.get("tensor_parallel", 1),
    )
    result["layers"] = list(generator.layer_ids)
    embeddings = _embeddings(Path(job["target"]))
    try:
        for call in job["calls"]:
            result["calls"].append(_call(generator, embeddings, call))
    finally:
        generator.executor.shutdown()


def _call(generator: Any, embeddings: torch.Tensor, call: dict[str, Any]) -> Any:  # noqa: ANN401
    """Make one call; a call that is meant to fail tells how it did."""
    folder = Path(os.environ[FOLDER])
    for old in folder.iterdir():
        old.unlink()
    prompts = make_prompts(call, len(embeddings))
    breaking: str = call.get("break", "")
    executor = generator.executor
    # Ctrl-C in the middle of a scheduling step, or between two of them.
    cut = {"interrupt": "execute_model", "between": "sample_tokens"}.get(breaking)
    kept = getattr(executor, cut) if cut else None
    if cut:
        setattr(executor, cut, _Interrupted(kept))
    try:
        asked = torch.tensor(prompts) if call.get("as_tensor") else prompts
        made = generator.generate(asked)
    except BaseException as error:
        if not breaking:
            raise
        return {"name": call["name"], **describe(error)}
    finally:
        if cut:
            setattr(executor, cut, kept)
    states = torch.cat([torch.load(path) for path in sorted(folder.iterdir())], dim=1)
    steps = len(list(folder.iterdir()))
    longest = generator.vllm_config.model_config.max_model_len - 1
    whole = [prompt[:longest] for prompt in prompts]
    found = _compare(len(generator.layer_ids), whole, made, states, embeddings)
    return {"name": call["name"], "steps": steps, **found}


class _Interrupted:
    """Does what it stands for once, and is interrupted after it, as by Ctrl-C."""

    def __init__(self, execute: Any) -> None:  # noqa: ANN401
        self._execute = execute

    def __call__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        self._execute(*args, **kwargs)
        raise KeyboardInterrupt


def make_prompts(call: dict[str, Any], vocabulary: int) -> list[list[int]]:
    """Return prompts of the lengths asked for, different in every token position."""
    generator = torch.Generator().manual_seed(call["seed"])
    prompts = [
        torch.randint(0, 256, (length,), generator=generator).tolist()
        for length in call["lengths"]
    ]
    shared = call.get("shared_prefix", 0)
    for prompt in prompts:
        prompt[:shared] = prompts[0][:shared]
    if call.get("break") == "token":
        prompts[-1][-1] = 1000 * vocabulary
    return prompts


def _compare(
    layers: int,
    prompts: list[list[int]],
    made: list[dict[str, Any]],
    states: torch.Tensor,
    embeddings: torch.Tensor,
) -> dict[str, Any]:
    """Compare each prompt's rows with those that the hooks saw for its own tokens.

    The input of layer 0 is the embedding of a token, exactly: it tells which rows of
    the hooks are whose, whatever order the scheduler and the generator had in mind.
    """
    depths: list[set[int]] = [set(range(len(states))) for _ in range(layers)]
    rows, lost, foreign = [], [], []
    for index, (prompt, each) in enumerate(zip(prompts, made, strict=True)):
        told = each["hidden_states"]
        rows.append(len(told[0]))
        embedded = embeddings[torch.tensor(prompt)].to(states.dtype)
        places = _places(embedded, states[0])
        matches = [_depths(told, states[:, place]) for place in places]
        whole = [match for match in matches if all(match)]
        if not places:
            lost.append(index)
        elif not whole or each["input_ids"].tolist() != prompt:
            foreign.append(index)
        else:
            depths = [old & new for old, new in zip(depths, whole[0], strict=True)]
    return {
        "prompts": len(prompts),
        "tokens": sum(map(len, prompts)),
        "rows": rows,
        "short": [i for i, n in enumerate(rows) if n != len(prompts[i])],
        "lost": lost,
        "foreign": foreign,
        "depths": [sorted(found) for found in depths],
    }


def _depths(told: list[torch.Tensor], seen: torch.Tensor) -> list[set[int]]:
    """Return for each tensor before which layers the hooks saw exactly that."""
    depths = range(len(seen))
    return [{at for at in depths if torch.equal(tensor, seen[at])} for tensor in told]


def _places(wanted: torch.Tensor, inputs: torch.Tensor) -> list[slice]:
    """Find a prompt's rows, one after another, among all that the hooks saw.

    A prompt of one token may have several places: it is a part of other prompts too.
    """
    starts = (inputs == wanted[0]).all(dim=1).nonzero().flatten().tolist()
    found = [slice(start, start + len(wanted)) for start in starts]
    return [place for place in found if torch.equal(inputs[place], wanted)]


def _embeddings(target: Path) -> torch.Tensor:
    with safe_open(target / "model.safetensors", framework="pt") as weights:
        (name,) = [name for name in weights.keys() if "embed_tokens" in name]  # noqa: SIM118
        return weights.get_tensor(name)


def main() -> None:
    """Run a job and write its result, an error included."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    result: dict[str, Any] = {"ok": True, "calls": []}
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        try:
            run(job, result)
        except Exception as error:  # noqa: BLE001 - any error is the result
            result |= {"ok": False, **describe(error)}
            traceback.print_exc()
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
