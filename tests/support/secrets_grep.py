"""Looks for the secrets of a whole test run in all that gateways wrote: logs and databases.

A suite registers each secret when it learns it (`keep_secret`); at the end of the session the files
below the run's temporary folder are searched for all of them. Where nothing was searched, or a secret
that was planted is not found, the search itself is what fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

# A shorter text is no secret, and would be found by chance.
_SHORTEST = 8
# Of servers that tests run beside gateways, logs and databases have other names.
_SEARCHED = ("gateway.log", ".db", ".db-wal")
_REGISTER = "SLUICEGATE_TEST_SECRETS"
_SIGNED_BY = ("X-Amz-Signature", "X-Amz-Security-Token", "X-Goog-Signature", "sig", "Signature")


@dataclass(frozen=True)
class Findings:
    """What a search saw.

    Attributes:
        files: How many files were searched.
        leaks: Each file that holds a secret, and the secret's first characters.
    """

    files: int
    leaks: tuple[str, ...]


def keep_secret(*secrets: str) -> None:
    """Remember secrets until the end of the run, for all of its processes."""
    register = os.environ.get(_REGISTER)
    if register is None:
        return  # the module is used outside of a run
    with Path(register).open("a", encoding="utf-8") as file:
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


def begin_register(file: Path) -> None:
    """Start to remember, in a new file; processes that are started from now on do, too."""
    file.write_text("")
    os.environ[_REGISTER] = str(file)


def registered() -> frozenset[str]:
    """All secrets of the run."""
    return frozenset(Path(os.environ[_REGISTER]).read_text(encoding="utf-8").split("\n")) - {""}


def search(folders: Iterable[Path], secrets: Iterable[str]) -> Findings:
    """Search logs and databases below some folders, plain and percent-encoded."""
    wanted = {spelling: secret for secret in secrets for spelling in _spellings(secret)}
    files = [file for folder in folders for file in _written(folder)]
    leaks = [
        f"{file}: {wanted[spelling][:4]}…"
        for file in files
        for spelling in _held(file.read_bytes(), wanted)
    ]
    return Findings(len(files), tuple(leaks))


def _held(content: bytes, spellings: Iterable[bytes]) -> list[bytes]:
    return [spelling for spelling in spellings if spelling in content]


def _spellings(secret: str) -> set[bytes]:
    return {secret.encode(), quote(secret, safe="").encode()}


def _written(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if name.endswith(_SEARCHED))
