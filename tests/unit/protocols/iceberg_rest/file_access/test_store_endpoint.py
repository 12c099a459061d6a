from __future__ import annotations

from sluicegate.protocols.iceberg_rest.file_access.store_endpoint import (
    REFUSED,
    signing_config,
    store_error,
)

MESSAGE = "column 'a<b' & others: use another protocol"


def test_an_error_has_its_code_and_message() -> None:
    response = store_error(REFUSED, MESSAGE, 400)
    assert (response.status_code, response.headers["cache-control"]) == (400, "private, no-store")
    assert bytes(response.body).decode() == (
        "<Error><Code>InvalidRequest</Code>"
        "<Message>column 'a&lt;b' &amp; others: use another protocol</Message></Error>"
    )


def test_a_client_that_requests_the_size_of_the_file_reads_the_message_next() -> None:
    response = store_error(REFUSED, MESSAGE, 400, "HEAD")
    body = store_error(REFUSED, MESSAGE, 400).body
    assert (response.status_code, response.body) == (200, b"")
    assert response.headers["content-length"] == str(len(body))


CATALOG = "https://gateway.example/iceberg"
SIGN = "v1/shares/sales/namespaces/eu/tables/orders/sign"
STORE = "https://gateway.example/iceberg-files"


def config(*, server_planning: bool = True) -> dict[str, str]:
    return signing_config(
        catalog_uri=CATALOG,
        sign_endpoint=SIGN,
        store_endpoint=STORE,
        server_planning=server_planning,
    )


def test_java_and_pyiceberg_find_the_endpoint() -> None:
    found = config()
    for name in ("signer", "s3.signer"):
        assert (found[f"{name}.uri"], found[f"{name}.endpoint"]) == (CATALOG, SIGN)
    assert found["s3.remote-signing-enabled"] == "true"
    assert found["s3.signer"] == "S3V4RestSigner"
    assert found["py-io-impl"] == "pyiceberg.io.fsspec.FsspecFileIO"
    assert found["io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"


def test_requests_go_to_the_gateway_in_path_style() -> None:
    found = config()
    assert (found["s3.endpoint"], found["s3.path-style-access"]) == (STORE, "true")
    assert found["s3.region"] == found["client.region"]


def test_planning_on_the_server_is_set_only_if_required() -> None:
    assert config()["scan-planning-mode"] == "server"
    assert "scan-planning-mode" not in config(server_planning=False)


def test_the_configuration_contains_no_credentials() -> None:
    names = " ".join(config())
    assert not any(secret in names for secret in ("key", "token", "secret", "credential"))
