"""Recipients and their grants in memory, without a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluicegate.access.grants import Grants
from sluicegate.api import AssetKind, NotFound, Principal, Schema, Share, SharedAsset, SharedTable
from sluicegate.database.names import name_key
from sluicegate.database.reads import RecipientRecord

ACME = Principal("r1", "acme", "bearer", "192.0.2.7")
RIVAL = Principal("r2", "rival", "bearer")


def record(principal: Principal, **values: Any) -> RecipientRecord:
    """The record of a recipient that is admitted from everywhere."""
    return RecipientRecord(
        **{
            "id": principal.id,
            "name": principal.name,
            "properties": principal.properties,
            "allow_from": (),
            "revoked_at": None,
            **values,
        }
    )


class MemoryGrants(Grants):
    """The grants of `ACME`; all other recipients have none. Names are case-insensitive."""

    def __init__(
        self,
        shares: Sequence[Share] = (),
        schemas: Sequence[Schema] = (),
        tables: Mapping[str, Sequence[SharedTable]] | None = None,
        assets: Mapping[str, Sequence[SharedAsset]] | None = None,
    ) -> None:
        self._granted_shares = shares
        self._declared = schemas
        self._of_schemas = tables or {}
        self._other_assets = assets or {}
        self.recipients = {each.name: record(each) for each in (ACME, RIVAL)}

    @classmethod
    def of_tables(cls, tables: Sequence[SharedTable]) -> MemoryGrants:
        """Grants of the share `sales`, which declares these tables."""
        share = Share("s1", "sales", display_name="Sales")
        declared: dict[str, list[SharedTable]] = {}
        for table in sorted(tables, key=lambda table: (table.schema, name_key(table.name))):
            declared.setdefault(table.schema, []).append(table)
        schemas = [Schema(f"schema-{name}", share, name) for name in declared]
        return cls([share], schemas, {each.id: declared[each.name] for each in schemas})

    async def recipient(self, name: str) -> RecipientRecord | None:
        """A recipient by name."""
        return self.recipients.get(name)

    async def shares(self, principal: Principal) -> Sequence[Share]:
        """The shares, for `acme`."""
        return self._granted_shares if principal.id == ACME.id else ()

    async def share(self, principal: Principal, name: str) -> Share:
        """A share by name, for `acme`."""
        for share in await self.shares(principal):
            if name_key(share.name) == name_key(name):
                return share
        raise NotFound(f"there is no share {name!r}")

    async def schemas_of(self, share: Share) -> Sequence[Schema]:
        """The declared schemas of a share."""
        return [schema for schema in self._declared if schema.share.id == share.id]

    async def schema_of(self, share: Share, name: str) -> Schema:
        """A declared schema by name."""
        for schema in await self.schemas_of(share):
            if name_key(schema.name) == name_key(name):
                return schema
        raise NotFound(f"there is no schema {name!r} in the share {share.name!r}")

    async def tables(self, schema: Schema) -> Sequence[SharedTable]:
        """The declared tables of a schema."""
        return self._of_schemas.get(schema.id, ())

    async def table(self, schema: Schema, name: str) -> SharedTable | None:
        """A declared table by name."""
        named = [each for each in await self.tables(schema) if name_key(each.name) == name_key(name)]
        return named[0] if named else None

    async def assets(self, schema: Schema, kind: AssetKind) -> Sequence[SharedAsset]:
        """The declared assets of a schema."""
        return [each for each in self._other_assets.get(schema.id, ()) if each.kind == kind]

    async def asset(self, schema: Schema, kind: AssetKind, name: str) -> SharedAsset | None:
        """A declared asset by name."""
        assets = await self.assets(schema, kind)
        return next((each for each in assets if name_key(each.name) == name_key(name)), None)
