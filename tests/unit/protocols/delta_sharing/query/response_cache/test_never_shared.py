"""Recipients with different filters, properties or credentials never get the same bytes."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st
from support.gateways.cached_queries import ALL, NOW, CachedQueries, lines
from support.gateways.memory_gateway import LIFETIME, catalog_table, memory_gateway, shared_table
from support.gateways.memory_grants import ACME, RIVAL
from support.gateways.memory_instances import SigningStorage
from support.tables.filesets import schema_field, table_metadata
from support.tables.memory_tables import MemoryFormat, file, snapshot

from sluicegate.api import Presigned, Principal, SharedTable, TemporaryCredentials
from sluicegate.api.errors import PermissionDenied
from sluicegate.protocols.delta_sharing.request import QueryRequest
from sluicegate_testing.fakes import MemoryVendor

DAYS = ("0", "1")
BY_DAY = table_metadata([schema_field("day", "string")], ["day"])
ROWS = [file(f"{day}.parquet", partition_values=f'{{"day":"{day}"}}') for day in DAYS]


class NumberingStorage(SigningStorage):
    """Adds the number of the call to all URLs that it signs, and who signed."""

    def __init__(self) -> None:
        super().__init__(expires_at=NOW + LIFETIME * 1000)
        self._numbers = itertools.count()

    async def presign(
        self,
        locations: Sequence[str],
        expires_in: int,
        credentials: TemporaryCredentials | None = None,
    ) -> Presigned:
        """URLs that end with the number of this call."""
        signed = await super().presign(locations, expires_in, credentials)
        number = next(self._numbers)
        return replace(signed, urls=[f"{url}?call={number}" for url in signed.urls])


@dataclass(frozen=True)
class Asked:
    """A query, and all that may distinguish its response from that of another query."""

    recipient: Principal
    day: str | None
    filter: str | None
    vended: bool
    request: QueryRequest
    coding: str | None

    @property
    def principal(self) -> Principal:
        return replace(self.recipient, properties={} if self.day is None else {"day": self.day})

    @property
    def shared(self) -> SharedTable:
        return shared_table(partition_filter=self.filter)

    @property
    def days(self) -> set[str]:
        """The days that the recipient may see."""
        if self.filter is None:
            return set(DAYS)
        return {self.day or ""} if "recipient" in self.filter else {self.filter[-2]}

    def may_share(self, other: Asked, *, share: bool) -> bool:
        """Whether both queries may get the same bytes."""
        if self.recipient != other.recipient and (not share or self.vended or other.vended):
            return False
        return replace(self, recipient=other.recipient) == other


ASKED = st.builds(
    Asked,
    recipient=st.sampled_from([ACME, RIVAL]),
    day=st.sampled_from([None, *DAYS]),
    filter=st.sampled_from([None, "day = '0'", "day = '1'", "day = recipient.day"]),
    vended=st.booleans(),
    request=st.sampled_from([ALL, replace(ALL, max_files=2), replace(ALL, sql_hints=("day = '0'",))]),
    coding=st.sampled_from([None, "gzip"]),
)


@dataclass
class Served:
    """A gateway with a cache, and the calls to the storage that each response contains."""

    share: bool

    def __post_init__(self) -> None:
        found = snapshot(*ROWS, metadata=BY_DAY)
        self._gateway = memory_gateway(format=MemoryFormat([found]), storage=NumberingStorage())
        self._cached = CachedQueries(self._gateway, shared_table(), share=self.share)
        self._vendor = MemoryVendor()

    async def calls(self, asked: Asked) -> frozenset[str]:
        """Query, check what is visible, and return the calls that signed the URLs."""
        vendor = self._vendor if asked.vended else None
        self._gateway.catalog["orders"] = catalog_table(vendor=vendor)
        try:
            body = await self._cached.body(
                asked.request, asked.principal, shared=asked.shared, coding=asked.coding
            )
        except PermissionDenied:
            assert asked.day is None
            return frozenset()
        if asked.coding is not None:
            body = zlib.decompress(body, 31)
        urls = [line["file"]["url"] for line in lines(body) if "file" in line]
        assert {url.partition(".parquet")[0][-1] for url in urls} <= asked.days
        return frozenset(url.partition("?call=")[2] for url in urls)


@settings(max_examples=150, deadline=None)
@given(st.lists(ASKED, min_size=2, max_size=8), st.booleans())
async def test_only_equal_views_share_bytes(queries: list[Asked], share: bool) -> None:
    served = Served(share)
    calls = [await served.calls(asked) for asked in queries]
    for (one, first), (other, second) in itertools.combinations(zip(queries, calls, strict=True), 2):
        if first & second:
            assert one.may_share(other, share=share)
        elif first and second:
            assert not one.may_share(other, share=share)
