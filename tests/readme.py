"""The generated parts of the README: its commands, its patch table, its example."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from patchset.catalogue import builtin_directory, read_catalogue
from patchset.cli import cli
from patchset.model import Patch
from patchset.report import versions_of

README = Path(__file__).resolve().parents[1] / "README.md"
_EXAMPLE = "vllm/eagle3_image_token.py"


def generated(text: str) -> str:
    """The README with its generated parts as they have to be."""
    parts = {"commands": _commands(), "patches": _patches(), "example": _example()}
    for name, part in parts.items():
        begin, end = rf"<!-- {name}: [^\n]*-->\n", f"<!-- /{name} -->"
        found = re.search(rf"({begin})(.*?)({end})", text, re.DOTALL)
        if found is None:
            raise ValueError(f"README.md has no place for {name}")
        text = f"{text[: found.start(2)]}{part}\n{text[found.end(2) :]}"
    return text


def _commands() -> str:
    context = click.Context(cli, info_name="patchset")
    rows = []
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is None:
            raise ValueError(f"{name} is listed, and is no command")
        usage = "".join(_usage(command))
        rows.append(f"| `{name}{usage}` | {command.get_short_help_str(200)} |")
    return "\n".join(["| command | what it does |", "| --- | --- |", *rows])


def _usage(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            yield f" {parameter.make_metavar(click.Context(command))}"
        elif isinstance(parameter, click.Option):
            value = "" if parameter.is_flag else f" {parameter.metavar or 'TEXT'}"
            more = "…" if parameter.multiple else ""
            yield f" [{parameter.opts[0]}{value}]{more}"


def _patches() -> str:
    catalogue = read_catalogue(builtin_directory(), None)
    groups: dict[str, list[Patch]] = {}
    for patch in catalogue.patches:
        groups.setdefault(patch.group or "other", []).append(patch)
    return "\n\n".join(_table(name, groups[name]) for name in sorted(groups))


def _table(group: str, patches: list[Patch]) -> str:
    lines = [
        f"**{group}**",
        "",
        "| patch | what it does | where |",
        "| --- | --- | --- |",
    ]
    for patch in patches:
        name = patch.id if patch.variant is None else f"{patch.id} ({patch.variant})"
        opt_in = " (opt-in)" if patch.opt_in else ""
        link = f"[{name}](patches/{_file(patch)})"
        lines.append(f"| {link} | {patch.title}{opt_in} | {versions_of(patch)} |")
    return "\n".join(lines)


def _file(patch: Patch) -> str:
    suffix = "" if patch.variant is None else f"__{patch.variant}"
    return f"{patch.id}{suffix}.py"


def _example() -> str:
    """A short patch of ours, whole: what is shown is what runs."""
    text = (builtin_directory() / _EXAMPLE).read_text()
    return f"```python\n{text}```"


if __name__ == "__main__":
    README.write_text(generated(README.read_text()))
    sys.exit(0)
