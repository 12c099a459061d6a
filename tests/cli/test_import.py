"""`import` translates the configuration of the reference server, and treats it as hostile."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sluicegate.access.recipients.secrets import digest
from sluicegate.cli.main import run
from sluicegate.cli.reference_server import read
from sluicegate.cli.reference_server.shares import translate_location
from sluicegate.config import load_settings

Capture = pytest.CaptureFixture[str]
TOKEN = "0123456789abcdefghijklmnopqrstuvwxyz-token"
SOURCE = f"""\
version: 1
authorization: {{bearerToken: {TOKEN}}}
endpoint: /shares-of-acme
port: 9443
ssl: {{selfSigned: false, certificateFile: cert.pem, certificateKeyFile: key.pem}}
preSignedUrlTimeoutSeconds: 7200
refreshTokenTtlMs: 3600000
queryTablePageTokenTtlMs: 1500
temporaryCredentialValiditySeconds: 60
stalenessAcceptable: true
shares:
- name: sales
  histroyShared: true
  schemas:
  - name: eu
    tables:
    - {{name: orders, location: "s3a://lake/eu/orders", historyShared: true, startVersion: 3}}
    - {{name: visits, location: "wasbs://web@acmelake.blob.core.windows.net/visits"}}
    - {{name: people, location: "gs://acme-lake/people", id: 00000000-0000-0000-0000-00000000000A}}
    - {{name: notes, location: /srv/tables/notes, id: notes-1}}
"""
TABLES = """
shares:
- name: s
  schemas:
  - name: d
    tables:
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICEGATE_CONFIG", raising=False)
    return tmp_path


def write(folder: Path, text: str = SOURCE) -> None:
    path = folder / "old.yaml"
    path.touch(mode=0o600)
    path.write_text(text)


def with_tables(*tables: str) -> str:
    rows = "\n".join(f"    - {table}" for table in tables)
    return f"version: 1\nauthorization: {{bearerToken: {TOKEN}}}{TABLES}{rows}\n"


def stored(folder: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "sluicegate.db")) as database:
        return list(database.execute(query))


