"""`sluicegate hadoop-token`, as a recipient runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.clients.hadoop_tokens import made_up_token
from support.gateways.hadoop_lake import HadoopLake

from sluicegate.api.hadoop_tokens import SESSION_KIND
from sluicegate.cli.main import build_cli
from sluicegate.vending.hadoop.identifier import Layout, decode_identifier
from sluicegate.vending.hadoop.token import HadoopToken
from sluicegate.vending.hadoop.token_file import TokenFile

ORDERS, VISITS = "lake.sales.orders", "lake.sales.visits"


def test_a_private_file_is_written_and_settings_printed(lake: HadoopLake, tmp_path: Path) -> None:
    path = tmp_path / "token.hdts"
    done = lake.command(ORDERS, VISITS, "-o", str(path), "--renewer", "yarn")
    assert (done.returncode, done.stderr) == (0, "")
    assert path.stat().st_mode & 0o777 == 0o600
    (token,) = TokenFile.decode(path.read_bytes()).tokens.values()
    identifier, layout = decode_identifier(token.identifier)
    assert (identifier.renewer, layout) == ("yarn", Layout.A)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("s3a://lake: S3ADelegationToken/Session, expires 2")
    assert lines[1:3] == [f"  {ORDERS}: s3a://lake/orders", f"  {VISITS}: s3a://lake/visits"]
    pinned = "aws.credentials.provider", "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
    assert f"export HADOOP_TOKEN_FILE_LOCATION={path}" in lines
    assert f"spark.hadoop.fs.s3a.bucket.lake.{pinned[0]}  {pinned[1]}" in lines
    assert f"-Dmapreduce.job.credentials.binary={path}" in lines
    assert f"-Dfs.s3a.bucket.lake.{pinned[0]}={pinned[1]}" in lines
    assert identifier.credentials.secret_key not in done.stdout


def test_an_oauth_profile_serves_as_well(lake: HadoopLake, tmp_path: Path) -> None:
    lake.gateway.profile("machine", "--oauth")
    done = lake.command(ORDERS, "-o", str(tmp_path / "token.hdts"), recipient="machine")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "token.hdts").exists()


def test_a_file_is_not_overwritten_by_accident(lake: HadoopLake, tmp_path: Path) -> None:
    path = tmp_path / "token.hdts"
    path.write_text("precious")
    done = lake.command(ORDERS, "-o", str(path))
    assert done.stderr == f"error: {path} already exists; choose another file or use --force\n"
    assert path.read_text() == "precious"
    assert lake.command(ORDERS, "-o", str(path), "--force").returncode == 0
    assert TokenFile.decode(path.read_bytes()).tokens


def test_appending_keeps_what_the_file_has(lake: HadoopLake, tmp_path: Path) -> None:
    path = tmp_path / "token.hdts"
    other = HadoopToken(b"identifier", "HDFS_DELEGATION_TOKEN", "127.0.0.1:8020", b"password")
    path.write_bytes(TokenFile({"ha-hdfs:lake": other}, {"key": b"secret"}, "protobuf").encode())
    assert lake.command(ORDERS, "-o", str(path), "--append").returncode == 0
    first = TokenFile.decode(path.read_bytes())
    assert first.tokens["ha-hdfs:lake"] == other
    assert (first.secrets, first.format) == ({"key": b"secret"}, "protobuf")
    again = lake.command(ORDERS, "-o", str(path), "--append")
    assert "expires" in again.stdout
    assert ", reused" in again.stdout
    issued = json.loads(lake.command(ORDERS, "-o", str(path), "--append", "--json").stdout)
    assert issued["file"] == issued["environment"]["HADOOP_TOKEN_FILE_LOCATION"] == str(path)
    [reused] = issued["tokens"]
    assert (reused["service"], reused["reused"]) == ("s3a://lake", True)
    assert reused["tables"] == [{"name": ORDERS, "location": "s3a://lake/orders"}]
    assert TokenFile.decode(path.read_bytes()) == first


def test_a_replaced_token_is_reported(lake: HadoopLake, tmp_path: Path) -> None:
    path = tmp_path / "token.hdts"
    assert lake.command(ORDERS, "-o", str(path)).returncode == 0
    done = lake.command(VISITS, "-o", str(path), "--append")
    assert done.stderr == "note: the token for s3a://lake was replaced; Hadoop uses one per bucket\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["lake.sales.absent"],
            "the gateway returned an error: there is no table 'absent' in lake.sales",
        ),
        (["orders"], "'orders' is not the name of a table: write share.schema.table"),
        (
            [ORDERS, "--hadoop", "2.7"],
            "the gateway returned an error: hadoop-aws 2.7 does not read these tokens",
        ),
        ([ORDERS, "--binding", "full"], "the gateway returned an error: tokens of kind"),
    ],
)
def test_a_refusal_is_one_line_and_leaves_no_file(
    lake: HadoopLake, tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = lake.command(*arguments, "-o", str(tmp_path / "token.hdts"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {said}")
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ("[]", "is not a profile file: it is not a JSON object"),
        ("{", "is not a profile file: it is not a JSON object"),
        ('{"endpoint": ""}', "is not a profile file: endpoint is missing"),
        (
            '{"endpoint": "http://127.0.0.1:9", "type": "basic"}',
            "use a profile with a bearer token or of",
        ),
        ('{"endpoint": "http://127.0.0.1:9", "bearerToken": "secret"}', "does not respond: Client"),
    ],
)
def test_a_profile_that_does_not_serve_is_one_line(
    lake: HadoopLake, tmp_path: Path, profile: str, said: str
) -> None:
    path = tmp_path / "broken.share"
    path.write_text(profile)
    broken = HadoopLake(lake.gateway, {"acme": path})
    done = broken.command(ORDERS, "-o", str(tmp_path / "token.hdts"))
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "secret" not in done.stderr


def test_a_file_is_shown_without_its_secrets(tmp_path: Path) -> None:
    path = tmp_path / "token.hdts"
    token = made_up_token(SESSION_KIND, Layout.B)
    path.write_bytes(TokenFile({token.service: token}).encode())
    shown = CliRunner().invoke(build_cli(), ["hadoop-token", "show", str(path)])
    assert shown.exit_code == 0
    assert "layout:     B (hadoop-aws 3.5 and later)" in shown.stdout
    assert "a secret key" not in shown.stdout
    printed = CliRunner().invoke(build_cli(), ["hadoop-token", "show", str(path), "--json"]).stdout
    [described] = json.loads(printed)["tokens"]
    assert (described["service"], described["layout"]) == (
        token.service,
        "B (hadoop-aws 3.5 and later)",
    )
    assert "a secret key" not in printed


def test_the_short_form_and_help_name_both_commands() -> None:
    runner = CliRunner()
    assert "--profile" in runner.invoke(build_cli(), ["hadoop-token", "issue", "--help"]).stdout
    helped = runner.invoke(build_cli(), ["hadoop-token", "--help"]).stdout
    assert "issue" in helped
    assert "show" in helped
