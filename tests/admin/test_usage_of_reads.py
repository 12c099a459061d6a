"""What recipients read, over the Admin API and as a command."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from admin.conftest import Site
from support.gateways.gateway import completed_here, write_configuration
from support.tables.daily_usage import LAST_DAY, SCHEMA, write_daily

from sluicegate.app import Gateway
from sluicegate.config import Settings

DAYS = f"since={LAST_DAY}&until={LAST_DAY}"


def row(recipient: str | None, share: str | None, table: str | None, number: int) -> dict[str, Any]:
    counts = dict.fromkeys(SCHEMA.names[5:], number)
    named = {"share": share, "schema": table and "eu", "table": table}
    return {"day": LAST_DAY, "recipient": recipient, **named, **counts, "failed_requests": 0}


ROWS = [
    row("acme", "sales", "orders", 3),
    row("beta", "sales", "orders", 4),
    row("acme", "returns", "lines", 1),
    row(None, None, None, 9),
]


def read(number: int) -> dict[str, int]:
    """What was read in rows with these numbers in sum."""
    return {"requests": number, "failed": 0, "late": number, "files": number, "bytes": number}


@pytest.fixture(scope="module")
def usage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a gateway's configuration, and the tables of usage."""
    folder = tmp_path_factory.mktemp("reads")
    write_daily(folder / "usage", ROWS)
    settings = {
        "storage": [{"type": "file", "prefix": f"file://{folder}/usage/"}],
        "usage": {"location": f"file://{folder}/usage/"},
        "signing_key": "k" * 32,
        "admin": {},
    }
    write_configuration(folder, settings, {"shares": {}, "recipients": {}})
    return folder


@pytest.fixture
async def site(usage: Path, tmp_path: Path) -> AsyncIterator[Site]:
    settings = Settings.model_validate(
        json.loads((usage / "gateway.yaml").read_text()) | {"database": f"sqlite:///{tmp_path}/g.db"}
    )
    async with Gateway.running(settings) as gateway:
        yield Site(gateway)


async def test_reads_are_summed_for_the_shares_of_an_administrator(site: Site) -> None:
    everything = (await site.ask("GET", f"/usage?reads=true&{DAYS}&by=recipient", role="viewer")).json
    assert everything.pop("changed_at").endswith("Z")
    assert everything == {
        "by": "recipient",
        "since": str(LAST_DAY),
        "until": str(LAST_DAY),
        "items": [
            {"recipient": None, **read(9)},
            {"recipient": "acme", **read(4)},
            {"recipient": "beta", **read(4)},
        ],
        "total": read(17),
        "truncated": False,
    }
    mine = f"/usage?reads=true&{DAYS}&by=table"
    some = (await site.ask("GET", mine, role="viewer", shares=("returns",))).json
    named = {"share": "returns", "schema": "eu", "table": "lines"}
    assert (some["items"], some["total"]) == ([{**named, **read(1)}], read(1))
    refused = await site.ask("GET", f"{mine}&share=sales", role="viewer", shares=("returns",))
    assert refused.status == 403
    offered = (await site.ask("GET", f"/usage?reads=false&{DAYS}")).json
    assert (offered["items"], offered["total"]["responses"]) == ([], 0)


async def test_both_reports_are_as_described(site: Site) -> None:
    components = (await site.ask("GET", "/openapi.json", role=None)).json["components"]
    for reads, schema in (("true", "ReadUsage"), ("false", "OfferedUsage")):
        described = {"$ref": f"#/components/schemas/{schema}", "components": components}
        for by in ("day", "recipient", "share", "table"):
            answer = (await site.ask("GET", f"/usage?reads={reads}&by={by}&{DAYS}")).json
            jsonschema_rs.validator_for(described, validate_formats=True).validate(answer)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({}, "reads are not known: set usage.location"),
        ({"usage": {"location": "s3://usage/tables"}}, "no configured storage serves s3://usage"),
        ({"usage": {"location": "file:///nowhere/usage"}}, "no configured storage serves"),
    ],
)
async def test_a_gateway_without_tables_of_usage_explains_it(
    tmp_path: Path, section: dict[str, Any], message: str
) -> None:
    settings = Settings.model_validate(
        {"database": f"sqlite:///{tmp_path}/g.db", "signing_key": "k" * 32, "admin": {}, **section}
    )
    async with Gateway.running(settings) as gateway:
        answer = await Site(gateway).ask("GET", "/usage?reads=true")
    assert (answer.status, answer.json["errorCode"]) == (400, "UNSUPPORTED_OPERATION")
    assert message in answer.json["message"]


async def test_whether_reads_are_wanted_is_true_or_false(site: Site) -> None:
    answer = await site.ask("GET", "/usage?reads=yes")
    assert (answer.status, answer.json["message"]) == (400, "reads must be true or false")


def test_a_command_shows_reads(usage: Path) -> None:
    days = ("--since", str(LAST_DAY), "--until", str(LAST_DAY))
    shown = completed_here(usage, "usage", "--reads", "--by", "table", *days)
    header, *rows, total = [line.split() for line in shown.stdout.splitlines()]
    assert header == ["TABLE", "REQUESTS", "FAILED", "LATE", "FILES", "BYTES"]
    assert rows == [
        ["-", "9", "0", "9", "9", "9"],
        ["sales.eu.orders", "7", "0", "7", "7", "7"],
        ["returns.eu.lines", "1", "0", "1", "1", "1"],
    ]
    assert total == ["total", "17", "0", "17", "17", "17"]
    assert shown.stderr.startswith("the tables of usage were last changed at 20")
    drawn = completed_here(usage, "usage", "--reads", "--by", "recipient", "--plot", "bytes", *days)
    assert [(line.split()[0], line.split()[-1]) for line in drawn.stdout.splitlines()] == [
        ("-", "9"),
        ("acme", "4"),
        ("beta", "4"),
    ]
    report = json.loads(completed_here(usage, "usage", "--reads", "--json", *days).stdout)
    assert report["items"] == [{"day": str(LAST_DAY), **read(17)}]
    nothing = completed_here(usage, "usage", "--reads", "--share", "none", *days)
    assert (nothing.stdout, nothing.stderr.splitlines()[0]) == ("", "nothing was read in this time")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--plot", "bytes"), "--plot bytes is only possible with --reads"),
        (("--plot", "responses", "--reads"), "--plot responses and --reads exclude each other"),
    ],
)
def test_columns_of_the_other_report_cannot_be_drawn(
    usage: Path, options: tuple[str, ...], message: str
) -> None:
    done = completed_here(usage, "usage", *options)
    assert (done.returncode, message in done.stderr) == (2, True)
