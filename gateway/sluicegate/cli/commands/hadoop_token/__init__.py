"""`sluicegate hadoop-token`: gets delegation tokens for Hadoop and Spark, and shows token files."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate._util.clock import epoch_ms
from sluicegate.api.errors import InvalidRequest
from sluicegate.cli.context import run_async
from sluicegate.cli.output import json_option, print_json

if TYPE_CHECKING:
    from sluicegate.vending.hadoop.token_file import FileFormat, TokenFile


class _IssuingGroup(click.Group):
    """A group whose default command is `issue`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments that do not start with a command as arguments of `issue`."""
        named = args[:1] and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named or not args else ["issue", *args])


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(hadoop_token)


@click.group("hadoop-token", cls=_IssuingGroup)
def hadoop_token() -> None:
    """Get delegation tokens for Hadoop and Spark as a recipient, or show a token file.

    `hadoop-token --profile acme.share share.schema.table -o token.hdts` is short for
    `hadoop-token issue …`.

    \b
    Examples:
      sluicegate hadoop-token issue --profile acme.share sales.eu.orders -o token.hdts
      sluicegate hadoop-token show token.hdts
    """


@hadoop_token.command()
@click.argument("tables", nargs=-1, required=True, metavar="SHARE.SCHEMA.TABLE...")
@click.option(
    "--profile",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Profile file of the recipient.",
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="Token file."
)
@click.option("--force", is_flag=True, help="Overwrite the token file.")
@click.option(
    "--append", is_flag=True, help="Add to the token file, and reuse its tokens that are still valid."
)
@click.option(
    "--hadoop", default="3.4", show_default=True, metavar="VERSION", help="Version of hadoop-aws."
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["writable", "protobuf"]),
    help="Format of the token file.  [default: writable, or that of the existing file]",
)
@click.option("--binding", help="Token binding: session, role, full, or one that a plugin adds.")
@click.option(
    "--renewer", help="Name of the renewer in the tokens, such as yarn. No one can renew them."
)
@click.option("--origin", help="Text that the tokens contain to describe their origin.")
@json_option
def issue(
    tables: tuple[str, ...],
    profile: Path,
    output: Path,
    force: bool,
    append: bool,
    hadoop: str,
    file_format: FileFormat | None,
    as_json: bool,
    **options: str | None,
) -> None:
    """Get one token for each bucket of the tables, and print the settings for Spark and MapReduce.

    The tables can be in different shares, schemas and buckets.

    \b
    Examples:
      sluicegate hadoop-token issue --profile acme.share sales.eu.orders -o token.hdts
      sluicegate hadoop-token issue --profile acme.share sales.eu.visits -o token.hdts --append
    """
    from sluicegate.cli.commands.hadoop_token.client import ProfileClient
    from sluicegate.cli.commands.hadoop_token.settings import describe_issued, issued_as_json
    from sluicegate.config.private_files import new_private_file
    from sluicegate.vending.hadoop.token_file import TokenFile

    client = ProfileClient.read(profile)
    kept = TokenFile.decode(output.read_bytes()) if append and output.exists() else TokenFile({})
    body = {name: value for name, value in options.items() if value is not None}
    request_body = body | {"hadoopVersion": hadoop, "tables": tables[1:], "tokens": _s3a_tokens(kept)}
    remedy = "request the tokens again"
    with new_private_file(output, overwrite=force or append, remedy=remedy) as write:
        answer = run_async(client.post(_address(tables[0]), request_body))
        issued = TokenFile.decode(base64.b64decode(answer["file"]))
        tokens = {**kept.tokens, **issued.tokens}
        write(TokenFile(tokens, kept.secrets, file_format or kept.format).encode())
    if as_json:
        print_json(issued_as_json(output, answer["tokens"]))
    else:
        for line in describe_issued(output, answer["tokens"]):
            click.echo(line)
    for service in sorted(kept.tokens.keys() & issued.tokens.keys()):
        if kept.tokens[service] != issued.tokens[service]:
            click.echo(
                f"note: the token for {service} was replaced; Hadoop uses one per bucket", err=True
            )


@hadoop_token.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def show(file: Path, as_json: bool) -> None:
    """Show the contents of the token file FILE, without its secrets.

    \b
    Example:
      sluicegate hadoop-token show token.hdts
    """
    from sluicegate.vending.hadoop.show import describe, describe_as_json
    from sluicegate.vending.hadoop.token_file import TokenFile

    content, now = TokenFile.decode(file.read_bytes()), epoch_ms()
    if as_json:
        print_json(describe_as_json(content, now))
        return
    for line in describe(content, now):
        click.echo(line)


def _address(table: str) -> tuple[str, ...]:
    """The path segments of the endpoint that issues tokens for a table."""
    parts = table.rsplit(".", 2)
    if len(parts) != 3 or not all(parts):
        raise InvalidRequest(f"'{table}' is not the name of a table: write share.schema.table")
    share, schema, name = parts
    return "shares", share, "schemas", schema, "tables", name, "hadoop-delegation-token"


def _s3a_tokens(file: TokenFile) -> list[str]:
    """The tokens of a file that the gateway might have issued, encoded for the request."""
    from sluicegate.vending.hadoop.token import to_url

    return [to_url(token) for token in file.tokens.values() if token.service.startswith("s3a://")]
