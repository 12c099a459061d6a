"""Hadoop's own reader and writer of token files, in a version of each layout, compared with ours."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.clients.hadoop_tokens import CREDENTIALS, EXPIRES, IDENTIFIER, KINDS, NOW, made_up_token
from support.process.spark import POM, jars, require_spark

from sluicegate.vending.hadoop.identifier import Layout, decode_identifier, guarded_created
from sluicegate.vending.hadoop.token import to_url
from sluicegate.vending.hadoop.token_file import FORMATS, FileFormat, TokenFile

pytestmark = pytest.mark.slow

_SOURCE = Path(__file__).with_name("java") / "TokenFiles.java"
_CLASSES = {
    "Session": "SessionTokenIdentifier",
    "Role": "RoleTokenIdentifier",
    "Full": "FullCredentialsTokenIdentifier",
}


def _of_spark() -> list[Path]:
    """PySpark's version of Hadoop, with hadoop-aws of the same version."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    own = (Path(spec.origin).parent / "jars").glob("*.jar")
    names = ("hadoop-client", "commons-lang3", "slf4j-api", "commons-logging")
    return [*(jar for jar in own if jar.name.startswith(names)), *jars()]


CLASSPATHS: Mapping[Layout, Callable[[], list[Path]]] = {
    Layout.A: _of_spark,
    Layout.B: lambda: jars(POM.with_name("hadoop-3.5.xml")),
}


@dataclass(frozen=True)
class Hadoop:
    """A version of Hadoop."""

    layout: Layout
    classpath: str

    def run(self, *arguments: str | Path) -> list[list[str]]:
        """Return the output lines of `TokenFiles`, split at tabs."""
        out = self.java(str(_SOURCE), *map(str, arguments))
        return [line.split("\t") for line in out.splitlines()]

    def java(self, *arguments: str) -> str:
        """Return the output of a program."""
        java = shutil.which("java")
        assert java is not None
        done = subprocess.run(
            [java, "-XX:TieredStopAtLevel=1", "-cp", self.classpath, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module", params=Layout, ids=lambda layout: layout.name)
def hadoop(request: pytest.FixtureRequest) -> Hadoop:
    require_spark()
    layout: Layout = request.param
    return Hadoop(layout, ":".join(map(str, CLASSPATHS[layout]())))


def write(folder: Path, layout: Layout, file_format: FileFormat) -> Path:
    """Write a file with one token of each kind, for a bucket with the name of the kind."""
    tokens = [made_up_token(kind, layout, kind.rpartition("/")[2].lower()) for kind in KINDS]
    path = folder / f"{layout.name}-{file_format}.hdts"
    path.write_bytes(TokenFile({each.service: each for each in tokens}, {}, file_format).encode())
    return path


def test_java_prints_what_we_write(hadoop: Hadoop, tmp_path: Path) -> None:
    files = [write(tmp_path, hadoop.layout, file_format) for file_format in FORMATS]
    printed = hadoop.run("print", *files)
    assert len(printed) == 2 * len(KINDS) * len(files)
    for (name, kind, service, url), identifier in zip(printed[::2], printed[1::2], strict=True):
        file = TokenFile.decode((tmp_path / name).read_bytes())
        assert to_url(file.tokens[service]) == url
        assert identifier == [
            _CLASSES[kind.rpartition("/")[2]],
            IDENTIFIER.owner,
            IDENTIFIER.renewer,
            str(NOW),
            str(EXPIRES),
            service,
            IDENTIFIER.origin,
            IDENTIFIER.uuid,
            IDENTIFIER.encryption.algorithm,
            IDENTIFIER.encryption.key,
            str(guarded_created(NOW, hadoop.layout)),
            CREDENTIALS.access_key,
            CREDENTIALS.secret_key,
            CREDENTIALS.session_token,
            CREDENTIALS.role_arn,
            str(CREDENTIALS.expiration),
        ]


def test_java_refuses_the_other_layout_cleanly(hadoop: Hadoop, tmp_path: Path) -> None:
    (other,) = (layout for layout in Layout if layout is not hadoop.layout)
    printed = hadoop.run("print", write(tmp_path, other, "writable"))
    assert printed[1::2] == [["refused", "IOException"]] * len(KINDS)


def test_hadoops_command_prints_kind_service_renewer_and_end(hadoop: Hadoop, tmp_path: Path) -> None:
    path = write(tmp_path, hadoop.layout, "writable")
    printed = hadoop.java("org.apache.hadoop.security.token.DtUtilShell", "print", str(path))
    for kind in KINDS:
        (line,) = (line for line in printed.splitlines() if line.startswith(kind))
        assert line.split()[1:3] == [f"s3a://{kind.rpartition('/')[2].lower()}", IDENTIFIER.renewer]
        assert "11/14/23" in line  # maxDate, though nothing reads it when the token is used


@pytest.mark.parametrize("file_format", FORMATS)
def test_java_rewrites_our_files_byte_by_byte(
    hadoop: Hadoop, file_format: FileFormat, tmp_path: Path
) -> None:
    token = made_up_token(KINDS[0], hadoop.layout)
    ours, theirs = tmp_path / "ours.hdts", tmp_path / "theirs.hdts"
    ours.write_bytes(TokenFile({token.service: token}, {}, file_format).encode())
    hadoop.run("rewrite", ours, theirs, file_format)
    assert theirs.read_bytes() == ours.read_bytes()


@pytest.mark.parametrize("file_format", FORMATS)
def test_we_read_what_java_writes(hadoop: Hadoop, file_format: FileFormat, tmp_path: Path) -> None:
    path = tmp_path / "java.hdts"
    hadoop.run("write", path, file_format)
    file = TokenFile.decode(path.read_bytes())
    assert file.format == file_format
    assert file.secrets == {"other": b"hidden"}
    assert {token.kind for token in file.tokens.values()} == set(KINDS)
    for service, token in file.tokens.items():
        identifier, layout = decode_identifier(token.identifier)
        assert (layout, token.service, identifier.uri) == (hadoop.layout, service, service)
        assert (identifier.owner, identifier.renewer) == ("owner", "renewer")
        assert identifier.origin == "from Java"
        secret = identifier.credentials
        assert (secret.access_key, secret.secret_key) == ("an access key", "a secret")
        assert (secret.session_token, secret.expiration) == ("a session", 1_900_000_000_000)
        assert secret.role_arn == "arn:aws:iam::000000000000:role/Java"
