"""Searches the output of the gateway and its plugins for secrets of a test run.

Test servers and suites register each secret (`keep_secret`), and store output that is written nowhere
else, such as the bodies of errors (`keep_written`). At the end of the run, `sluicegate_testing.leaks`
searches logs, databases, and the stored output for all secrets. Outside of a run, nothing is
registered.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from ahocorasick_rs import BytesAhoCorasick

# Shorter texts are not secrets, and could occur by chance.
_SHORTEST = 8
_PEM_BOUNDARY = "-----"
# Logs and databases of servers that tests run next to gateways have other names.
_SEARCHED = ("gateway.log", ".db", ".db-wal")
# Spark's event logs have the name of the application, with this prefix if they are rolled.
_EVENTS = re.compile(r"(?:events_\d+_)?(?:local|app)-\d[\w-]*(?:\.inprogress)?")
_MOST_REPEATS = 5
_REGISTER = "SLUICEGATE_TEST_SECRETS"
_SIGNED_BY = ("X-Amz-Signature", "X-Amz-Security-Token", "X-Goog-Signature", "sig", "Signature")


@dataclass(frozen=True)
class Findings:
    """The result of a search.

    Attributes:
        files: Number of non-empty files that were searched.
        leaks: Each file that contains a secret, with the secret's first characters.
    """

    files: int
    leaks: tuple[str, ...]


def keep_secret(*secrets: str) -> None:
    """Register secrets until the end of the run, for all of its processes.

    Args:
        secrets: Texts. Lines of a private key in PEM format are registered separately.
    """
    lines = (line for secret in secrets for line in secret.splitlines())
    kept = [line for line in lines if len(line) >= _SHORTEST and not line.startswith(_PEM_BOUNDARY)]
    if register := _register():
        with register.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in kept)


def keep_url_secret(*urls: str) -> None:
    """Register the signatures of URLs."""
    for url in urls:
        query = parse_qs(urlsplit(url).query)
        keep_secret(*(value for name in _SIGNED_BY for value in query.get(name, ())))


def keep_credentials(credentials: Mapping[str, Any]) -> None:
    """Register the secrets of `TemporaryCredentials`, in the protocol's format."""
    for secret in credentials.values():
        if isinstance(secret, Mapping):
            keep_secret(*(text for name, text in secret.items() if name != "accessKeyId"))


def keep_written(what: str, content: bytes) -> None:
    """Store output, so that it is searched at the end of the run.

    Args:
        what: Its kind, which is the name of the file: `errors`, `spans`.
        content: The output.
    """
    if register := _register():
        with register.with_name(f"{what}.gateway.log").open("ab") as file:
            file.write(content + b"\n")


def begin_register(file: Path) -> None:
    """Register secrets in a file, in this process and in those that are started from now on."""
    file.touch()
    os.environ[_REGISTER] = str(file)


def registered() -> frozenset[str]:
    """Return all secrets of the run."""
    register = _register()
    kept = "" if register is None else register.read_text(encoding="utf-8")
    return frozenset(kept.split("\n")) - {""}


def used_by_several(secrets: Iterable[str], modules: Iterable[Path]) -> list[str]:
    """Return the secrets that more than one of these test modules contains."""
    held = _finder([secret.encode() for secret in secrets])
    found = Counter(secret for module in modules for secret in held(module.read_bytes()))
    return sorted(secret.decode() for secret, modules_with_it in found.items() if modules_with_it > 1)


def search(folders: Iterable[Path], secrets: Iterable[str]) -> Findings:
    """Search logs, databases and Spark's event logs in folders, for plain and percent-encoded secrets.

    A database that is being closed deletes its write-ahead log. The content may have moved to a file
    that was read before, so all files are read again.
    """
    wanted = {spelling: secret for secret in secrets for spelling in _spellings(secret)}
    places = list(folders)
    for _ in range(_MOST_REPEATS):
        with suppress(FileNotFoundError):
            return _search(places, wanted)
    return _search(places, wanted)


def _search(folders: Sequence[Path], wanted: Mapping[bytes, str]) -> Findings:
    files = [file for folder in folders for file in _written(folder) if file.stat().st_size]
    held = _finder(list(wanted))
    leaks = [
        f"{file}: {wanted[spelling][:4]}…" for file in files for spelling in held(file.read_bytes())
    ]
    return Findings(len(files), tuple(leaks))


def _register() -> Path | None:
    register = os.environ.get(_REGISTER)
    return None if register is None else Path(register)


def _finder(spellings: list[bytes]) -> Callable[[bytes], list[bytes]]:
    """Return a function that finds all spellings in one pass: a run has thousands of secrets."""
    automaton = BytesAhoCorasick(spellings)

    def held(content: bytes) -> list[bytes]:
        found = automaton.find_matches_as_indexes(content, overlapping=True)
        return [spellings[number] for number in sorted({number for number, _, _ in found})]

    return held


def _spellings(secret: str) -> set[bytes]:
    return {secret.encode(), quote(secret, safe="").encode()}


def _written(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (
            Path(place, name) for name in names if name.endswith(_SEARCHED) or _EVENTS.fullmatch(name)
        )
