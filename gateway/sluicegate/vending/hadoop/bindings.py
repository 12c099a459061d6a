"""The gateway's own token bindings (S3A token architecture, "Token issuing")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sluicegate.api.errors import InvalidRequest, PermissionDenied, UnsupportedOperation
from sluicegate.api.hadoop_tokens import (
    BUILT_IN_KINDS,
    MarshalledCredentials,
    TokenBinding,
)
from sluicegate.api.principals import Principal
from sluicegate.api.vending import TemporaryCredentials

RECIPIENT_PROPERTY = "hadoop_token_bindings"
"""Names of the bindings whose tokens a recipient may get, separated by commas."""

_DEFAULT = "session"
_JAVA = "org.apache.hadoop.fs.s3a.auth.delegation"
_SPEAKS_S3 = ("aws", "r2")


class SessionBinding(TokenBinding):
    """Any session of the storage: by default one of an assumed role, limited to the directories.

    Unlike S3A's session tokens, these tokens contain the role, because shaded clients (Spark from PyPI)
    cannot load tokens of kind Role.
    """

    name = _DEFAULT
    kind = BUILT_IN_KINDS[name]
    hadoop_class = f"{_JAVA}.SessionTokenBinding"
    credentials: str | None = None

    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        """Encode the credentials of a session."""
        _require_s3(credentials)
        if not credentials.secret.get("session_token"):
            raise UnsupportedOperation(
                f"this storage vends long-lived keys, which tokens of kind {self.kind} cannot contain"
            )
        return _marshalled(credentials)


class RoleBinding(SessionBinding):
    """A session of the storage's role, limited to the directories by a session policy."""

    name = "role"
    kind = BUILT_IN_KINDS[name]
    hadoop_class = f"{_JAVA}.RoleTokenBinding"
    credentials = "role"


class FullBinding(TokenBinding):
    """The storage's own long-lived key, with all of its permissions, until it is deleted."""

    name = "full"
    kind = BUILT_IN_KINDS[name]
    hadoop_class = f"{_JAVA}.FullCredentialsTokenBinding"
    credentials = "full"

    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        """Encode a key pair. A session is rejected, as in S3A."""
        _require_s3(credentials)
        if credentials.secret.get("session_token"):
            raise UnsupportedOperation(
                f"this storage vends only sessions, which tokens of kind {self.kind} cannot contain"
            )
        return _marshalled(credentials)


class TokenBindings:
    """The bindings that recipients can request: those of the gateway and of plugins."""

    def __init__(self, registered: Iterable[TokenBinding] = ()) -> None:
        known = (SessionBinding(), RoleBinding(), FullBinding(), *registered)
        self._known: Mapping[str, TokenBinding] = {binding.name: binding for binding in known}

    def find(self, name: str | None, principal: Principal) -> TokenBinding:
        """Return the binding that a recipient requests."""
        wanted = name or _DEFAULT
        binding = next(
            (each for each in self._known.values() if wanted in (each.name, each.kind)), None
        )
        if binding is None:
            names = ", ".join(self._known)
            raise InvalidRequest(f"binding must be one of {names}, or the kind of such tokens")
        allowed = principal.properties.get(RECIPIENT_PROPERTY, _DEFAULT)
        if binding.name not in (each.strip() for each in allowed.split(",")):
            raise PermissionDenied(
                f"tokens of kind {binding.kind} are not issued to this recipient: ask the provider, or "
                f"request one of these bindings: {allowed}"
            )
        return binding


def _require_s3(credentials: TemporaryCredentials) -> None:
    if credentials.kind not in _SPEAKS_S3:
        raise UnsupportedOperation(
            "S3A delegation tokens open S3 only, and this table's credentials are for "
            f"{credentials.kind}"
        )


def _marshalled(credentials: TemporaryCredentials) -> MarshalledCredentials:
    secret = credentials.secret
    return MarshalledCredentials(
        access_key=secret["access_key_id"],
        secret_key=secret["secret_access_key"],
        session_token=secret.get("session_token", ""),
        role_arn=credentials.connection.get("role_arn", ""),
        expiration=credentials.expires_at or 0,
    )
