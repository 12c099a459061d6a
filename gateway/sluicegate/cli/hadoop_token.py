"""`sluicegate hadoop-token`: get delegation tokens for Hadoop and Spark, and show what files hold."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sluicegate.cli.context import run_async
from sluicegate.clock import epoch_ms
from sluicegate.errors import InvalidRequest

if TYPE_CHECKING:
    from sluicegate.vending.hadoop.token_file import FileFormat, TokenFile


class _IssuingGroup(click.Group):
    """A group whose command `issue` needs not be named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Arguments that begin with no command are those of `issue`."""
        named = args[:1] and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named or not args else ["issue", *args])


def register(cli: click.Group) -> None:
    """Add the commands."""
    cli.add_command(hadoop_token)


@click.group("hadoop-token", cls=_IssuingGroup)
def hadoop_token() -> None:
    """Get delegation tokens for Hadoop and Spark as a recipient, or show what a token file holds.

    `hadoop-token --profile acme.share share.schema.table -o token.hdts` is short for
    `hadoop-token issue …`.
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
    "--append", is_flag=True, help="Add to the token file, where tokens that are still good are kept."
)
@click.option(
    "--hadoop", default="3.4", show_default=True, metavar="VERSION", help="Version of hadoop-aws."
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["writable", "protobuf"]),
    help="Format of the token file.  [default: writable, or what it has]",
)
@click.option("--binding", help="How tokens are made: session, role, full or a plugin's.")
@click.option("--renewer", help="Who is named as the renewer, such as yarn; nobody can renew.")
@click.option("--origin", help="What tokens say of where they come from.")
def issue(
    tables: tuple[str, ...],
    profile: Path,
    output: Path,
    force: bool,
    append: bool,
    hadoop: str,
    file_format: FileFormat | None,
    **options: str | None,
) -> None:
    """Get one token for each bucket of the tables, and print what Spark and MapReduce have to set.

    The tables may be of several shares, schemas and buckets.
    """
    from sluicegate.cli.hadoop_settings import describe_issued
    from sluicegate.cli.profile_client import ProfileClient
    from sluicegate.private_file import new_private_file
    from sluicegate.vending.hadoop.token_file import TokenFile

    client = ProfileClient.read(profile)
    kept = TokenFile.decode(output.read_bytes()) if append and output.exists() else TokenFile({})
    body = {name: value for name, value in options.items() if value is not None}
    asked = body | {"hadoopVersion": hadoop, "tables": tables[1:], "tokens": _s3a_tokens(kept)}
    remedy = "ask for the tokens once more"
    with new_private_file(output, overwrite=force or append, remedy=remedy) as write:
        answer = run_async(client.post(_address(tables[0]), asked))
        issued = TokenFile.decode(base64.b64decode(answer["file"]))
        tokens = {**kept.tokens, **issued.tokens}
        write(TokenFile(tokens, kept.secrets, file_format or kept.format).encode())
    for line in describe_issued(output, answer["tokens"]):
        click.echo(line)
    for service in sorted(kept.tokens.keys() & issued.tokens.keys()):
        if kept.tokens[service] != issued.tokens[service]:
            click.echo(
                f"note: the token for {service} was replaced; Hadoop takes one a bucket", err=True
            )


@hadoop_token.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def show(file: Path) -> None:
    """Show what the token file FILE holds, without its secrets."""
    from sluicegate.vending.hadoop.show import describe
    from sluicegate.vending.hadoop.token_file import TokenFile

    for line in describe(TokenFile.decode(file.read_bytes()), epoch_ms()):
        click.echo(line)


def _address(table: str) -> tuple[str, ...]:
    """Segments of the route that issues tokens for a table."""
    parts = table.rsplit(".", 2)
    if len(parts) != 3 or not all(parts):
        raise InvalidRequest(f"'{table}' is no table: name it like share.schema.table")
    share, schema, name = parts
    return "shares", share, "schemas", schema, "tables", name, "hadoop-delegation-token"


def _s3a_tokens(file: TokenFile) -> list[str]:
    """What is shown to the gateway of the tokens that a file has: those that can be its own."""
    from sluicegate.vending.hadoop.token import to_url

    return [to_url(token) for token in file.tokens.values() if token.service.startswith("s3a://")]
