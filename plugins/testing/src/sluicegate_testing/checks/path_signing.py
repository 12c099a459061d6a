"""Checks of storages that sign percent-encoded paths. `StorageBehaviour` contains them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar, Literal
from uuid import UUID

import pytest

from sluicegate.api import (
    ObjectRequest,
    PathSigner,
    PermissionDenied,
    Storage,
    quote_keys,
    url_label,
)
from sluicegate_testing.secrets import keep_url_secret
from sluicegate_testing.vending import outside_of

Put = Callable[[str, bytes], Awaitable[None]]
Method = Literal["GET", "HEAD"]
Send = Callable[[Method, str, Mapping[str, str]], Awaitable[bytes]]

METHODS: Sequence[Method] = ("GET", "HEAD")


class PathSigningBehaviour:
    """Skipped if the storage is no `PathSigner`.

    Attributes:
        awkward_names: See `StorageBehaviour`.
    """

    awkward_names: ClassVar[Sequence[str]]

    @pytest.mark.parametrize("label", [None, url_label(str(UUID(int=1)))])
    async def test_signed_paths_read_the_objects_of_their_directory(
        self, presigning: Storage, put: Put, send: Send, label: str | None
    ) -> None:
        signer, directory = _path_signer(presigning), f"{presigning.prefix}signed/a b/"
        for name in self.awkward_names:
            await put(f"{directory}{name}", name.encode())
        paths = [quoted.encode() for quoted in quote_keys(self.awkward_names)]
        for method in METHODS:
            request = ObjectRequest(method, label=label)
            signed = await signer.sign_paths(request, directory, paths, 600)
            urls = signed.urls(paths)
            keep_url_secret(*urls)
            assert time.time() * 1000 < signed.expires_at <= (time.time() + 600) * 1000
            read = [(await send(method, url, {})).decode() for url in urls]
            assert read == (list(self.awkward_names) if method == "GET" else [""] * len(urls))

    async def test_paths_of_directories_outside_are_refused(self, presigning: Storage) -> None:
        signer = _path_signer(presigning)
        for outside in outside_of(presigning.prefix):
            with pytest.raises(PermissionDenied):
                await signer.sign_paths(ObjectRequest(), f"{outside}/", [b"part.parquet"], 600)


def _path_signer(storage: Storage) -> PathSigner:
    if not isinstance(storage, PathSigner):
        pytest.skip("this storage is no PathSigner, and the gateway presigns locations")
    return storage
