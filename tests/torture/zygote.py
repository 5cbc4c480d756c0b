"""A process that has imported everything, and forks one run of patchset per request.

A run can be told to be killed, to be signalled, or to fail at its nth effect: every
call that creates, writes, syncs, renames, removes or marks a file below a directory.
Python's audit events name these calls, whatever module makes them; writing and syncing
have no event, so that their functions are replaced in the child.
"""

from __future__ import annotations

import functools
import io
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import IO, Any, NoReturn

import patchset.catalogue
import patchset.cli.change
import patchset.cli.look
import patchset.report
import patchset.rewrite
import patchset.survey
from patchset.cli import main

_EVENTS = frozenset(
    {
        "open",
        "os.chmod",
        "os.chown",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.setxattr",
        "os.symlink",
        "os.truncate",
        "os.utime",
    }
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_NEEDS_SPACE = frozenset({"open", "write", "os.mkdir", "os.symlink", "os.link"})


class _Effects:
    """Counts the effects of this process, and does what was asked at one of them."""

    def __init__(self, root: str, fault: dict[str, Any]) -> None:
        self.names: list[str] = []
        self._root = root
        self._fault = fault

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _EVENTS:
            return
        if event == "open" and not self._writes(arguments):
            return
        subject = arguments[0]
        if isinstance(subject, str | bytes | os.PathLike):
            path = os.fsdecode(os.fspath(subject))
            if path.startswith("/") and not path.startswith(self._root):
                return
        self.happen(event)

    def happen(self, name: str) -> None:
        index = len(self.names)
        self.names.append(name)
        kind, at = self._fault.get("kind"), self._fault.get("at", -1)
        if kind == "error":
            number = self._fault["errno"]
            lasting = self._fault.get("lasting") and index >= at
            if self._fault.get("space") and name not in _NEEDS_SPACE:
                return
            if lasting or index == at:
                raise OSError(number, os.strerror(number), name)
        elif index != at:
            return
        elif kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif kind == "signal":
            os.kill(os.getpid(), self._fault["signal"])
        elif kind == "edit":
            _edit(self._fault["path"])

    @staticmethod
    def _writes(arguments: tuple[Any, ...]) -> bool:
        path, _, flags = arguments
        if not isinstance(path, str | bytes | os.PathLike):
            return False  # a descriptor that was opened before
        return isinstance(flags, int) and bool(flags & _WRITING)


def _edit(path: str) -> None:
    """What an editor would do meanwhile; unseen by the count."""
    descriptor = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", 'echo "# mine" > "$0.mine"; mv "$0.mine" "$0"', path],
        {},
    )
    os.waitpid(descriptor, 0)


class _Torn(io.BytesIO):
    """A file in which a write happens in two halves, and something between them."""

    def __init__(self, file: Any, happen: Callable[[str], None]) -> None:  # noqa: ANN401
        super().__init__()
        self._file = file
        self._happen = happen

    def write(self, content: Any) -> int:  # noqa: ANN401 - as io has it
        half = len(content) // 2
        self._file.write(content[:half])
        self._file.flush()
        self._happen("write")
        self._file.write(content[half:])
        return len(content)

    def flush(self) -> None:
        self._file.flush()

    def fileno(self) -> int:
        return int(self._file.fileno())

    def close(self) -> None:
        self._file.close()
        super().close()


def _watch(effects: _Effects) -> None:
    fsync, fdopen = os.fsync, os.fdopen

    def counted_fsync(descriptor: int) -> None:
        effects.happen("fsync")
        fsync(descriptor)

    def torn_fdopen(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        file = fdopen(*arguments, **named)
        return _Torn(file, effects.happen) if file.writable() else file

    vars(os).update(fsync=counted_fsync, fdopen=torn_fdopen)
    sys.addaudithook(effects.hear)


def _run(request: dict[str, Any], out: int, err: int, log: int) -> NoReturn:
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.environ.update(request["environ"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    effects = _Effects(request["root"], request["fault"] or {})
    if request["fault"]:
        _watch(effects)
    if request["uid"] is not None:
        os.setgroups([])
        os.setgid(request["uid"])
        os.setuid(request["uid"])
    code = 70
    try:
        main(request["arguments"])
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 1
    except BaseException:  # noqa: BLE001 - a traceback is a failure of the test
        traceback.print_exc()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(log, json.dumps(effects.names).encode())
    os._exit(code)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        tempfile.TemporaryFile() as log,
    ):
        child = os.fork()
        if child == 0:
            _run(request, out.fileno(), err.fileno(), log.fileno())
        _, status = os.waitpid(child, 0)
        return {
            "code": os.waitstatus_to_exitcode(status),
            "out": _read(out),
            "err": _read(err),
            "effects": json.loads(_read(log) or "[]"),
        }


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _warm() -> None:
    """What every run would read again, and never changes, is read before the forks."""
    catalogue = functools.cache(patchset.catalogue.read_catalogue)
    digest = functools.cache(patchset.catalogue.edit_digest)
    vars(patchset.catalogue).update(read_catalogue=catalogue)
    vars(patchset.survey).update(edit_digest=digest)
    patchset.catalogue.read_catalogues(())
    digest()


if __name__ == "__main__":
    _warm()
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)
