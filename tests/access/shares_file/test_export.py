"""Exported shares files declare what is stored: applying one again changes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from access.conftest import Apply
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from sluicegate.access.recipients.service import Recipients
from sluicegate.access.shares_file import models
from sluicegate.access.shares_file.diff import compare
from sluicegate.access.shares_file.entries import Entries, Entry, declared_entries
from sluicegate.access.shares_file.export import StoredShares, yaml_text
from sluicegate.access.shares_file.stored import stored_entries
from sluicegate.api.errors import NotFound
from sluicegate.config.yaml import parse_document, validate
from sluicegate.database import Store

Strategy = st.SearchStrategy[Any]

# What YAML can take for something else than the text that it is.
AWKWARD = (
    "no",
    "null",
    "~",
    "<<",
    "1e3",
    "0o14",
    "2026-11-24",
    "- a",
    "a: b",
    "#",
    "'",
    "é\x85\u2028",
    "\t",
)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
comments = st.one_of(st.sampled_from(AWKWARD), texts)
required = comments.filter(bool)
names = st.one_of(
    st.sampled_from(("no", "<<", "1", "null", "Sales", "straße", "-", "é" * 200)),
    st.text(
        st.characters(categories=["L", "N", "P", "S"], exclude_characters="/.%?#"),
        min_size=1,
        max_size=9,
    ),
)
skills = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8})?", fullmatch=True)
catalogs = st.sampled_from(["raw", "main"])
versions = st.integers(0, 2**63 - 1)
properties = st.dictionaries(required, comments, max_size=3)
patterns = st.lists(required, max_size=3)
aliases = st.from_regex(r"[A-Za-z0-9_~-]{1,16}", fullmatch=True)
modes = st.sampled_from([["url"], ["dir"], ["dir", "url"]])
kinds = st.lists(st.sampled_from(["tables", "volumes", "models", "skills"]), min_size=1, max_size=4)
counts = st.one_of(st.integers(1, 10**9), st.just("unlimited"))
filters = st.sampled_from(["land = recipient.country", "a = 'b'", "a = 'it''s' AND b = recipient.c"])

TABLE_OPTIONS: dict[str, Strategy] = {
    "comment": comments,
    "history": st.booleans(),
    "change_feed": st.booleans(),
    "start_version": versions,
    "partition_filter": filters,
    "access_modes": modes,
}
SOURCE_OPTIONS = {
    **TABLE_OPTIONS,
    "include": patterns,
    "exclude": patterns,
    "alias": aliases,
    "kinds": kinds,
}


def unique(keys: Strategy, values: Strategy) -> Strategy:
    """Mappings of names that differ in more than their case."""
    pairs = st.tuples(keys, values)
    return st.lists(pairs, max_size=3, unique_by=lambda pair: pair[0].casefold()).map(dict)


def of(
    model: type[BaseModel], needed: Mapping[str, Strategy], optional: Mapping[str, Strategy]
) -> Strategy:
    """Random entries of a model, which has no options but these."""
    keys = {field.alias or name for name, field in model.model_fields.items()}
    assert keys == {*needed, *optional}, f"add the options of {model.__name__} to this test"
    return st.fixed_dictionaries(dict(needed), optional=dict(optional))


def enforceable(entry: dict[str, Any]) -> dict[str, Any]:
    """Without the options that cannot be combined with others of the entry."""
    left_out = set()
    if "dir" in entry.get("access_modes", ()):
        left_out |= {"start_version", "partition_filter", "ref"}
    if entry.get("kinds", ["tables"]) != ["tables"]:
        left_out.add("partition_filter")
    kept = {key: value for key, value in entry.items() if key not in left_out}
    return kept | ({"history": True} if entry.get("change_feed") else {})


def with_shared_versions(entry: dict[str, Any]) -> dict[str, Any]:
    named = [*entry.get("aliases", {}).values()]
    return entry | ({"versions": [*entry["versions"], *named]} if "versions" in entry else {})


def one_source(entry: dict[str, Any]) -> dict[str, Any]:
    both = entry.get("tables") and "tables" in entry.get("from", {}).get("kinds", ["tables"])
    return {key: value for key, value in entry.items() if not (both and key == "from")}


tables = of(
    models.TableEntry,
    {"catalog": catalogs, "table": required},
    {**TABLE_OPTIONS, "ref": required, "id": st.uuids(), "tags": properties},
).map(enforceable)
volumes = of(
    models.VolumeEntry,
    {"catalog": catalogs, "volume": required},
    {"comment": comments, "tags": properties},
)
model_entries = of(
    models.ModelEntry,
    {"catalog": catalogs, "model": required},
    {
        "comment": comments,
        "tags": properties,
        "versions": st.lists(versions, max_size=3),
        "aliases": st.dictionaries(names, versions, max_size=3),
    },
).map(with_shared_versions)
skill_entries = of(
    models.SkillEntry,
    {"catalog": catalogs, "skill": required},
    {"comment": comments, "tags": properties},
)
schemas = of(
    models.SchemaEntry,
    {},
    {
        "comment": comments,
        "tags": properties,
        "tables": unique(names, tables),
        "from": of(
            models.SchemaSourceEntry, {"catalog": catalogs, "schema": required}, SOURCE_OPTIONS
        ).map(enforceable),
        "volumes": unique(names, volumes),
        "models": unique(names, model_entries),
        "skills": unique(skills, skill_entries),
    },
).map(one_source)
shares = of(
    models.ShareEntry,
    {},
    {
        "display_name": required,
        "comment": comments,
        "tags": properties,
        "properties": properties,
        "schemas": unique(names, schemas),
        "from": of(models.CatalogSourceEntry, {"catalog": catalogs}, SOURCE_OPTIONS).map(enforceable),
    },
)
recipients_without_grants = of(
    models.RecipientEntry,
    {"shares": st.just([])},
    {
        "comment": comments,
        "token_lifetime": st.integers(1, 365 * 86_400),
        "allow_from": st.lists(st.sampled_from(["203.0.113.0/24", "2001:db8::/32"]), max_size=2),
        "properties": properties,
        "limits": st.fixed_dictionaries(
            {},
            optional={
                "requests_per_minute": counts,
                "burst": st.integers(1, 10**9),
                "concurrent_requests": st.integers(1, 10**9),
                "files_per_day": counts,
                "bytes_per_day": st.one_of(counts, st.just("10GB")),
            },
        ),
    },
)


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """The content of random shares files."""
    declared = draw(unique(names, shares))
    recipients = draw(unique(names, recipients_without_grants))
    for recipient in recipients.values():
        recipient["shares"] = draw(st.lists(st.sampled_from(sorted(declared) or [""]), unique=True))
        recipient["shares"] = [share for share in recipient["shares"] if share]
    return {"shares": declared, "recipients": recipients}


def entries_of(text: str) -> Entries:
    document = parse_document(text, Path("shares.yaml"))
    return declared_entries(validate(models.Declaration, document))


def as_stored(entries: Entries) -> Entries:
    """Entries as the database returns them, which stores some columns as JSON."""
    return {
        key: Entry(entry.kind, entry.names, json.loads(json.dumps(dict(entry.values))))
        for key, entry in entries.items()
    }


@settings(max_examples=60, deadline=None)
@given(files())
def test_an_exported_file_declares_exactly_what_is_stored(content: dict[str, Any]) -> None:
    stored = as_stored(declared_entries(models.Declaration.model_validate(content)))
    exported = yaml_text(StoredShares(stored).export(recipients=True))
    assert compare(stored, entries_of(exported), prune=True).changes == ()


FILE = """
shares:
  Sales:
    comment: "no"
    properties: {owner: data-team}
    schemas:
      eu:
        tables:
          visits: {catalog: main, table: eu.visits, ref: audited}
          orders: {catalog: raw, table: "s3://lake/orders", history: true, access_modes: [dir, url]}
        models: {churn: {catalog: main, model: eu.churn, versions: [1, 2], aliases: {champion: 2}}}
      us: {from: {catalog: main, schema: us, kinds: [tables, volumes], exclude: ["tmp_*"]}}
  all: {from: {catalog: raw, alias: _}}
  empty: {}
