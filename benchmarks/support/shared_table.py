"""Synthetic tables in a local S3 store, and a gateway that shares one of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.support.counting import CountingProxy, counting_proxy
from benchmarks.support.gateway import ServedGateway, gateway
from benchmarks.support.replaying import replaying_proxy
from benchmarks.support.table import SyntheticTable
from sluicegate_testing.servers.seaweedfs import SeaweedFS

TABLE = "/shares/sales/schemas/eu/tables/orders"
_KEY = "lake/sales/orders"


@dataclass(frozen=True)
class SharedTable:
    """The gateway, and the store that its requests go to."""

    gateway: ServedGateway
    folder: Path
    store: CountingProxy
    write: Callable[[str, bytes], None]


def shared_table(files: int, **settings: Any) -> AbstractContextManager[SharedTable]:
    """A table of so many live files; `settings` are those of `shared_log`."""
    return shared_log(SyntheticTable(files).log(), {}, **settings)


@contextmanager
def shared_log(
    log: Iterable[tuple[str, bytes]],
    options: Mapping[str, Any],
    *,
    replayed: bool = False,
    **settings: Any,
) -> Iterator[SharedTable]:
    """Write a table's log into a fresh SeaweedFS and share it, until the block ends."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sluicegate-bench-")))
        store = stack.enter_context(SeaweedFS.start(folder / "store"))
        write = write_log(store, _KEY, log)
        if replayed:
            proxy = CountingProxy(stack.enter_context(replaying_proxy(store.endpoint)))
        else:
            proxy = stack.enter_context(counting_proxy(store.endpoint))
        storage = storage_of(store) | {"endpoint": proxy.endpoint}
        orders = {"catalog": "raw", "table": f"{storage['prefix']}{_KEY}", **options}
        shares = {"sales": {"schemas": {"eu": {"tables": {"orders": orders}}}}}
        served = stack.enter_context(gateway(folder / "gateway", shares, storage, **settings))
        yield SharedTable(served, folder / "gateway", proxy, write)


def write_log(
    store: SeaweedFS, key: str, log: Iterable[tuple[str, bytes]]
) -> Callable[[str, bytes], None]:
    """Write a table's log below a key.

    Returns:
        Writes another file of the log, by its name below `_delta_log/`.
    """

    def write(name: str, content: bytes) -> None:
        store.put(f"{key}/_delta_log/{name}", content)

    for name, content in log:
        write(name, content)
    return write


def storage_of(store: SeaweedFS) -> dict[str, Any]:
    """The section of the store's bucket."""
    return {
        "type": "s3",
        "prefix": f"s3://{store.bucket}/",
        "endpoint": store.endpoint,
        "region": store.region,
        "access_key_id": store.signer.access_key_id,
        "secret_access_key": store.signer.secret_access_key,
    }
