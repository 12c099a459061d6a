"""The entities and requests of a decision, in Cedar's JSON format.

Source: Cedar, "Entity and schema JSON". `sluicegate.cedarschema` describes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from ipaddress import ip_address
from typing import Any, Final

from sluicegate.api import PolicyAction, Principal, SharedAsset, SharedTable

Entity = Mapping[str, Any]
_Uid = Mapping[str, str]

_TYPES: Final = {"volume": "Volume", "model": "Model", "skill": "Skill"}


def entities(principal: Principal, tables: Sequence[SharedTable]) -> list[Entity]:
    """Return the recipient, the tables, and their schemas and shares."""
    recipient = _entity(_recipient(principal), {"name": principal.name}, tags=principal.properties)
    parents = {(table.share, table.schema) for table in tables}
    return [
        recipient,
        *(_entity(_uid("Share", share)) for share in {share for share, _ in parents}),
        *(
            _entity(_uid("Schema", f"{share}.{schema}"), parents=(_uid("Share", share),))
            for share, schema in parents
        ),
        *map(_table, tables),
    ]


def requests(
    principal: Principal, action: PolicyAction, tables: Sequence[SharedTable], now: datetime
) -> list[dict[str, Any]]:
    """Return one request for each table, in their order."""
    context = json.dumps(_context(principal, now))
    recipient, performed = _recipient(principal), _uid("Action", action)
    return [
        {"principal": recipient, "action": performed, "resource": resource(table), "context": context}
        for table in tables
    ]


def resource(table: SharedTable) -> _Uid:
    """Return type and id of a table or other asset: `Sluicegate::Table::"share.schema.name"`."""
    kind = _TYPES[table.kind] if isinstance(table, SharedAsset) else "Table"
    return _uid(kind, table.full_name)


def _recipient(principal: Principal) -> _Uid:
    return _uid("Recipient", principal.name)


def _table(table: SharedTable) -> Entity:
    attributes: dict[str, Any] = {
        "share": table.share,
        "schema": table.schema,
        "name": table.name,
        "catalog": table.catalog,
        "identifier": table.identifier,
        "accessModes": list(table.access_modes),
        "history": table.history,
    }
    if table.ref is not None:
        attributes["ref"] = table.ref
    parent = _uid("Schema", f"{table.share}.{table.schema}")
    return _entity(resource(table), attributes, parents=(parent,), tags=table.tags)


def _context(principal: Principal, now: datetime) -> dict[str, Any]:
    moment = now.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    address = _ip(principal.address)
    return {
        "method": principal.method,
        "now": _extension("datetime", moment),
        **({} if address is None else {"address": _extension("ip", address)}),
    }


def _ip(text: str | None) -> str | None:
    """Return the address in the form that Cedar accepts; `None` if it is not an IP address."""
    try:
        return str(ip_address((text or "").partition("%")[0]))
    except ValueError:
        return None


def _extension(function: str, argument: str) -> Entity:
    return {"__extn": {"fn": function, "arg": argument}}


def _uid(kind: str, id: str) -> _Uid:
    return {"type": f"Sluicegate::{kind}", "id": id}


def _entity(
    uid: _Uid,
    attributes: Mapping[str, Any] | None = None,
    *,
    parents: Sequence[_Uid] = (),
    tags: Mapping[str, str] | None = None,
) -> Entity:
    shown = {"tags": dict(tags)} if tags else {}
    return {"uid": uid, "attrs": attributes or {}, "parents": parents, **shown}


_NAMES: Final = ("id", "share", "id of share", "schema", "table", "catalog", "identifier")
SAMPLE: Final = entities(
    Principal("id", "recipient", "bearer", properties={"property": "value"}),
    [
        SharedTable(*_NAMES, tags={"tag": "value"}),
        SharedTable(*_NAMES[:4], "branch", *_NAMES[5:], ref="branch"),
        SharedAsset(*_NAMES, kind="volume", tags={"tag": "value"}),
        SharedAsset(*_NAMES, kind="model"),
        SharedAsset(*_NAMES, kind="skill"),
    ],
)
"""Entities of all types, with all attributes, to which each schema must conform."""
