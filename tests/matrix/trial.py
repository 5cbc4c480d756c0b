"""One pair of releases: the verdict of every patch, and the bytes that come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from patchset.analysis.doctor import diagnose
from patchset.analysis.source import Overlay
from patchset.catalogue import builtin_directory, edit_digest, read_catalogue
from patchset.digest import of_bytes
from patchset.interpreter import compile_error
from patchset.model import Digest, Patch, Selection
from patchset.plan import recipe
from patchset.rehearse import Rehearsal, rehearse
from patchset.rewrite import Folded, Refused, fold
from tests.matrix.releases import TRANSFORMERS, Published, wheel_of


@dataclass
class Trials:
    """Folds that were done once are not done again: most pairs share their files."""

    patches: Sequence[Patch]
    edit: Digest = field(default_factory=edit_digest)
    _folded: dict[tuple[Digest, tuple[str, ...]], Folded | Refused] = field(
        default_factory=dict
    )

    @classmethod
    def of_catalogue(cls, checked: Mapping[str, str] | None = None) -> Trials:
        """Of the built-in patches; `checked` stands for the table that is to be."""
        patches = read_catalogue(builtin_directory(), None).patches
        if checked is not None:
            patches = tuple(replace(one, checked=checked) for one in patches)
        return cls(patches=patches)

    def run(
        self, versions: Mapping[str, str]
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The row of the matrix and the golden rows of one pair."""
        there = {**versions, "transformers": TRANSFORMERS}
        releases = {name: Published(name, one) for name, one in there.items()}
        plain = self.rehearse(releases, Selection())
        opted = self.rehearse(releases, Selection(plus=self._opt_in()))
        verdicts = {row.patch.id: row.verdict.value for row in plain.rows}
        row = {
            **versions,
            "ok": plain.is_well,
            "verdicts": verdicts,
            "findings": self._findings(plain, versions),
        }
        golden = [*self.golden(plain, versions), *self.golden(opted, versions)]
        return row, golden

    def _findings(self, rehearsal: Rehearsal, versions: Mapping[str, str]) -> list[str]:
        """What `doctor` still finds where the patches are applied."""
        contents = {file.path: file.content for file in rehearsal.files}
        sources = {
            name: Overlay(base=wheel_of(name, version), files=contents)
            for name, version in versions.items()
        }
        found = diagnose("speculators", "vllm", sources).findings
        return sorted({f"{one.kind.value} {one.symbol}: {one.found}" for one in found})

    def rehearse(
        self, releases: Mapping[str, Published], selection: Selection
    ) -> Rehearsal:
        """What `apply` would do with these releases."""
        return rehearse(releases, self.patches, selection=selection, folding=self._fold)

    def golden(
        self, rehearsal: Rehearsal, versions: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        """The rows by which the same bytes are recognised without any codemod."""
        return [
            {
                "package": file.package,
                "version": versions[file.package],
                "path": file.path,
                "pristine": file.pristine,
                "patches": sorted(patch.id for patch in file.patches),
                "recipe": recipe(file.patches, self.edit),
                "patched": file.patched,
            }
            for file in rehearsal.files
        ]

    def _opt_in(self) -> tuple[str, ...]:
        return tuple(sorted({one.id for one in self.patches if one.opt_in}))

    def _fold(
        self, base: bytes, patches: Sequence[Patch], path: str
    ) -> Folded | Refused:
        names = tuple(sorted(f"{one.id} {one.variant}" for one in patches))
        key = (of_bytes(base), names)
        if key not in self._folded:
            self._folded[key] = fold(base, patches, path=path, compiles=compile_error)
        return self._folded[key]