def test_the_files_are_valid_and_contain_what_was_translated(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    write(folder)
    assert run(["import", "old.yaml", "--public-url", "https://share.example.com", "--json"]) == 0
    notes = {note["key"]: note for note in json.loads(capsys.readouterr().out)["notes"]}
    settings = load_settings(folder / "gateway.yaml")
    assert [(section.type, section.options["prefix"]) for section in settings.storage] == [
        ("azure", "abfss://web@acmelake.dfs.core.windows.net/"),
        ("file", "file:///srv/tables/"),
        ("gcs", "gs://acme-lake/"),
        ("s3", "s3://lake/"),
    ]
    assert settings.server.tls is not None
    assert (settings.server.port, settings.server.tls.certificate) == (9443, "cert.pem")
    assert settings.public_url == "https://share.example.com"
    assert (settings.sharing.presigned_url_ttl, settings.sharing.refresh_token_lifetime) == (7200, 3600)
    assert settings.vending.lifetime == 900
    assert notes["queryTablePageTokenTtlMs"]["outcome"] == "dropped"
    assert notes["temporaryCredentialValiditySeconds"]["outcome"] == "changed"
    assert notes["stalenessAcceptable"] == {
        "outcome": "dropped",
        "key": "stalenessAcceptable",
        "line": 10,
        "message": "the gateway checks for a new version of the table at each request",
    }
    assert "not a UUID" in notes["shares[0].schemas[0].tables[3].id"]["message"]
    assert notes["shares[0].histroyShared"]["line"] == 13
    assert "let a proxy replace" in notes["endpoint"]["message"]
    assert "/shares-of-acme" in notes["endpoint"]["message"]
    assert run(["apply", "shares.yaml", "--offline"]) == 0
    assert stored(
        folder,
        "SELECT identifier, history, change_feed, start_version FROM shared_tables ORDER BY key",
    ) == [
        ("file:///srv/tables/notes", 0, 0, 0),
        ("s3://lake/eu/orders", 1, 1, 3),
        ("gs://acme-lake/people", 0, 0, 0),
        ("abfss://web@acmelake.dfs.core.windows.net/visits", 0, 0, 0),
    ]
    assert stored(folder, "SELECT id FROM shared_tables WHERE key = 'people'") == [
        ("00000000-0000-0000-0000-00000000000a",)
    ]


def test_files_are_never_overwritten_without_force(folder: Path, capsys: Capture) -> None:
    write(folder)
    (folder / "shares.yaml").write_text("mine")
    assert run(["import", "old.yaml"]) == 1
    assert "shares.yaml already exists" in capsys.readouterr().err
    assert (folder / "shares.yaml").read_text() == "mine"
    assert not (folder / "gateway.yaml").exists()
    assert run(["import", "old.yaml", "--force"]) == 0
    assert "sales" in (folder / "shares.yaml").read_text()


def test_apply_stores_everything_or_nothing(folder: Path, capsys: Capture) -> None:
    write(folder)
    (folder / "gateway.yaml").write_text("catalogs: {lake: {type: paths}}")
    assert run(["import", "old.yaml", "--apply", "--dry-run"]) == 2
    assert run(["import", "old.yaml", "--apply", "--token-lifetime", "4000d"]) == 1
    assert "between 1s and 3650d" in capsys.readouterr().err
    assert stored(folder, "SELECT name FROM shares") == []
    assert (
        run(["import", "old.yaml", "--apply", "--recipient", "acme", "--token-lifetime", "730d"]) == 0
    )
    printed = capsys.readouterr()
    assert TOKEN not in printed.out + printed.err
    assert "more than a year" in printed.out
    assert "+ grant sales to acme" in printed.out
    [(found, created, expires)] = stored(folder, "SELECT digest, created_at, expires_at FROM tokens")
    assert isinstance(created, int)
    assert isinstance(expires, int)
    assert (found, expires - created) == (digest(TOKEN), 730 * 86_400_000)


def test_a_second_import_renews_the_token_of_the_same_recipient_only(
    folder: Path, capsys: Capture
) -> None:
    write(folder)
    (folder / "gateway.yaml").write_text("catalogs: {lake: {type: paths}}")
    assert run(["import", "old.yaml", "--apply"]) == 0
    assert run(["import", "old.yaml", "--apply", "--token-lifetime", "1d"]) == 0
    assert "is known already" in capsys.readouterr().out
    [(expires,)] = stored(folder, "SELECT expires_at - created_at < 2 * 86400000 FROM tokens")
    assert expires == 1
    assert run(["import", "old.yaml", "--apply", "--recipient", "other"]) == 1
    assert "belongs to another recipient" in capsys.readouterr().err
    assert stored(folder, "SELECT name FROM recipients") == [("delta-sharing",)]
    assert run(["recipient", "revoke", "delta-sharing"]) == 0
    assert run(["import", "old.yaml", "--apply"]) == 1
    assert "'delta-sharing' is revoked" in capsys.readouterr().err


def test_an_import_is_recorded_before_and_with_its_changes(folder: Path, capsys: Capture) -> None:
    write(folder)
    (folder / "gateway.yaml").write_text("catalogs: {lake: {type: paths}}")
    assert run(["import", "old.yaml", "--apply", "--dry-run"]) == 2
    assert run(["import", "old.yaml", "--apply", "--recipient", "acme"]) == 0
    assert run(["import", "old.yaml", "--apply", "--recipient", "other"]) == 1
    capsys.readouterr()
    assert run(["audit", "search", "--action", "importReferenceServer", "--json"]) == 0
    shown = capsys.readouterr().out
    records = json.loads(shown)[::-1]
    assert [each["outcome"] for each in records] == ["allowed", "allowed", "allowed", "refused"]
    first, second, *failed = (each["changes"] for each in records)
    assert first == []
    assert second[0] == "+ share sales"
    assert second[-2:] == ["+ grant sales to acme", "+ imported token of recipient acme"]
    assert failed == [[], []]
    assert TOKEN not in shown


def test_nothing_is_removed_without_force(folder: Path, capsys: Capture) -> None:
    write(folder)
    (folder / "gateway.yaml").write_text("catalogs: {lake: {type: paths}}")
    assert run(["import", "old.yaml", "--apply"]) == 0
    assert run(["import", "old.yaml", "--apply", "--dry-run"]) == 0
    write(folder, SOURCE.replace("name: people", "name: persons"))
    assert run(["import", "old.yaml", "--apply"]) == 1
    assert "would remove entries from the database, 1 in total" in capsys.readouterr().err
    assert run(["import", "old.yaml", "--apply", "--force"]) == 0
    assert stored(folder, "SELECT name FROM shared_tables WHERE key LIKE 'pe%'") == [("persons",)]


def test_the_catalog_must_be_one_of_paths(folder: Path, capsys: Capture) -> None:
    write(folder)
    (folder / "gateway.yaml").write_text("catalogs: {lake: {type: unity}, lakes: {type: paths}}")
    assert run(["import", "old.yaml", "--apply"]) == 1
    assert "of type 'unity'" in capsys.readouterr().err
    assert run(["import", "old.yaml", "--apply", "--catalog", "laks"]) == 1
    assert "did you mean 'lakes'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 1\nshares: []\n", "The gateway has no anonymous access"),
        (SOURCE.replace(TOKEN, '"half open"'), "visible ASCII"),
        (SOURCE.replace(TOKEN, '""'), "visible ASCII"),
        (SOURCE.replace(TOKEN, "12345"), "authorization.bearerToken: expected a string"),
        (SOURCE.replace("version: 1", "version: 2"), "old.yaml:1:10: version"),
        (SOURCE.replace("name: sales", "name: sal/es"), "a share's name cannot contain a slash"),
        (SOURCE.replace("name: visits", "name: Orders"), "'Orders' and 'orders' are the same name"),
        (with_tables("{name: a, location: 'hdfs://n/t'}"), "no storage serves the scheme hdfs://"),
        ("a: &x [1]\nb: *x\n", "aliases are not supported"),
        ("[" * 3_000, "nested more than"),
        ("a: \x00", "is not valid YAML"),
        ("a: '", "is not valid YAML"),
        ("- 1", "expected a mapping"),
        (f"version: 1\n{TOKEN * 2}: 1\n", "no anonymous access"),
    ],
)
def test_what_cannot_be_imported_is_refused_without_its_token(
    folder: Path, capsys: Capture, text: str, message: str
) -> None:
    write(folder, text)
    assert run(["import", "old.yaml"]) == 1
    printed = capsys.readouterr()
    assert message in printed.err
    assert "unexpected" not in printed.err
    assert TOKEN not in printed.out + printed.err
    assert not (folder / "gateway.yaml").exists()


