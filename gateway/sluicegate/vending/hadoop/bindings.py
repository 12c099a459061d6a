"""The gateway's own token bindings (s3a-delegation-tokens.md, "Token issuing")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sluicegate.delegation_tokens import (
    BUILT_IN_KINDS,
    MarshalledCredentials,
    TokenBinding,
)
from sluicegate.errors import InvalidRequest, PermissionDenied, UnsupportedOperation
from sluicegate.nouns import Principal, TemporaryCredentials

RECIPIENT_PROPERTY = "hadoop_token_bindings"
"""Names of the bindings whose tokens a recipient may have, separated by commas."""

_DEFAULT = "session"
_JAVA = "org.apache.hadoop.fs.s3a.auth.delegation"
_SPEAKS_S3 = ("aws", "r2")


class SessionBinding(TokenBinding):
    """Whatever session the storage gives: by default an assumed role's, limited to the directories.

    Unlike S3A's own, these tokens name the role, though their kind is Session: clients that are
    shaded (Spark from PyPI) cannot load tokens of kind Role.
    """

    name = _DEFAULT
    kind = BUILT_IN_KINDS[name]
    hadoop_class = f"{_JAVA}.SessionTokenBinding"
    credentials: str | None = None

    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        """A session's credentials."""
        _require_s3(credentials)
        if not credentials.secret.get("session_token"):
            raise UnsupportedOperation(
                f"this storage gives long-lived keys, which tokens of kind {self.kind} do not carry"
            )
        return _marshalled(credentials)


class RoleBinding(SessionBinding):
    """A session of the storage's role, limited to the directories by a session policy."""

    name = "role"
    kind = BUILT_IN_KINDS[name]
    hadoop_class = f"{_JAVA}.RoleTokenBinding"
    credentials = "role"


class FullBinding(TokenBinding):
    """The storage's own long-lived key: all that it may do, for as long as it lives."""

    name = "full"
    kind = BUILT_IN_KINDS[name]
    hadoop_class = f"{_JAVA}.FullCredentialsTokenBinding"
    credentials = "full"

    def marshal(self, credentials: TemporaryCredentials) -> MarshalledCredentials:
        """A key pair; a session is refused, as S3A does."""
        _require_s3(credentials)
        if credentials.secret.get("session_token"):
            raise UnsupportedOperation(
                f"this storage has a session only, which tokens of kind {self.kind} do not carry"
            )
        return _marshalled(credentials)


class TokenBindings:
    """The bindings that can be asked for: the gateway's own, and those of plugins.

    Args:
        registered: Those of plugins.
    """

    def __init__(self, registered: Iterable[TokenBinding] = ()) -> None:
        known = (SessionBinding(), RoleBinding(), FullBinding(), *registered)
        self._known: Mapping[str, TokenBinding] = {binding.name: binding for binding in known}

    def find(self, name: str | None, principal: Principal) -> TokenBinding:
        """The binding that a recipient asks for.

        Args:
            name: A binding's name or the kind of its tokens; `None` is `session`.
            principal: Who asks; its property `hadoop_token_bindings` says what it may have.

        Raises:
            InvalidRequest: There is no such binding.
            PermissionDenied: The recipient may not have such tokens.
        """
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
                f"ask for one of these bindings: {allowed}"
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
