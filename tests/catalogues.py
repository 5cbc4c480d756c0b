"""Small catalogues for tests: patches that change one number in a module."""

from __future__ import annotations

from pathlib import Path

_PATCH = '''"""{title}.

Symptom and cause, in prose.
"""

import libcst as cst

from patchset import edit

TARGET = "{target}"
GROUP = "{group}"
NEEDS = {needs}
FIXED_IN = {fixed_in}
SYMPTOMS = ["b is 1"]
NO_UPSTREAM = "a patch for tests"
TOUCHES = ["<module>"]
OPT_IN = {opt_in}
BEFORE = "{before}\\n"
AFTER = "{after}\\n"


def rewrite(module: cst.Module) -> cst.Module:
    return edit.within(module, edit.MODULE, edit.replace("{before}", "{after}"))


def fixed(module: cst.Module) -> bool:
    return edit.count(module, edit.MODULE, "{after}") == 1
'''


def write_patch(
    folder: Path,
    name: str = "number",
    *,
    target: str = "vllm/m.py",
    before: str = "b = 1",
    after: str = "b = 2",
    needs: object = None,
    fixed_in: object = None,
    group: str = "numbers",
    title: str = "b is 2",
    opt_in: bool = False,
) -> Path:
    """A patch in a catalogue, of the shape that ours have."""
    package = target.partition("/")[0]
    path = folder / package / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _PATCH.format(
        title=title,
        target=target,
        group=group,
        needs=needs if needs is not None else {package: ">=0.16,<0.17"},
        fixed_in=fixed_in or {},
        before=before,
        after=after,
        opt_in=opt_in,
    )
    path.write_text(text)
    return path
