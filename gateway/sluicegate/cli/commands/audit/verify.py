"""`sluicegate audit verify`: verifies the chains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sluicegate.audit.chain import ChainPosition
from sluicegate.cli.context import load_settings, run_async
from sluicegate.cli.database import open_store
from sluicegate.cli.output import json_option, print_json
from sluicegate.cli.terminal import report

if TYPE_CHECKING:
    from sluicegate.audit.chain import ChainKeys
    from sluicegate.audit.verification.findings import ChainFinding, VerifiedChain
    from sluicegate.config import Settings


class _PositionType(click.ParamType[ChainPosition]):
    name = "position"

    def convert(
        self, value: str | ChainPosition, param: click.Parameter | None, ctx: click.Context | None
    ) -> ChainPosition:
        if isinstance(value, ChainPosition):
            return value
        try:
            return ChainPosition.parse(value)
        except ValueError as error:
            self.fail(f"{value!r} is not a head: {error}", param)


@click.command()
@click.option(
    "--file",
    "paths",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    metavar="PATH",
    help="Verify an export, or the directory of a file sink, instead of the configured sinks.",
)
@click.option(
    "--expect",
    "expected",
    type=_PositionType(),
    multiple=True,
    metavar="SEQ:MAC",
    help="A head that an earlier verification printed. A chain must contain it.",
)
@json_option
@click.pass_context
def verify(
    ctx: click.Context, paths: Sequence[Path], expected: Sequence[ChainPosition], as_json: bool
) -> None:
    """Verify the hash chains of the audit log, and print their heads.

    The exit code is 1 if a record was changed, removed, inserted or reordered, or the end was removed.
    Store the heads elsewhere. With --expect, the next verification also finds that the entire log was
    replaced by an older state.

    \b
    Examples:
      sluicegate audit verify
      sluicegate audit verify --file audit.ndjson
    """
    from sluicegate.audit.verification.verifier import check_expected

    results = list(_verify(load_settings(ctx), paths, expected))
    findings = check_expected(results, expected)
    if as_json:
        print_json(
            {
                "chains": [_as_json(each) for each in results],
                "expected": [_finding_as_json(each) for each in findings],
            }
        )
    else:
        _print(results, findings)
    if findings or any(each.finding is not None for each in results):
        ctx.exit(1)


def _verify(
    settings: Settings, paths: Sequence[Path], expected: Sequence[ChainPosition]
) -> Iterator[VerifiedChain]:
    from sluicegate.audit.assembly import chain_keys
    from sluicegate.audit.verification.files import verify_path
    from sluicegate.signing.load import load_keys

    keys = chain_keys(settings.audit, load_keys(settings))
    sinks = settings.audit.sinks
    if not paths and any(sink.type == "database" for sink in sinks):
        yield from run_async(_verify_database(settings, keys, expected))
    retention = settings.audit.retention
    for path in paths or [Path(sink.path) for sink in sinks if sink.type == "file"]:
        yield from verify_path(path, keys, expected, retention)


async def _verify_database(
    settings: Settings, keys: ChainKeys, expected: Sequence[ChainPosition]
) -> list[VerifiedChain]:
    from sluicegate.audit.verification.database import verify_database

    async with open_store(settings) as store:
        return await verify_database(store, keys, expected, settings.audit.retention)


def _print(results: Sequence[VerifiedChain], findings: Sequence[ChainFinding]) -> None:
    for each in results:
        if each.records:
            click.echo(f"{each.chain}: verified records {each.first} to {each.head.seq}")
            click.echo(f"{each.chain}: head {each.head}")
        else:
            click.echo(f"{each.chain}: no records")
        for note in each.notes:
            report("note", f"{each.chain}: {note}")
        if each.finding is not None:
            report("error", f"{each.chain}: {each.finding.kind}: {each.finding.message}")
    for finding in findings:
        report("error", finding.message)


def _as_json(result: VerifiedChain) -> dict[str, Any]:
    return {
        "chain": result.chain,
        "records": result.records,
        "first": result.first,
        "head": str(result.head),
        "finding": result.finding and _finding_as_json(result.finding),
        "notes": list(result.notes),
    }


def _finding_as_json(finding: ChainFinding) -> dict[str, Any]:
    return {"kind": finding.kind, "seq": finding.seq, "message": finding.message}
