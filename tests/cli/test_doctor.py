"""`doctor` finds what is wrong with a deployment, against real stores and databases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import orjson
import pytest
from support.gateways.s3_lake import storage_of
from support.process.installed import CATALOG, Site
from support.servers.issuer import running_issuer
from support.servers.postgres import running_postgres
from support.servers.s3_folder import serving_s3
from support.tables.deltalog import DeltaFolder, add, metadata, protocol
from support.tables.filesets import schema_field

from sluicegate.cli.main import run
from sluicegate_testing.servers import _certificate
from sluicegate_testing.servers._certificate import make_certificate
from sluicegate_testing.servers.ports import free_port
from sluicegate_testing.servers.seaweedfs import SeaweedFS

Capture = pytest.CaptureFixture[str]
ODD = CATALOG.replace('return ["eu"]', r'return ["\x1b[2J"]')
HANGING = CATALOG.replace('return ["eu"]', "import asyncio; await asyncio.sleep(3600)")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICEGATE_CONFIG", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with SeaweedFS.start(tmp_path_factory.mktemp("seaweedfs")) as running:
        running.put("orders/part-0.parquet", b"some bytes")
        running.put("visits/part-0.parquet", b"some other bytes")
        yield running


def configure(folder: Path, **settings: Any) -> None:
    path = folder / "gateway.yaml"
    path.touch(mode=0o600)
    path.write_bytes(orjson.dumps({"catalogs": {"lake": {"type": "paths"}}, **settings}))


def diagnose(capsys: Capture, *arguments: str, code: int = 0) -> list[tuple[str, str]]:
    """The status and message of each result."""
    assert run(["doctor", "--json", *arguments]) == code
    printed = capsys.readouterr().out
    assert "X-Amz" not in printed
    return [(each["status"], each["message"]) for each in json.loads(printed)]


def vending(server: SeaweedFS) -> dict[str, Any]:
    return {
        **storage_of(server),
        "sts_endpoint": server.endpoint,
        "vending": {"role_arn": server.role_arn},
    }


def test_a_store_that_works_is_listed_read_and_opened_by_a_signed_url(
    folder: Path, server: SeaweedFS, capsys: Capture
) -> None:
    configure(folder, storage=[vending(server)])
    assert diagnose(capsys, "--only", "storage,vending") == [
        ("ok", "can be listed and read"),
        ("ok", "a signed URL opens an object with plain HTTP"),
        ("ok", "issued for 15 min"),
        ("ok", "they read their directory"),
        ("ok", "the store refuses them next to it"),
        ("skipped", "no table is declared with access mode dir"),
    ]


def test_credentials_of_a_shared_table_are_requested_and_used(
    folder: Path, server: SeaweedFS, capsys: Capture
) -> None:
    configure(folder, storage=[vending(server)])
    table = "{catalog: lake, table: 's3a://lake/orders/', access_modes: [dir]}"
    (folder / "shares.yaml").write_text(
        f"shares: {{s: {{schemas: {{d: {{tables: {{orders: {table}}}}}}}}}}}"
    )
    assert run(["apply", "shares.yaml", "--offline"]) == 0
    capsys.readouterr()
    assert diagnose(capsys, "--only", "vending")[3:] == [
        ("ok", "s.d.orders: issued for 15 min"),
        ("ok", "s.d.orders: they read their directory"),
        ("ok", "s.d.orders: the store refuses them next to it"),
    ]
    configure(folder, storage=[storage_of(server)])
    assert diagnose(capsys, "--only", "vending", code=1) == [
        ("failed", "s.d.orders: neither its catalog nor its storage vends credentials"),
    ]


def test_timestamps_that_many_readers_misread_are_found_in_statistics(
    folder: Path, capsys: Capture
) -> None:
    (folder / "lake").mkdir()
    storage = [{"type": "file", "prefix": f"file://{folder}/lake/"}]
    configure(folder, storage=storage)
    assert diagnose(capsys, "--only", "tables") == [("skipped", "no Delta table is declared")]
    fields = [schema_field("id", "long"), schema_field("until", "timestamp")]
    schema = json.dumps({"type": "struct", "fields": fields})
    tables = {}
    for name, most in {"fine": "2261-12-31", "wide": "9999-12-31", "unknown": None}.items():
        bounds = {"until": f"{most}T00:00:00.000Z"} if most else {}
        stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": {"until": 0}}
        log = DeltaFolder(folder / "lake" / name)
        action = metadata()
        action["metaData"]["schemaString"] = schema
        log.commit(0, protocol(), action, add("a.parquet", stats=json.dumps(stats)))
        tables[name] = {"catalog": "lake", "table": f"file://{folder}/lake/{name}"}
    gone = {"catalog": "lake", "table": f"file://{folder}/lake/gone"}
    declared = {"shares": {"s": {"schemas": {"d": {"tables": {**tables, "gone": gone}}}}}}
    (folder / "shares.yaml").write_bytes(orjson.dumps(declared))
    assert run(["apply", "shares.yaml", "--offline"]) == 0
    capsys.readouterr()
    missing, *found = diagnose(capsys, "--only", "tables")
    assert (missing[0], missing[1][:10]) == ("skipped", "s.d.gone: ")
    assert found == [
        ("warning", "s.d.wide: the column 'until' has timestamps before 1678 or after 2261"),
        ("ok", "the statistics of 3 declared Delta tables were read"),
    ]


def test_a_wrong_key_is_found_and_not_printed(folder: Path, server: SeaweedFS, capsys: Capture) -> None:
    configure(folder, storage=[storage_of(server) | {"secret_access_key": "a-wrong-secret-key"}])
    assert run(["doctor", "--only", "storage"]) == 1
    printed = capsys.readouterr().out
    assert "failed   s3-1 s3://lake/: cannot be read: " in printed
    assert "to do: check bucket, region, endpoint and credentials" in printed
    assert printed.endswith("0 ok, 0 warning, 1 failed, 0 skipped\n")
    assert "a-wrong-secret-key" not in printed


def test_a_missing_bucket_and_an_unreachable_store_are_found_in_one_run(
    folder: Path, server: SeaweedFS, capsys: Capture
) -> None:
    away = f"http://127.0.0.1:{free_port()}"
    configure(
        folder,
        storage=[
            storage_of(server, server.admin) | {"prefix": "s3://no-such-bucket/"},
            storage_of(server) | {"public_endpoint": away},
        ],
    )
    missing, read, unreachable = diagnose(capsys, "--only", "storage", code=1)
    assert missing[0] == "failed"
    assert missing[1].startswith("cannot be read: NoSuchBucket: ")
    assert read == ("ok", "can be listed and read")
    place = away.removeprefix("http://")
    assert unreachable == (
        "failed",
        f"signed URLs: {place} does not respond (ClientConnectorError)",
    )


def test_a_role_that_cannot_be_assumed_is_found(
    folder: Path, server: SeaweedFS, capsys: Capture
) -> None:
    role = server.role_arn.rpartition("/")[0] + "/NoSuchRole"
    configure(folder, storage=[vending(server) | {"vending": {"role_arn": role}}])
    [(status, message), _] = diagnose(capsys, "--only", "vending", code=1)
    assert status == "failed"
    assert "role" in message.lower()


def test_a_store_with_another_clock_is_found(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "lake" / "eu").mkdir(parents=True)
    (folder / "lake" / "eu" / "object").write_text("some bytes")
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", lambda *_: past)
    with serving_s3(folder / "lake") as store:
        keys = {"access_key_id": "a", "secret_access_key": "a-secret-of-a-test"}
        section = {"type": "s3", "prefix": "s3://lake/eu/", "endpoint": store.endpoint, **keys}
        configure(folder, storage=[section])
        found = diagnose(capsys, "--only", "storage", code=1)
        store.status = 403
        refused = diagnose(capsys, "--only", "storage", code=1)
    assert [status for status, _ in found] == ["ok", "ok", "failed"]
    assert "behind this machine's" in found[2][1]
    assert [status for status, _ in refused] == ["failed", "failed"]
    assert "the clock of the store is 36" in refused[1][1]


def test_a_catalog_that_hangs_delays_no_other(site: Site, folder: Path, capsys: Capture) -> None:
    site.install("uc", CATALOG)
    site.install("slow", HANGING)
    site.install("odd", ODD)
    kinds = ("slow", "uc", "odd")
    configure(folder, catalogs={kind: {"type": kind, "uri": "x"} for kind in kinds})
    [slow_one, good_one, odd_one] = diagnose(capsys, "--only", "catalogs", "--timeout", "1s", code=1)
    assert slow_one == ("failed", "no result within 1 s")
    assert good_one[0] == "ok"
    assert good_one[1].startswith("schemas: 1; tables in 'eu': 1 (")
    assert odd_one[1].startswith("schemas: 1; tables in '\\x1b[2J'")


def test_a_database_that_does_not_respond_is_found(folder: Path, capsys: Capture) -> None:
    with running_postgres() as postgres:
        url = postgres.new_database()
        configure(folder, database=url, signing_key="0123456789abcdef" * 4)
        [empty] = diagnose(capsys, "--only", "database")
        assert empty[0] == "warning"
        assert run(["recipient", "list"]) == 0
        capsys.readouterr()
        [current] = diagnose(capsys, "--only", "database")
        assert current[0] == "ok"
        postgres.go_away(url)
        [(status, message)] = diagnose(capsys, "--only", "database", code=1)
        postgres.come_back(url)
    assert status == "failed"
    assert "does not respond" in message


def test_an_older_and_a_newer_schema_are_distinguished(folder: Path, capsys: Capture) -> None:
    import sqlite3
    from contextlib import closing

    configure(folder)
    assert ("skipped", "sqlite:///sluicegate.db does not exist yet; the first start creates it") in (
        diagnose(capsys, "--only", "database")
    )
    assert not (folder / "sluicegate.db").exists()
    assert run(["recipient", "list"]) == 0
    capsys.readouterr()
    for version, status, code in (("0001", "warning", 0), ("9999", "failed", 1)):
        with closing(sqlite3.connect(folder / "sluicegate.db")) as database:
            database.execute("UPDATE alembic_version SET version_num = ?", (version,))
            database.commit()
        assert diagnose(capsys, "--only", "database", code=code)[0][0] == status


def test_certificates_are_checked(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = make_certificate(folder)
    other = folder / "other"
    other.mkdir()
    monkeypatch.setattr(_certificate, "_LIFE", -timedelta(minutes=1))
    expired = make_certificate(other)
    for each in (files.key, expired.key):
        each.chmod(0o600)
    tls = {"certificate": str(files.certificate), "key": str(files.key)}
    configure(folder, public_url="https://localhost:8443", server={"tls": tls})
    assert diagnose(capsys, "--only", "tls,address") == [
        ("ok", "localhost resolves"),
        ("warning", "expires in 0 days"),
    ]
    configure(folder, public_url="https://share.example.com", server={"tls": tls})
    assert diagnose(capsys, "--only", "tls")[1:] == [
        ("warning", "the certificate is not for share.example.com, the host of public_url"),
    ]
    tls = {"certificate": str(expired.certificate), "key": str(files.key)}
    configure(folder, server={"tls": tls})
    files.key.chmod(0o644)
    [old, readable, foreign] = diagnose(capsys, "--only", "tls", code=1)
    assert old[1].startswith("has expired on ")
    assert readable == ("failed", f"every user can read the key {files.key}")
    assert foreign == ("failed", f"the key {files.key} does not belong to the certificate")


def test_issuers_and_addresses_are_checked(folder: Path, capsys: Capture) -> None:
    with running_issuer() as issuer:
        section = {"issuer": issuer.address, "audience": "gateway"}
        configure(
            folder,
            public_url="https://no-such-host.invalid",
            authentication={"oidc": [section]},
        )
        address, good = diagnose(capsys, "--only", "address,issuers", code=1)
        assert good == ("ok", "the keys are available")
        assert address[0] == "failed"
        assert "no-such-host.invalid cannot be resolved" in address[1]
    [(status, message)] = diagnose(capsys, "--only", "issuers", code=1)
    assert status == "failed"
    assert "cannot be fetched" in message


def test_an_invalid_configuration_skips_what_depends_on_it(folder: Path, capsys: Capture) -> None:
    configure(folder, storage=[{"type": "s3", "prefix": "s3://lake/", "regoin": "x"}])
    found = diagnose(capsys, code=1)
    assert [message for status, message in found if status == "failed"] != []
    assert any("did you mean 'region'?" in message for _, message in found)
    assert ("skipped", "the configuration is not valid") in found
    assert any("GB are free" in message for _, message in found)
    configure(folder, serverr={})
    assert any("did you mean 'server'?" in message for _, message in diagnose(capsys, code=1))


def test_a_local_storage_needs_the_running_gateway_for_its_links(folder: Path, capsys: Capture) -> None:
    (folder / "tables").mkdir()
    (folder / "tables" / "object").write_text("some bytes")
    storage = [{"type": "file", "prefix": f"file://{folder}/tables/"}]
    configure(folder, storage=storage, public_url=f"http://127.0.0.1:{free_port()}")
    assert diagnose(capsys, "--only", "storage") == [
        ("ok", "can be listed and read"),
        ("skipped", "signed URLs: the gateway has no signing key yet"),
    ]
    (folder / "sluicegate.key").write_text("0123456789abcdef" * 4)
    (folder / "sluicegate.key").chmod(0o600)
    assert diagnose(capsys, "--only", "storage")[1] == (
        "skipped",
        "signed URLs: the gateway does not run at public_url",
    )


def test_an_unknown_group_is_refused(folder: Path, capsys: Capture) -> None:
    configure(folder)
    assert run(["doctor", "--only", "storages"]) == 2
    assert "did you mean 'storage'?" in capsys.readouterr().err
