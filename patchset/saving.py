"""What the store keeps of a run, before any file changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from patchset.model import (
    Adopted,
    Applied,
    Digest,
    Output,
    Patch,
    PatchText,
    Place,
    Pristine,
    Subject,
)
from patchset.plan import Keep, Step, Write
from patchset.store import Store
from patchset.survey import Survey


def save(
    survey: Survey, steps: Sequence[Step], contents: Mapping[Place, bytes]
) -> None:
    """Keep every byte that will be replaced, and what will be made of it."""
    for decided in steps:
        subject = decided.subject
        store = Store(Path(subject.file.site))
        _save_adopted(store, survey, subject)
        if isinstance(decided, Write) and decided.forced:
            store.save_aside(subject.file.path, subject.file.content or b"")
        for digest in ended_adoptions(survey, subject):
            store.save_aside(subject.file.path, store.read_object(digest) or b"")
        if isinstance(decided, Write):
            _save_base(store, subject)
        if not isinstance(decided, Write) or not decided.patches:
            continue
        store.write_object(
            contents[subject.place],
            Output(
                path=subject.file.path,
                base=subject.base or Digest(""),
                edit=survey.edit,
                patches=tuple(_save_patch(store, one) for one in decided.patches),
            ),
        )
    for decided in steps:
        if isinstance(decided, Keep) and decided.entry is not None:
            _heal(survey, decided)


def ended_adoptions(survey: Survey, subject: Subject) -> tuple[Digest, ...]:
    """What the user had adopted as the base, where a forced run makes it base no more.

    Nobody else may have those bytes: like all that force replaces, they are saved.
    """
    state = survey.states.get(subject.file.site)
    if state is None or subject.adopted is not None:
        return ()
    adopted = _adopted(subject)
    return tuple(digest for digest, roles in state.roles.items() if adopted in roles)


def end_adoptions(survey: Survey, steps: Sequence[Step]) -> None:
    """RECORD's bytes are the base again, now that they lie there."""
    for decided in steps:
        if ended_adoptions(survey, decided.subject):
            store = Store(Path(decided.subject.file.site))
            store.disown(_adopted(decided.subject))


def _adopted(subject: Subject) -> Adopted:
    file = subject.file
    return Adopted(path=file.path, recorded=file.recorded or Digest(""))


def _save_adopted(store: Store, survey: Survey, subject: Subject) -> None:
    file = subject.file
    if subject.adopted is None or file.digest != subject.adopted:
        return
    state = survey.states.get(file.site)
    adopted = _adopted(subject)
    if state is None or adopted not in state.roles.get(subject.adopted, ()):
        store.adopt(file.content or b"", adopted)


def _save_base(store: Store, subject: Subject) -> None:
    """Pristine bytes as they lie there, with mode, owner and link."""
    file = subject.file
    if (
        file.content is not None
        and file.attributes is not None
        and file.digest in {subject.base, file.recorded}
    ):
        pristine = Pristine(path=file.path, attributes=file.attributes)
        store.write_object(file.content, pristine)


def _save_patch(store: Store, patch: Patch) -> Applied:
    text = store.write_object(
        patch.source.encode("utf-8"),
        PatchText(id=patch.id, variant=patch.variant, checked=patch.checked),
    )
    return Applied(id=patch.id, variant=patch.variant, code=patch.code, text=text)


def _heal(survey: Survey, kept: Keep) -> None:
    """The bytes are as wanted: let the store say of which patches, as they are now."""
    subject = kept.subject
    output = subject.own_output
    wanted = {(one.id, one.variant, one.code) for one in kept.patches}
    if (
        output is not None
        and output.edit == survey.edit
        and {one.identity for one in output.patches} == wanted
    ):
        return
    store = Store(Path(subject.file.site))
    store.write_object(
        subject.file.content or b"",
        Output(
            path=subject.file.path,
            base=subject.base or Digest(""),
            edit=survey.edit,
            patches=tuple(_save_patch(store, one) for one in kept.patches),
        ),
    )
