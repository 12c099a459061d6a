"""Lines as S3 writes them into server access logs."""

from __future__ import annotations

from datetime import UTC, datetime

AT = datetime(2026, 11, 26, 6, 1, 2, tzinfo=UTC)
SIGNED = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAEXAMPLE%2F20261126&X-Amz-Date="
SIGNATURE = "&X-Amz-Signature=0f3c9e"
SESSION = "arn:aws:sts::123456789012:assumed-role/lake-reader/acme"


def log_line(
    key: str = "orders/part-0.parquet",
    *,
    path: str | None = None,
    at: datetime = AT,
    query: str = "",
    requester: str = "-",
    request_id: str = "3E57427F3EXAMPLE",
    operation: str = "REST.GET.OBJECT",
    status: str = "200",
    size: str = "2662992",
    address: str = "192.0.2.3",
    agent: str = '"S3Console/0.4"',
) -> str:
    """Return the line of a request, without its end.

    The path of the request is by default that of a key that is encoded once.
    """
    uri = f"GET {f'/lake/{key}' if path is None else path}{query} HTTP/1.1"
    return (
        f"79a59df900b949e55d96a1e698fbaced lake [{at:%d/%b/%Y:%H:%M:%S +0000}] {address} {requester} "
        f'{request_id} {operation} {key} "{uri}" {status} - {size} 3462992 70 10 "-" {agent} - '
        "s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3/eTPFvsiP/XV/VLi31234= SigV4 "
        "ECDHE-RSA-AES128-GCM-SHA256 QueryString lake.s3.eu-west-1.amazonaws.com TLSV1.2 - -"
    )
