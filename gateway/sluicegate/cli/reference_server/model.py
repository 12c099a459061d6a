"""Models of `delta-sharing-server.yaml`.

Source: reference server of Delta Sharing, `ServerConfig.scala` (version 1 of the file), and
`cdfEnabled` of its earlier versions. The server ignores unknown keys.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic.alias_generators import to_camel

from sluicegate.access.shares_file.values import SchemaName, ShareName, TableName, VersionNumber


def _or_nothing(value: object) -> object:
    return () if value is None else value


_EMPTY = BeforeValidator(_or_nothing)


class _Section(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="allow", alias_generator=to_camel, hide_input_in_errors=True
    )


class TableConfig(_Section):
    """A shared table."""

    name: TableName
    location: str
    id: str | None = None
    history_shared: bool = False
    cdf_enabled: bool = False
    start_version: VersionNumber = 0


class SchemaConfig(_Section):
    """A schema of a share."""

    name: SchemaName
    tables: Annotated[tuple[TableConfig, ...], _EMPTY] = ()


class ShareConfig(_Section):
    """A share."""

    name: ShareName
    schemas: Annotated[tuple[SchemaConfig, ...], _EMPTY] = ()


class AuthorizationConfig(_Section):
    """The bearer token that all recipients use."""

    bearer_token: SecretStr


class SslConfig(_Section):
    """TLS of the server."""

    self_signed: bool = False
    certificate_file: str | None = None
    certificate_key_file: str | None = None
    certificate_password_file: str | None = None


class ServerConfig(_Section):
    """The file. The defaults are those of the server; `None` if the import doesn't depend on them."""

    version: Annotated[int, Field(ge=1, le=1)]
    shares: Annotated[tuple[ShareConfig, ...], _EMPTY] = ()
    authorization: AuthorizationConfig | None = None
    ssl: SslConfig | None = None
    host: str = "localhost"
    port: Annotated[int, Field(ge=0, le=65_535)] = 80
    endpoint: str = "/delta-sharing"
    pre_signed_url_timeout_seconds: int | None = None
    temporary_credential_validity_seconds: int | None = None
    delta_table_cache_size: int | None = None
    staleness_acceptable: bool | None = None
    evaluate_predicate_hints: bool | None = None
    evaluate_json_predicate_hints: bool | None = None
    evaluate_json_predicate_hints_v2: bool | None = None
    request_timeout_seconds: int | None = None
    query_table_page_size_limit: int | None = None
    query_table_page_token_ttl_ms: int | None = None
    refresh_token_ttl_ms: int | None = None
