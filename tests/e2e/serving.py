"""One run of the whole engine: `python -m tests.e2e.serving JOB.json RESULT.json`.

A job names a target, a draft or none, and batches of prompts; the result holds the
tokens of each, what was drafted and accepted, how the auxiliary hidden states compare
with what forward hooks saw, or the error that ended the run.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from vllm import LLM, SamplingParams

from tests.e2e import stubs  # noqa: F401 - effects only
from tests.e2e.capture import Capture


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Start the engine as the job says and generate its batches, one after another."""
    speculation = None
    if job.get("draft"):
        speculation = {
            "method": "eagle3",
            "model": job["draft"],
            "num_speculative_tokens": job.get("steps", 3),
        }
    llm = LLM(
        model=job["target"],
        trust_remote_code=True,
        dtype=job.get("dtype", "float32"),
        enforce_eager=not job.get("compile", False),
        max_model_len=job.get("max_model_len", 2048),
        max_num_seqs=8,
        max_num_batched_tokens=job.get("step_tokens", 2048),
        enable_prefix_caching=False,
        speculative_config=speculation,
        disable_log_stats=False,
        seed=0,
    )
    runner = _runner(llm)
    watch = Watch(runner) if speculation else None
    # Hooks would become a part of what is compiled.
    hooks = Capture(runner.model) if not job.get("compile") else None
    outputs = [
        _generate(llm, batch, job.get("max_tokens", 32)) for batch in job["batches"]
    ]
    result: dict[str, Any] = {"outputs": outputs, **_counts(llm)}
    if watch and hooks:
        result["auxiliary"] = watch.compare(hooks)
    elif watch:
        (prompt,) = (each["tokens"] for batch in job["batches"] for each in batch)
        result["auxiliary"] = watch.nearest(_seen(job["states"], prompt))
    if job.get("trace") and hooks:
        result["trace"] = _trace(llm, hooks, job)
    return result


def _seen(trace: str, prompt: list[int]) -> torch.Tensor:
    """Return what hooks saw for a prompt in an earlier run."""
    for piece in torch.load(trace):
        if piece["tokens"][: len(prompt)].tolist() == prompt:
            return piece["states"]
    message = f"{trace} has no such prompt"
    raise ValueError(message)


class Watch:
    """Keeps what the target model returned beside its final hidden states."""

    def __init__(self, runner: Any) -> None:  # noqa: ANN401
        self.layers = [int(layer) for layer in _layers(runner)]
        self.returned: list[torch.Tensor] = []
        self.drafted: list[torch.Tensor] = []
        runner.model.register_forward_hook(self._after)
        combine = runner.drafter.model.combine_hidden_states

        def combined(states: torch.Tensor) -> torch.Tensor:
            self.drafted.append(states.clone())
            return combine(states)

        runner.drafter.model.combine_hidden_states = combined

    def _after(self, _: Any, __: Any, output: Any) -> None:  # noqa: ANN401
        self.returned.append(torch.stack([state.clone() for state in output[1]]))

    def compare(self, hooks: Capture) -> dict[str, Any]:
        """Compare them with the hooks' states of the same layers, pass by pass."""
        pairs = list(zip(self.returned, hooks.passes, strict=True))
        return {
            "layers": self.layers,
            "passes": len(pairs),
            "tokens": sum(states.shape[1] for states, _ in pairs),
            "equal": all(
                torch.equal(states, seen[self.layers]) for states, seen in pairs
            ),
            "largest": max(float(states.abs().max()) for states, _ in pairs),
            "reached_draft": self._reached(hooks),
        }

    def nearest(self, states: torch.Tensor) -> dict[str, Any]:
        """Tell which states of a prompt's trace the first pass returned."""
        tokens = self.returned[0].shape[1]
        gaps = [
            [float((own - seen).abs().max()) for seen in states[:, :tokens]]
            for own in self.returned[0]
        ]
        return {
            "layers": self.layers,
            "nearest": [gap.index(min(gap)) for gap in gaps],
            "gap": max(min(gap) for gap in gaps),
        }

    def _reached(self, hooks: Capture) -> bool:
        """Tell whether every row given to the draft is a row that hooks saw."""
        seen = {
            row.numpy().tobytes()
            for states in hooks.passes
            for row in torch.cat(list(states[self.layers]), dim=-1)
        }
        rows = [row for states in self.drafted for row in states]
        return bool(rows) and all(row.numpy().tobytes() in seen for row in rows)


def _layers(runner: Any) -> Any:  # noqa: ANN401
    own = runner._get_eagle3_aux_layers_from_config()
    return own or runner.model.get_eagle3_aux_hidden_state_layers()


def _runner(llm: LLM) -> Any:  # noqa: ANN401
    # With VLLM_ENABLE_V1_MULTIPROCESSING=0 the whole engine is in this process.
    executor = llm.llm_engine.engine_core.engine_core.model_executor
    return executor.driver_worker.worker.model_runner


def _generate(llm: LLM, batch: list[Any], max_tokens: int) -> list[dict[str, Any]]:
    sampling = SamplingParams(temperature=0.0, max_tokens=max_tokens, ignore_eos=True)
    made = llm.generate([_prompt(each) for each in batch], sampling, use_tqdm=False)
    return [
        {"tokens": list(each.outputs[0].token_ids), "text": each.outputs[0].text}
        for each in made
    ]


def _prompt(prompt: dict[str, Any]) -> dict[str, Any]:
    request: dict[str, Any] = {"prompt_token_ids": prompt["tokens"]}
    if "image" in prompt:
        width, height, seed = prompt["image"]
        noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3))
        image = Image.fromarray(noise.astype(np.uint8))
        chunk = {"type": "image", "image": image, "uuid": None}
        request["multi_modal_data"] = {"vision_chunk": [chunk]}
    return request


def _counts(llm: LLM) -> dict[str, int]:
    names = {
        "vllm:spec_decode_num_draft_tokens": "drafted",
        "vllm:spec_decode_num_accepted_tokens": "accepted",
    }
    found = {names[each.name]: each for each in llm.get_metrics() if each.name in names}
    return {name: int(metric.value) for name, metric in found.items()}


def _trace(llm: LLM, hooks: Capture, job: dict[str, Any]) -> int:
    """Save states and tokens of prompts continued greedily, for a draft to learn."""
    (batch,) = job["batches"]
    pieces = []
    for prompt, made in zip(
        batch, _generate(llm, batch, job["trace_tokens"]), strict=True
    ):
        whole = prompt["tokens"] + made["tokens"]
        hooks.passes.clear()
        _generate(llm, [{"tokens": whole}], 1)
        (states,) = hooks.passes
        size = len(prompt["tokens"])
        pieces.append({"tokens": torch.tensor(whole), "prompt": size, "states": states})
    torch.save(pieces, job["trace"])
    return len(pieces)


def main() -> None:
    """Run a job and write its result, an error included."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        result = {"ok": True, **run(job)}
    except Exception as error:  # noqa: BLE001 - any error is the result
        result = {"ok": False, **describe(error)}
        traceback.print_exc()
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


def describe(error: BaseException) -> dict[str, str]:
    """Return an error's type, its text, and the last installed line it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = ("site-packages/vllm/", "site-packages/speculators/")
    inside = [frame for frame in frames if any(name in frame.filename for name in ours)]
    last = inside[-1] if inside else frames[-1]
    where = last.filename.rpartition("site-packages/")[2]
    return {
        "error": type(error).__name__,
        "message": str(error),
        "where": f"{where}:{last.lineno}",
    }


if __name__ == "__main__":
    main()
