"""What failed, where, why and what to type next; how it looks is `report`'s."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One failure, as a value: a row of the report and of `errors` in the JSON."""

    kind: str
    """A short stable word for machines: `drifted`, `version`, `no-record`, …"""
    message: str
    """Names the file, what was found and what was wanted."""
    hint: str
    """The next command to type, or the next thing to do."""
    path: str | None = None
    """The file, relative to its site, where there is one."""
    patch: str | None = None
    """The id of the patch, where there is one."""


class PatchsetError(Exception):
    """All problems of one run that stop it; nothing was changed."""

    exit_code = 3

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(problem.message for problem in problems))
        self.problems = problems


class UsageError(PatchsetError):
    """A bad option, a bad patch file, an unknown id."""

    exit_code = 2


class Mismatch(Exception):  # noqa: N818 - the name is the patch authors' word
    """A codemod met code that is not what it was written for.

    `edit` raises it with what was looked for, how many were found and where;
    `rewrite` turns it into a refusal that names the patch and the file.
    """


class TooLongError(BaseException):
    """The code of a patch did not end in time.

    No `except Exception` of that code catches it; `rewrite` turns it into a refusal.
    """
