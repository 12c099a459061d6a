"""OpenSharing: listings of volumes, models and skills, and credentials that open one directory."""

from __future__ import annotations

from functools import partial

import obstore
from obstore.exceptions import PermissionDeniedError
from obstore.store import S3Store
from soak.assets import ASSETS, DIRECTORIES, LISTED, SCHEMA, Directory
from soak.visitor import Operation, Visitor

from sluicegate_testing.secrets import keep_credentials

_SHARE = f"/delta-sharing/shares/{ASSETS}"
_SCHEMA = f"{_SHARE}/schemas/{SCHEMA}"


async def listings(visitor: Visitor) -> None:
    """All assets of a kind, and the versions of a model."""
    door = "assets: listings"
    kind = visitor.random.choice(list(LISTED))
    expected, needs = LISTED[kind]
    since = visitor.record.now
    path = visitor.random.choice([f"{_SHARE}/all-{kind}s", f"{_SCHEMA}/{kind}s"])
    items = (await visitor.get(door, path)).json()["items"]
    names = {each["name"] for each in items}
    if expected - names:  # a listing omits assets that it cannot describe now
        visitor.failed_later(door, f"the {kind}s are {names}", needs, since)
    visitor.wrong(door, f"the {kind}s are {names}" if names - expected else None)


async def versions(visitor: Visitor) -> None:
    """The versions of a model, of which an alias is one."""
    door = "assets: versions of models"
    needs = {"lake store"}
    found = await visitor.get(door, f"{_SCHEMA}/models/churn/versions", needs=needs)
    items = {each["version"]: each for each in found.json()["items"]}
    visitor.wrong(door, None if set(items) == {1, 2} else f"the versions are {sorted(items)}")
    best = await visitor.get(door, f"{_SCHEMA}/models/churn/aliases/best", needs=needs)
    visitor.wrong(door, None if best.json() == items[2] else f"the alias is {best.json()}")


async def skill(visitor: Visitor) -> None:
    """The description in a skill's file."""
    door = "assets: skills"
    found = await visitor.get(door, f"{_SCHEMA}/skills/sql-style", needs={"lake store"})
    right = found.json()["description"] == "How to write SQL."
    visitor.wrong(door, None if right else f"the skill is {found.json()}")


async def directory(visitor: Visitor) -> None:
    """Temporary credentials open their directory, and no other one."""
    door = "assets: temporary credentials"
    one, other = visitor.random.sample(DIRECTORIES, 2)
    path = f"{_SCHEMA}/{one.path}/temporary-{one.kind}-credentials"
    answer = await visitor.post(door, path, json={}, needs=one.needs)
    store = _opened(visitor, answer.json()["credentials"])
    door = "assets: read"
    content = await visitor.library(door, one.key, (), partial(_read, store, one))
    visitor.wrong(door, None if content == one.content else f"{one.key} has another content")
    opened = await visitor.library(door, other.key, (), partial(_is_open, store, other))
    visitor.wrong(door, f"credentials for {one.path} also open {other.path}" if opened else None)


def _opened(visitor: Visitor, credentials: dict[str, dict[str, str]]) -> S3Store:
    keep_credentials(credentials)
    given, server = credentials["awsTempCredentials"], visitor.site.store
    return S3Store(
        server.bucket,
        endpoint=server.endpoint,
        region=server.region,
        access_key_id=given["accessKeyId"],
        secret_access_key=given["secretAccessKey"],
        session_token=given["sessionToken"],
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )


async def _read(store: S3Store, of: Directory) -> bytes:
    found = await obstore.get_async(store, of.key)
    return bytes(await found.bytes_async())


async def _is_open(store: S3Store, of: Directory) -> bool:
    try:
        await _read(store, of)
    except PermissionDeniedError:
        return False
    return True


OPERATIONS = (
    Operation("listings of assets", 2, listings),
    Operation("versions of a model", 1, versions),
    Operation("a skill", 1, skill),
    Operation("credentials for assets", 2, directory),
)
