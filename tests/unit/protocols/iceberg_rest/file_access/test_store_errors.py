from __future__ import annotations

from sluicegate.protocols.iceberg_rest.file_access.store_errors import REFUSED, store_error

MESSAGE = "column 'a<b' & others: use another protocol"


def test_an_error_has_its_code_and_message() -> None:
    response = store_error(REFUSED, MESSAGE, 400)
    assert (response.status_code, response.headers["cache-control"]) == (400, "private, no-store")
    assert bytes(response.body).decode() == (
        "<Error><Code>InvalidRequest</Code>"
        "<Message>column 'a&lt;b' &amp; others: use another protocol</Message></Error>"
    )


def test_a_client_that_asks_for_the_size_of_the_file_reads_the_message_next() -> None:
    response = store_error(REFUSED, MESSAGE, 400, "HEAD")
    body = store_error(REFUSED, MESSAGE, 400).body
    assert (response.status_code, response.body) == (200, b"")
    assert response.headers["content-length"] == str(len(body))