def test_a_large_file_is_refused_before_it_is_parsed(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "LARGEST", 100)
    write(folder)
    assert run(["import", "old.yaml"]) == 1
    assert "larger than 100 bytes" in capsys.readouterr().err


def test_control_characters_are_not_printed(folder: Path, capsys: Capture) -> None:
    write(folder, f'version: 1\nhost: "a\\e[2J"\n"\\x9b": 1\nauthorization: {{bearerToken: {TOKEN}}}\n')
    assert run(["import", "old.yaml"]) == 0
    printed = capsys.readouterr().out
    assert "server.host: a\\x1b[2J" in printed
    assert "\\x9b: the server does not know this key" in printed.replace(" (line 3)", "")
    assert all(line.isprintable() for line in printed.splitlines())


def test_partial_leaves_out_what_cannot_be_translated(folder: Path, capsys: Capture) -> None:
    rows = ["{name: a, location: 'hdfs://n/t'}", "{name: b, location: 's3://lake/b'}"]
    write(folder, with_tables(*rows))
    assert run(["import", "old.yaml", "--partial"]) == 0
    assert "untranslatable shares[0].schemas[0].tables[0].location" in capsys.readouterr().out
    assert "hdfs" not in (folder / "shares.yaml").read_text()


def test_weak_and_readable_tokens_and_equal_ids_are_reported(folder: Path, capsys: Capture) -> None:
    known = "00000000-0000-0000-0000-000000000000"
    rows = [f"{{name: {name}, location: 's3://lake/{name}', id: {known}}}" for name in "ab"]
    write(folder, with_tables(*rows).replace(TOKEN, "secret"))
    (folder / "old.yaml").chmod(0o644)
    assert run(["import", "old.yaml"]) == 0
    printed = capsys.readouterr().out
    assert "an earlier table has the same id" in printed
    assert "the token is short or repetitive" in printed
    assert "every user of this machine can read the token" in printed


@pytest.mark.parametrize(
    ("location", "translated", "storage", "prefix"),
    [
        ("s3n://lake//a///b/", "s3://lake/a/b", "s3", "s3://lake/"),
        ("S3A://lake/A b", "s3://lake/A b", "s3", "s3://lake/"),
        ("gcs://lake/a", "gs://lake/a", "gcs", "gs://lake/"),
        (
            "abfs://c@Acme.z1.dfs.core.windows.net/a",
            "abfss://c@acme.z1.dfs.core.windows.net/a",
            "azure",
            "abfss://c@acme.z1.dfs.core.windows.net/",
        ),
        ("file:/srv/t/a/", "file:///srv/t/a", "file", "file:///srv/t/"),
        ("file:///srv/t/a", "file:///srv/t/a", "file", "file:///srv/t/"),
    ],
)
def test_locations_are_translated(location: str, translated: str, storage: str, prefix: str) -> None:
    found = translate_location(location)
    assert (found.location, found.storage, found.prefix) == (translated, storage, prefix)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("s3a://key:secret@lake/t", "contains credentials"),
        ("s3a://lake/../t", r"'\.' and '\.\.'"),
        ("wasbs://c/t", "expected container and account"),
        ("adl://acme.azuredatalakestore.net/t", "adl://"),
        ("lake/t", "expected a location"),
        ("file:///t", "root directory"),
        ("s3://lake/a\x1b[2J", "control character"),
    ],
)
def test_locations_that_no_storage_serves_are_refused(location: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        translate_location(location)
