"""A survey and a plan → what the ledgers say when the plan is carried out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from patchset.execute import Plan
from patchset.model import Digest, Ledger
from patchset.plan import Forget, Keep, Refuse, Step, Write, memory
from patchset.survey import Survey


def next_ledgers(survey: Survey, plan: Plan) -> Mapping[str, Ledger]:
    """What each site's ledger says after the plan; only sites that need one."""
    ledgers: dict[str, Ledger] = {}
    sites = {one.subject.file.site for one in plan.steps}
    sites |= {site for site, state in survey.states.items() if state.exists}
    home = _home(survey)
    for site in sorted(sites | ({home} if home else set())):
        state = survey.states.get(site)
        old = state.ledger if state is not None else Ledger()
        new = replace(
            old,
            selection=survey.selection,
            assumed=survey.assumed,
            files=dict(sorted(_entries(plan.steps, site))),
            obsolete=_obsolete(survey, plan, site, old),
        )
        if (state is not None and state.exists) or new != Ledger():
            ledgers[site] = new
    return ledgers


def _home(survey: Survey) -> str | None:
    """Where a selection is kept when there is nothing else to keep."""
    for distribution in survey.environment.distributions.values():
        if distribution.site in survey.states:
            return distribution.site
    return None


def _entries(steps: Iterable[Step], site: str) -> Iterator[tuple[str, Digest]]:
    for decided in steps:
        file = decided.subject.file
        if file.site != site:
            continue
        match decided:
            case Keep(entry=entry) if entry is not None:
                yield file.path, entry
            case Write(digest=digest, patches=patches) if patches:
                yield file.path, digest
            case Refuse(subject=subject) if subject.entry is not None:
                yield file.path, subject.entry
            case Keep() | Write() | Refuse() | Forget():
                pass


def _obsolete(
    survey: Survey, plan: Plan, site: str, old: Ledger
) -> Mapping[str, Digest]:
    """What was known and is still about a patch that there is, and what was found."""
    kept: dict[str, Digest] = {}
    if old.obsolete:
        known = {memory(one, survey.edit) for one in survey.patches}
        kept = {name: base for name, base in old.obsolete.items() if name in known}
    for subject in survey.subjects:
        if subject.file.site == site and subject.base is not None:
            for patch in plan.obsolete.get(subject.place, ()):
                kept[memory(patch, survey.edit)] = subject.base
    return dict(sorted(kept.items()))
