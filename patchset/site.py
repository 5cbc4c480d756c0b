"""Sites → which distribution provides an import package."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchset.claims import INFO, Claim, is_hint, read_claim
from patchset.errors import Problem
from patchset.interpreter import Interpreter
from patchset.model import (
    Distribution,
    Environment,
    Site,
)

_LEFTOVER = re.compile(r"~.*")


def find_distributions(
    interpreter: Interpreter, packages: Iterable[str]
) -> Environment:
    """The environment with the provider of each import package that is installed."""
    found: dict[str, Distribution] = {}
    notes: list[str] = []
    listings = [_list_site(site) for site in _all_sites(interpreter)]
    for package in sorted(set(packages)):
        distribution = _provider(package, listings, notes)
        if distribution is not None:
            found[package] = distribution
    notes.extend(
        f"{listing.site.path}: leftovers of an interrupted pip are ignored: "
        f"{', '.join(listing.leftovers)}"
        for listing in listings
        if listing.leftovers
    )
    return Environment(
        python=interpreter.python,
        executable=interpreter.executable,
        sites=tuple(site for site in interpreter.sites if site.ours),
        distributions=found,
        notes=tuple(dict.fromkeys(notes)),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Listing:
    """One look at a site: the names in it, never what is in all its RECORDs."""

    site: Site
    names: frozenset[str]
    leftovers: tuple[str, ...]
    archive: bool = False


def _all_sites(interpreter: Interpreter) -> Iterator[Site]:
    """The sites, and after each the directories that its .pth files add."""
    seen = set()
    for site in interpreter.sites:
        for each in (site, *_pth_sites(site)):
            if each.path not in seen:
                seen.add(each.path)
                yield each


def _pth_sites(site: Site) -> Iterator[Site]:
    root = Path(site.path)
    for pth in sorted(root.glob("*.pth")) if root.is_dir() else ():
        try:
            lines = pth.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            entry = line.strip()
            if not entry or entry.startswith(("#", "import ", "import\t")):
                continue
            path = root / entry
            if path.is_dir():
                yield Site(path=str(path), ours=False, origin=f"{pth.name}")


def _list_site(site: Site) -> _Listing:
    path = Path(site.path)
    if path.is_file():
        archived = _names_in_archive(path)
        return _Listing(site=site, names=archived, leftovers=(), archive=True)
    try:
        names = set(os.listdir(path))  # noqa: PTH208 - names are all that is wanted
    except OSError:
        names = set()
    leftovers = sorted(name for name in names if _LEFTOVER.fullmatch(name))
    return _Listing(site=site, names=frozenset(names), leftovers=tuple(leftovers))


def _names_in_archive(path: Path) -> frozenset[str]:
    """What imports would find in an archive: nothing, if it is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(name.partition("/")[0] for name in archive.namelist())
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return frozenset()


def _provider(
    package: str, listings: Sequence[_Listing], notes: list[str]
) -> Distribution | None:
    """The provider in the first site that has the package, as imports go."""
    for listing in listings:
        if package in listing.names and listing.archive:
            return _archived(package, listing.site)
        there = Path(listing.site.path, package, "__init__.py").is_file()
        hinted = [name for name in sorted(listing.names) if is_hint(name, package)]
        claims = [read_claim(listing.site, name, package) for name in hinted]
        editable = next((one for one in claims if one.editable is not None), None)
        if editable is not None:
            return _obstructed(package, listing.site, editable, _editable(editable))
        if not there:
            continue
        strong = [one for one in claims if one.record]
        if not strong:
            others = sorted(listing.names - set(hinted))
            rest = [n for n in others if INFO.fullmatch(n)]
            read = [read_claim(listing.site, name, package) for name in rest]
            strong = [one for one in read if one.record]
        return _chosen(package, listing.site, strong, claims, notes)
    return None


def _chosen(
    package: str,
    site: Site,
    strong: Sequence[Claim],
    claims: Sequence[Claim],
    notes: list[str],
) -> Distribution:
    if not strong:
        weak = claims[0] if claims else None
        return _obstructed(package, site, weak, _no_record(package, site, weak))
    notes.extend(
        f"{claim.info} has no digest for the files of {package}: ignored"
        for claim in claims
        if claim not in strong
    )
    ordered = sorted(strong, key=lambda one: (one.name != package, one.info))
    first = ordered[0]
    names = " and ".join(one.info for one in ordered)
    for other in ordered[1:]:
        if _differ(first, other):
            return _obstructed(package, site, first, _two_owners(package, names))
    if len(ordered) > 1:
        notes.append(f"{names} claim the same files of {package}: {first.info} is used")
    obstacle = None if site.ours else _foreign(package, site, first)
    return Distribution(
        package=package,
        name=first.name,
        version=first.version,
        site=site.path,
        record=first.record,
        obstacle=obstacle,
    )


def _differ(one: Claim, other: Claim) -> bool:
    shared = one.record.keys() & other.record.keys()
    return one.version != other.version or any(
        one.record[path] != other.record[path] for path in shared
    )


# --- obstacles -------------------------------------------------------------------


def _obstructed(
    package: str, site: Site, claim: Claim | None, problem: Problem
) -> Distribution:
    return Distribution(
        package=package,
        name=package if claim is None else claim.name,
        version="" if claim is None else claim.version,
        site=site.path,
        record={} if claim is None else claim.record,
        obstacle=problem,
    )


def _archived(package: str, site: Site) -> Distribution:
    problem = Problem(
        kind="archive",
        message=f"{package} is installed inside an archive, {site.path}: "
        "nothing in it can be patched",
        hint=f"pip install {package} into an environment, and unset PYTHONPATH",
    )
    return _obstructed(package, site, None, problem)


def _editable(claim: Claim) -> Problem:
    source = (claim.editable or "").removeprefix("file://") or "a checkout"
    return Problem(
        kind="editable",
        message=f"{claim.name} is an editable install of {source}: "
        "patching it would change somebody's checkout",
        hint=f"change the source in {source}, or pip install {claim.name} "
        "without --editable",
    )


def _no_record(package: str, site: Site, claim: Claim | None) -> Problem:
    found = (
        f"no .dist-info claims {package}/"
        if claim is None
        else f"the RECORD of {claim.info} has no digest for {package}/"
    )
    name = package if claim is None else claim.name
    return Problem(
        kind="no-record",
        message=f"{site.path}: {found}: nothing says what is pristine",
        hint=f"pip install --force-reinstall --no-deps {name}",
    )


def _two_owners(package: str, names: str) -> Problem:
    return Problem(
        kind="two-owners",
        message=f"{names} both claim the files of {package}, and differ",
        hint="pip uninstall one of the two, and reinstall the other",
    )


def _foreign(package: str, site: Site, claim: Claim) -> Problem:
    parent = site.origin.removeprefix("the parent environment ")
    hint = (
        f"patchset --python {parent} apply"
        if parent != site.origin
        else f"pip install {claim.name} into the environment itself"
    )
    return Problem(
        kind="foreign-site",
        message=f"{package} comes from {site.path} ({site.origin}), "
        "which is not the environment's own",
        hint=hint,
    )
