"""What an installed package asks of another one, and what of it cannot work."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from patchset.analysis.bind import Binder
from patchset.analysis.findings import Cure, Finding, with_cures
from patchset.analysis.modules import Program, module_name
from patchset.analysis.source import Source, python_files
from patchset.analysis.uses import Uses
from patchset.analysis.values import Values


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """The findings for one pair of packages, and what was read for them."""

    findings: tuple[Finding, ...]
    unread: Mapping[str, str]
    """Path → why it could not be parsed: what is in it was not judged."""
    read: tuple[str, ...]
    """The files that were parsed."""

    @property
    def ok(self) -> bool:
        """Whether nothing was found that cannot work."""
        return not self.findings


def diagnose(
    client: str,
    library: str,
    sources: Mapping[str, Source],
    patches: Sequence[Cure] = (),
) -> Diagnosis:
    """Bind every use that one import package makes of another to what is there.

    `sources` says where the files of each package are. Reported is what is sure to
    fail: what cannot be followed (a name got by `getattr`, a value of unknown type, a
    decorator that is not understood) is not. An import that only a type checker makes
    is not reported, as it never runs, but the types that it names are used.
    """
    program = Program(packages={name: sources[name] for name in (client, library)})
    values = Values.over(program, client)
    names = relevant(program, client, library)
    modules = [module for name in names if (module := program.module(name)) is not None]
    subclassed = frozenset(
        base.partition(".")[0]
        for module in modules
        for base in re.findall(
            r"^\s*class\s+\w+\(([\w., ]+)", module.text, re.MULTILINE
        )
        for base in re.split(r"[,\s]+", base)
    )
    findings: list[Finding] = []
    for module in modules:
        binder = Binder(
            uses=Uses(values=values, module=module),
            libraries=frozenset({library}),
            subclassed=subclassed,
        )
        findings += binder.run()
    read = tuple(
        sorted(each.path for each in program.modules.values() if each and each.text)
    )
    return Diagnosis(
        findings=with_cures(findings, patches), unread=program.unread, read=read
    )


def relevant(program: Program, client: str, library: str) -> list[str]:
    """Return the modules of the client that use the library, in the order of paths.

    Those that import it, and those that get from them a name of the library, a class,
    or what is built on one: told by the words in their texts, so that nothing else is
    parsed.
    """
    source = program.packages[client]
    asks = re.compile(
        rf"^\s*(?:from|import)\s[^#\n]*\b{library}\b".encode(), re.MULTILINE
    )
    texts = {path: source.read(path) or b"" for path in python_files(source, client)}
    chosen = {path for path, text in texts.items() if asks.search(text)}
    words: dict[str, frozenset[bytes]] = {}
    pending = [(path, _handed_on(texts[path], library)) for path in sorted(chosen)]
    while pending:
        path, names = pending.pop()
        last = module_name(path).rpartition(".")[2].encode()
        for other in texts.keys() - chosen:
            if other not in words:
                words[other] = frozenset(_WORD.findall(texts[other]))
            shared = names & words[other] if last in words[other] else frozenset()
            if shared:
                chosen.add(other)
                pending.append((other, _built_on(texts[other], shared)))
    return [module_name(path) for path in sorted(chosen)]


_WORD = re.compile(rb"\w+")
_CLASS = re.compile(rb"^class\s+(\w+)(?:\(([^)]*)\))?", re.MULTILINE)
_IMPORTED = re.compile(
    rb"^\s*from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE
)


def _handed_on(text: bytes, library: str) -> frozenset[bytes]:
    """Return what a module that imports the library may hand on: its names, classes."""
    names = {name for name, _ in _CLASS.findall(text)}
    for module, what in _IMPORTED.findall(text):
        if module.partition(b".")[0] == library.encode():
            names.update(_WORD.findall(what))
    return frozenset(names - {b"as", b"import"})


def _built_on(text: bytes, names: frozenset[bytes]) -> frozenset[bytes]:
    """Return what a module hands on of these names: themselves, and subclasses."""
    built = {
        name
        for name, bases in _CLASS.findall(text)
        if names & set(_WORD.findall(bases))
    }
    return names | built
