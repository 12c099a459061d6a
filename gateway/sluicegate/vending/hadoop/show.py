"""Describes token files for people, without secrets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sluicegate._util.clock import iso_utc
from sluicegate.api.hadoop_tokens import S3ATokenIdentifier
from sluicegate.vending.hadoop.identifier import Layout, decode_identifier
from sluicegate.vending.hadoop.token import HadoopToken
from sluicegate.vending.hadoop.token_file import TokenFile
from sluicegate.vending.hadoop.wire import MalformedToken

S3A_KINDS = "S3ADelegationToken/"


def describe(file: TokenFile, now: int) -> Iterator[str]:
    """Return lines that describe the content of a token file."""
    count = len(file.tokens)
    yield f"format {file.format}, {count} token{'' if count == 1 else 's'}"
    for alias, token in file.tokens.items():
        yield ""
        for name, value in _token(alias, token, now):
            yield f"{name + ':':<12}{value}"
    if file.secrets:
        yield ""
        yield f"and secrets of other services: {', '.join(map(_printable, sorted(file.secrets)))}"


def describe_as_json(file: TokenFile, now: int) -> dict[str, Any]:
    """Return the content of a token file for JSON, with the names and texts of `describe`."""
    return {
        "format": file.format,
        "tokens": [
            {name.replace(" ", "_"): value for name, value in _token(alias, token, now)}
            for alias, token in file.tokens.items()
        ],
        "other_secrets": [_printable(name) for name in sorted(file.secrets)],
    }


def _token(alias: str, token: HadoopToken, now: int) -> Iterator[tuple[str, str]]:
    yield "service", _printable(token.service)
    if alias != token.service:
        yield "alias", _printable(alias)
    yield "kind", _printable(token.kind)
    if not token.kind.startswith(S3A_KINDS):
        return
    try:
        identifier, layout = decode_identifier(token.identifier)
    except MalformedToken as error:
        yield "problem", error.message
        return
    yield from _identifier(identifier, layout, now)


def _identifier(found: S3ATokenIdentifier, layout: Layout, now: int) -> Iterator[tuple[str, str]]:
    secret, encryption = found.credentials, found.encryption
    texts = {
        "bucket": found.uri,
        "owner": found.owner,
        "renewer": found.renewer,
        "real user": found.real_user,
        "issued": _moment(found.issue_date),
        "expires": _expiry(secret.expiration or found.max_date, now),
        "uuid": found.uuid,
        "origin": found.origin,
        "role": secret.role_arn,
        "encryption": encryption.algorithm,
        "layout": f"{layout.name} ({layout.value})",
        "access key": _shortened(secret.access_key),
    }
    yield from ((name, _printable(value)) for name, value in texts.items() if value)
    hidden = {"secret key": secret.secret_key, "session": secret.session_token, "key": encryption.key}
    yield "hidden", ", ".join(f"{name} ({len(value)})" for name, value in hidden.items() if value)


def _expiry(moment: int, now: int) -> str:
    if not moment:
        return "never by itself"
    return f"{_moment(moment)}{'' if moment > now else ' (expired)'}"


def _moment(moment: int) -> str:
    return iso_utc(moment) if moment else ""


def _shortened(access_key: str) -> str:
    """Return enough of an access key to find it in a store's logs."""
    return f"{access_key[:4]}…{access_key[-4:]}" if len(access_key) > 12 else "…"


def _printable(value: str) -> str:
    """Return untrusted text as one line without control characters."""
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in value)
