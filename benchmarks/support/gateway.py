"""A gateway as its users run it, for one recipient: a process of its own on a free port."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support.gateways.gateway import (
    RunningGateway,
    run_here,
    running_gateway,
    write_configuration,
)

from benchmarks.support.http import encode

RECIPIENT = "acme"


@dataclass(frozen=True)
class ServedGateway:
    """A gateway process that answers."""

    pid: int
    address: str
    endpoint: str
    token: str

    def request(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> bytes:
        """A request of the recipient for a path below the endpoint, as it goes over the wire."""
        authorization = {"authorization": f"Bearer {self.token}"}
        return encode(method, self.endpoint + path, authorization | dict(headers or {}), body)


@contextmanager
def gateway(
    folder: Path, shares: Mapping[str, Any], storage: Mapping[str, Any], **settings: Any
) -> Iterator[ServedGateway]:
    """Configure and serve, until the block ends; the arguments are those of `configure`."""
    configure(folder, shares, storage, **settings)
    with running_gateway(folder) as running:
        yield as_recipient(running)


def configure(
    folder: Path, shares: Mapping[str, Any], storage: Mapping[str, Any], **settings: Any
) -> None:
    """Write a configuration that shares raw paths in one storage with one recipient."""
    configuration = {"catalogs": {"raw": {"type": "paths"}}, "storage": [storage], **settings}
    recipients = {RECIPIENT: {"shares": list(shares)}}
    write_configuration(folder, configuration, {"shares": shares, "recipients": recipients})


def as_recipients(folder: Path, served: ServedGateway, count: int) -> Sequence[ServedGateway]:
    """The gateway as so many recipients see it, each with a token of its own.

    They are added to the configuration of a folder, and get the same shares as the first recipient.
    """
    file = folder / "shares.yaml"
    shares = json.loads(file.read_text())
    names = [f"{RECIPIENT}-{number}" for number in range(count)]
    shares["recipients"] |= dict.fromkeys(names, shares["recipients"][RECIPIENT])
    file.write_text(json.dumps(shares))
    run_here(folder, "apply", "shares.yaml", "--offline")
    return [replace(served, token=_new_token(folder, name)) for name in names]


def _new_token(folder: Path, name: str) -> str:
    profile = folder / f"{name}.share"
    run_here(folder, "recipient", "rotate", name, "--profile", str(profile))
    token: str = json.loads(profile.read_text())["bearerToken"]
    return token


def as_recipient(running: RunningGateway) -> ServedGateway:
    """The gateway as the recipient sees it, with a token of its own."""
    token = json.loads(running.profile(RECIPIENT).read_text())["bearerToken"]
    return ServedGateway(running.process.pid, running.address, running.endpoint, token)