recipients:
  acme: {shares: [sales, all], token_lifetime: 90d, allow_from: [203.0.113.0/24]}
  beta: {shares: [all]}
  idle: {properties: {country: DE}}
"""
EXPORTED = """\
shares:
  Sales:
    comment: no
    properties:
      owner: data-team
    schemas:
      eu:
        tables:
          orders:
            catalog: raw
            table: s3://lake/orders
            history: true
            access_modes:
              - url
              - dir
          visits:
            catalog: main
            table: eu.visits
            ref: audited
        models:
          churn:
            catalog: main
            model: eu.churn
            versions:
              - 1
              - 2
            aliases:
              champion: 2
      us:
        from:
          catalog: main
          schema: us
          kinds:
            - tables
            - volumes
          exclude:
            - tmp_*
recipients:
  acme:
    shares:
      - all
      - Sales
    token_lifetime: 90d
    allow_from:
      - 203.0.113.0/24
"""


async def stored_shares(store: Store) -> StoredShares:
    async with store.read() as connection:
        return StoredShares(await stored_entries(connection))


async def test_applying_an_export_changes_nothing(apply: Apply, store: Store) -> None:
    await apply(FILE)
    exported = yaml_text((await stored_shares(store)).export(recipients=True))
    assert await apply(exported, prune=True) == ["nothing to change"]


async def test_an_export_of_one_share_has_its_recipients_with_all_grants(
    apply: Apply, store: Store
) -> None:
    await apply(FILE)
    exported = yaml_text((await stored_shares(store)).export(["SALES"], recipients=True))
    assert exported == EXPORTED
    assert "~" not in "".join(line[0] for line in await apply(exported))


async def test_an_export_has_no_secret_and_by_default_no_recipient(
    apply: Apply, store: Store, recipients: Recipients
) -> None:
    await apply(FILE)
    issued = [await recipients.rotate("acme", kind=kind) for kind in ("bearer", "oauth")]
    shares = await stored_shares(store)
    assert "recipients" not in shares.export()
    text = yaml_text(shares.export(recipients=True))
    assert all(each.secret not in text and str(each.client_id) not in text for each in issued)


async def test_an_unknown_share_is_refused_with_the_most_similar_name(
    apply: Apply, store: Store
) -> None:
    await apply(FILE)
    with pytest.raises(NotFound, match="there is no share 'seles'; did you mean 'Sales'"):
        (await stored_shares(store)).export(["all", "seles"])
