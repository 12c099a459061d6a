"""Translates the settings of the reference server to `gateway.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluicegate._util.units import format_duration
from sluicegate.cli.reference_server.model import ServerConfig, SslConfig
from sluicegate.cli.reference_server.notes import Notes
from sluicegate.config.sections.sharing import (
    LONGEST_CREDENTIALS,
    LONGEST_SIGNED_URL,
    SHORTEST_CREDENTIALS,
)
from sluicegate.config.settings import DEFAULT_DATABASE

PREFIX = "/delta-sharing"
"""The path at which the gateway serves the protocol."""

_FOREVER = 2**31

_DROPPED = {
    "deltaTableCacheSize": "the gateway limits its cache by memory: cache.snapshots",
    "evaluatePredicateHints": "the gateway always prunes files by the hints of clients",
    "evaluateJsonPredicateHints": "the gateway always prunes files by the hints of clients",
    "evaluateJsonPredicateHintsV2": "the gateway always prunes files by the hints of clients",
    "requestTimeoutSeconds": "the gateway limits phases of a request: see server and limits",
    "queryTablePageTokenTtlMs": "page tokens of the gateway are valid for one hour",
    "queryTablePageSizeLimit": "the gateway streams answers, and clients choose the size of pages",
}
# Key of the source, section and key of the gateway, units per second, shortest and longest value.
_DURATIONS = (
    ("preSignedUrlTimeoutSeconds", "sharing", "presigned_url_ttl", 1, 1, LONGEST_SIGNED_URL),
    ("refreshTokenTtlMs", "sharing", "refresh_token_lifetime", 1000, 1, _FOREVER),
    (
        "temporaryCredentialValiditySeconds",
        "vending",
        "lifetime",
        1,
        SHORTEST_CREDENTIALS,
        LONGEST_CREDENTIALS,
    ),
)


def translate_settings(
    config: ServerConfig,
    storages: Mapping[str, str],
    notes: Notes,
    *,
    catalog: str,
    public_url: str | None,
) -> dict[str, Any]:
    """Translate all settings except the shares and the token."""
    settings: dict[str, Any] = {"public_url": public_url} if public_url else {}
    settings |= {
        "database": DEFAULT_DATABASE,
        "catalogs": {catalog: {"type": "paths"}},
        "storage": [_storage(prefix, kind, notes) for prefix, kind in sorted(storages.items())],
        "server": _server(config, notes),
    }
    for key, *target in _DURATIONS:
        _duration(config, key, *target, settings=settings, notes=notes)  # type: ignore[arg-type]
    _note_dropped(config, notes)
    _note_endpoint(config, notes, public_url)
    return settings


def _storage(prefix: str, kind: str, notes: Notes) -> dict[str, Any]:
    section: dict[str, Any] = {"type": kind, "prefix": prefix}
    if kind == "s3":
        section["region"] = {"env": "AWS_REGION"}
        message = "set region (and endpoint, for another store than AWS)"
    else:
        message = "check the options"
    if kind != "file":
        notes.add(
            "warning",
            ("shares",),
            f"storage {prefix}: {message}; credentials are not part of the source, so the gateway uses "
            "those of its environment unless you configure others",
        )
    return section


def _server(config: ServerConfig, notes: Notes) -> dict[str, Any]:
    host = "127.0.0.1" if config.host == "localhost" else config.host
    notes.add("translated", ("host",), f"server.host: {host}")
    notes.add("translated", ("port",), f"server.port: {config.port}")
    server: dict[str, Any] = {"host": host, "port": config.port}
    if config.ssl is not None and (tls := _tls(config.ssl, notes)):
        server["tls"] = tls
    return server


def _tls(ssl: SslConfig, notes: Notes) -> dict[str, str] | None:
    if ssl.self_signed or ssl.certificate_file is None or ssl.certificate_key_file is None:
        message = (
            "the gateway does not create self-signed certificates: set server.tls, or let a proxy "
            "terminate TLS"
        )
        notes.add("dropped", ("ssl",), message)
        return None
    notes.add("translated", ("ssl",), "server.tls")
    if ssl.certificate_password_file is not None:
        message = "the key must not be encrypted; decrypt it with `openssl pkey`"
        notes.add("dropped", ("ssl", "certificatePasswordFile"), message)
    return {"certificate": ssl.certificate_file, "key": ssl.certificate_key_file}


def _duration(
    config: ServerConfig,
    key: str,
    section: str,
    name: str,
    divisor: int,
    shortest: int,
    longest: int,
    *,
    settings: dict[str, Any],
    notes: Notes,
) -> None:
    value = _values(config)[key]
    if value is None:
        return
    seconds = min(max(value // divisor, shortest), longest)
    settings.setdefault(section, {})[name] = format_duration(seconds)
    target = f"{section}.{name}: {format_duration(seconds)}"
    if seconds * divisor == value:
        notes.add("translated", (key,), target)
    else:
        bounds = f"from {format_duration(shortest)} to {format_duration(longest)}"
        notes.add("changed", (key,), f"{target}; possible values are full seconds {bounds}")


def _note_dropped(config: ServerConfig, notes: Notes) -> None:
    values = _values(config)
    for key, why in _DROPPED.items():
        if values[key] is not None:
            notes.add("dropped", (key,), why)
    if config.staleness_acceptable is not None:
        why = "the gateway checks for a new version of the table at each request"
        notes.add("dropped", ("stalenessAcceptable",), why)


def _note_endpoint(config: ServerConfig, notes: Notes, public_url: str | None) -> None:
    prefix = "/" + config.endpoint.strip("/")
    if prefix == PREFIX:
        notes.add("translated", ("endpoint",), f"the gateway serves {PREFIX} too")
    else:
        message = (
            f"profiles contain {prefix}, and the gateway serves {PREFIX}: let a proxy replace "
            "the one with the other, as in docs/operators/migrating.md"
        )
        notes.add("warning", ("endpoint",), message)
    if public_url is None:
        message = "set public_url in gateway.yaml to the address in the profiles, without its path"
        notes.add("warning", ("endpoint",), message)


def _values(config: ServerConfig) -> dict[str, Any]:
    return {
        info.alias or name: getattr(config, name) for name, info in ServerConfig.model_fields.items()
    }
