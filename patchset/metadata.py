"""The texts that an installer leaves in a .dist-info → their fields and digests."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from patchset.digest import from_record
from patchset.model import Digest


def parse_metadata(text: str) -> Mapping[str, str]:
    """The fields of METADATA's header that are one line each, with lower-case names.

    Enough for name and version: the first of a name counts, as it does to pip.
    """
    fields: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip():
            break
        key, separator, value = line.partition(":")
        if separator:
            fields.setdefault(key.strip().lower(), value.strip())
    return fields


def parse_record(text: str, *, below: str = "") -> Mapping[str, Digest]:
    """Path → digest for the rows of RECORD that have one, of the paths below a prefix.

    Names may hold commas and equals signs: it is CSV. Raises `csv.Error` where it is
    not.
    """
    record: dict[str, Digest] = {}
    for row in csv.reader(io.StringIO(text, newline="")):
        if len(row) > 1 and row[0].startswith(below):
            digest = from_record(row[1])
            if digest is not None:
                record[row[0]] = digest
    return record
