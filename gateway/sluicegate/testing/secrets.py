"""Looks for the secrets of a test run in all that the gateway and its plugins wrote.

Test servers and suites register each secret when they learn it (`keep_secret`), and keep what is
written nowhere else, such as the bodies of errors (`keep_written`). At the end of the run
`sluicegate.testing.leaks` searches logs, databases and what was kept for all of them. Outside of a run
nothing is remembered.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

# A shorter text is no secret, and would be found by chance.
_SHORTEST = 8
# Of servers that tests run beside gateways, logs and databases have other names.
_SEARCHED = ("gateway.log", ".db", ".db-wal")
# Spark's event logs are named after the application, with this before it where they roll.
_EVENTS = re.compile(r"(?:events_\d+_)?(?:local|app)-\d[\w-]*(?:\.inprogress)?")
_MOST_REPEATS = 5
_REGISTER = "SLUICEGATE_TEST_SECRETS"
_SIGNED_BY = ("X-Amz-Signature", "X-Amz-Security-Token", "X-Goog-Signature", "sig", "Signature")


@dataclass(frozen=True)
class Findings:
    """What a search saw.

    Attributes:
        files: How many files that are not empty were searched.
        leaks: Each file that holds a secret, and the secret's first characters.
    """

    files: int
    leaks: tuple[str, ...]


def keep_secret(*secrets: str) -> None:
    """Remember secrets until the end of the run, for all of its processes."""
    if register := _register():
        with register.open("a", encoding="utf-8") as file:
            file.writelines(f"{secret}\n" for secret in secrets if len(secret) >= _SHORTEST)


def keep_url_secret(*urls: str) -> None:
    """Remember what signs URLs."""
    for url in urls:
        query = parse_qs(urlsplit(url).query)
        keep_secret(*(value for name in _SIGNED_BY for value in query.get(name, ())))


def keep_credentials(credentials: Mapping[str, Any]) -> None:
    """Remember the secrets of `TemporaryCredentials`, as the protocol spells them."""
    for secret in credentials.values():
        if isinstance(secret, Mapping):
            keep_secret(*(text for name, text in secret.items() if name != "accessKeyId"))


def keep_written(what: str, content: bytes) -> None:
    """Keep something that was written, so that it is searched at the end.

    Args:
        what: Its kind, which names the file: `errors`, `spans`.
        content: Its bytes.
    """
    if register := _register():
        with register.with_name(f"{what}.gateway.log").open("ab") as file:
            file.write(content + b"\n")


def begin_register(file: Path) -> None:
    """Remember in a file; processes that are started from now on do, too."""
    file.touch()
    os.environ[_REGISTER] = str(file)


def registered() -> frozenset[str]:
    """All secrets of the run."""
    register = _register()
    kept = "" if register is None else register.read_text(encoding="utf-8")
    return frozenset(kept.split("\n")) - {""}


def search(folders: Iterable[Path], secrets: Iterable[str]) -> Findings:
    """Search logs, databases and Spark's event logs below some folders, plain and percent-encoded.

    A database that is being closed loses its own log: what that held may have moved to a file that was
    read before, so all is read again.
    """
    wanted = {spelling: secret for secret in secrets for spelling in _spellings(secret)}
    places = list(folders)
    for _ in range(_MOST_REPEATS):
        with suppress(FileNotFoundError):
            return _search(places, wanted)
    return _search(places, wanted)


def _search(folders: Sequence[Path], wanted: Mapping[bytes, str]) -> Findings:
    files = [file for folder in folders for file in _written(folder) if file.stat().st_size]
    leaks = [
        f"{file}: {wanted[spelling][:4]}…"
        for file in files
        for spelling in _held(file.read_bytes(), wanted)
    ]
    return Findings(len(files), tuple(leaks))


def _register() -> Path | None:
    register = os.environ.get(_REGISTER)
    return None if register is None else Path(register)


def _held(content: bytes, spellings: Iterable[bytes]) -> list[bytes]:
    return [spelling for spelling in spellings if spelling in content]


def _spellings(secret: str) -> set[bytes]:
    return {secret.encode(), quote(secret, safe="").encode()}


def _written(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (
            Path(place, name) for name in names if name.endswith(_SEARCHED) or _EVENTS.fullmatch(name)
        )
