"""The patches that are applied, by the texts that the store has kept of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from patchset.catalogue import Catalogue
from patchset.errors import PatchsetError, Problem, UsageError
from patchset.model import Digest, Output, Patch, PatchText, State
from patchset.patchfile import parse_patch
from patchset.store import Store


def kept_patches(
    states: Mapping[str, State], catalogues: Sequence[Catalogue]
) -> tuple[Patch, ...]:
    """The patches that are applied and whose catalogue is not given in this run."""
    given = {one.name for one in catalogues}
    found: dict[tuple[str, str | None], Patch] = {}
    for site, state in states.items():
        texts = _applied_texts(state)
        for digest, roles in state.roles.items():
            for role in roles:
                if not isinstance(role, PatchText) or digest not in texts:
                    continue
                name = role.id.rpartition(":")[0]
                if (name or None) in given:
                    continue
                content = Store(Path(site)).read_object(digest)
                if content is None:
                    raise PatchsetError(_torn_text(site, digest, role))
                origin = str(Path(site, ".patchset", "objects", digest[7:]))
                found[(role.id, role.variant)] = _kept_patch(role, content, origin)
    return tuple(found[key] for key in sorted(found, key=lambda k: (k[0], k[1] or "")))


def _kept_patch(role: PatchText, content: bytes, origin: str) -> Patch:
    catalogue, _, rest = role.id.rpartition(":")
    package, _, defect = rest.partition("/")
    try:
        return parse_patch(
            content.decode("utf-8"),
            package=package,
            stem=f"{defect}__{role.variant}" if role.variant else defect,
            catalogue=catalogue,
            origin=origin,
            checked=role.checked,
        )
    except (UnicodeDecodeError, UsageError) as error:
        raise PatchsetError(
            Problem(
                kind="corrupt-state",
                message=f"{origin}: the kept text of {role.id} cannot be read: {error}",
                hint="patchset --patches DIR status, with its catalogue",
                path=origin,
                patch=role.id,
            )
        ) from error


def _torn_text(site: str, digest: Digest, role: PatchText) -> Problem:
    """Without its text, an applied patch would look as if nobody declared it."""
    path = Path(site, ".patchset", "objects", digest[7:])
    return Problem(
        kind="corrupt-state",
        message=f"{path}: found other bytes than the text of {role.id} that is "
        "applied here",
        hint=f"patchset --patches DIR apply, with the catalogue of {role.id}",
        path=str(path),
        patch=role.id,
    )


def _applied_texts(state: State) -> set[Digest]:
    """The patch texts that the outputs of the last run were made of."""
    return {
        applied.text
        for path, digest in state.ledger.files.items()
        for role in state.roles.get(digest, ())
        if isinstance(role, Output) and role.path == path
        for applied in role.patches
    }
