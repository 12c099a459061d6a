"""Domain errors, with the HTTP status of the response that each results in.

Plugins and the core raise these errors, and a protocol turns them into responses. The message of an
error is shown to recipients, so it must not contain a secret, an internal address or a message from
upstream. Put these into `detail`, which is logged with the request id and never serialized.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self


class SluicegateError(Exception):
    """Base of every error that the gateway raises on purpose.

    Args:
        message: What is wrong, where, and what to do. Shown to recipients.
        detail: Private context for the log, such as a message from upstream. Never serialized.

    Attributes:
        rule: What usually decides when this error is the response; see `decided_by`.
    """

    status = 500
    code = "INTERNAL_ERROR"
    rule: ClassVar[str | None] = None
    _decided_by: str | None = None

    def __init__(self, message: str, *, detail: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is otherwise restored by a call of its class with `args`, which lack the keyword
        # arguments that subclasses require.
        return _without_init, (type(self), self.args), self.__dict__

    @property
    def for_operators(self) -> str:
        """The message with its private context, for the log."""
        return f"{self.message} [{self.detail}]" if self.detail else self.message

    def decided_by(self, rule: str) -> Self:
        """Name what decided, such as `policy opa`, for the audit log. Never serialized.

        An error that is raised from this one keeps the name.
        """
        self._decided_by = rule
        return self


def deciding_rule(error: BaseException) -> str | None:
    """What decided when an error was raised, or the error that it was raised from."""
    each: BaseException | None = error
    while each is not None:
        found: str | None = getattr(each, "_decided_by", None)
        if found is not None:
            return found
        each = each.__cause__
    return getattr(error, "rule", None)


def _without_init(kind: type[SluicegateError], args: tuple[Any, ...]) -> SluicegateError:
    return kind.__new__(kind, *args)


class InvalidRequest(SluicegateError):
    """A parameter, header or body has an invalid or unsupported value."""

    status = 400
    code = "INVALID_PARAMETER_VALUE"
    rule = "request"


class MalformedRequest(InvalidRequest):
    """The request cannot be parsed, because of invalid JSON or wrong types."""

    code = "MALFORMED_REQUEST"


class UnsupportedOperation(InvalidRequest):
    """The request is valid, but this table, share or format doesn't support the operation."""

    code = "UNSUPPORTED_OPERATION"


class Unauthenticated(SluicegateError):
    """The credentials of a request are malformed, unknown, expired or revoked.

    Args:
        message: As for every error.
        detail: As for every error.
        challenge: The `WWW-Authenticate` header of the response: `Negotiate`, `Signature realm="x"`.
            Without it, the challenge of the authenticator that raised the error, or of bearer tokens.

    Raises:
        ValueError: The challenge is empty, or contains characters other than printable ASCII.
    """

    status = 401
    code = "UNAUTHENTICATED"
    rule = "authentication"

    def __init__(
        self, message: str, *, detail: str | None = None, challenge: str | None = None
    ) -> None:
        super().__init__(message, detail=detail)
        self.challenge = challenge

    @property
    def challenge(self) -> str | None:
        """The `WWW-Authenticate` header of the response; setting it raises as the constructor does."""
        return self._challenge

    @challenge.setter
    def challenge(self, challenge: str | None) -> None:
        # Checked for each value: subclasses and callers can set another one after the constructor.
        self._challenge = None if challenge is None else check_challenge(challenge)


class NotAuthenticated(Unauthenticated):
    """The request contains no credentials."""


def check_challenge(challenge: object) -> str:
    """Return the challenge if it is a valid header value.

    Raises:
        ValueError: It is not a string, is empty, or contains characters other than printable ASCII.
    """
    text = challenge if isinstance(challenge, str) else ""
    if not text.strip() or not (text.isascii() and text.isprintable()):
        raise ValueError("a challenge is a line of printable ASCII characters")
    return text


class PermissionDenied(SluicegateError):
    """The recipient is authenticated, but not allowed to do this (from this address, for example)."""

    status = 403
    code = "PERMISSION_DENIED"
    rule = "permission"


class NotFound(SluicegateError):
    """The object does not exist, or is not granted. Recipients can't distinguish these cases."""

    status = 404
    code = "RESOURCE_DOES_NOT_EXIST"
    rule = "name"


class MethodNotAllowed(SluicegateError):
    """The route exists, but does not support the method.

    Args:
        allowed: The methods of the route, as in the `Allow` header.
    """

    status = 405
    code = "METHOD_NOT_ALLOWED"
    rule = "request"

    def __init__(self, allowed: str) -> None:
        super().__init__(f"this path supports only {allowed}")
        self.allowed = allowed


class PayloadTooLarge(SluicegateError):
    """The body of the request is longer than the gateway accepts."""

    status = 413
    code = "REQUEST_TOO_LARGE"
    rule = "request"


class RateLimited(SluicegateError):
    """A recipient or address sent too many requests or got too much, and must wait.

    Args:
        message: Which limit is exceeded, and when the request can be repeated.
        detail: As for every error.
        retry_after: Seconds, for the response header `Retry-After`. The gateway has a default.
    """

    status = 429
    code = "RESOURCE_EXHAUSTED"
    rule = "limit"

    def __init__(
        self, message: str, *, detail: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message, detail=detail)
        self.retry_after = retry_after


class TableUnreadable(SluicegateError):
    """The table's log or metadata is invalid or incomplete, or requires an unknown feature."""

    status = 400
    code = "TABLE_UNREADABLE"
    rule = "table"


class Unavailable(SluicegateError):
    """A store, catalog or database does not respond. The same request might succeed later."""

    status = 503
    code = "TEMPORARILY_UNAVAILABLE"


class ConfigurationError(SluicegateError):
    """The operator must fix the configuration. Raised at startup or by a command."""


class StorageError(Unavailable):
    """A storage plugin cannot reach or use its store."""


class StorageDenied(StorageError):
    """A store denies the gateway access. Retries don't help until its operator grants the access."""

    status = 403
    code = "PERMISSION_DENIED"
    rule = "permission"


class ObjectMissing(SluicegateError):
    """An object or directory does not exist. The table layer decides what this means for the table."""

    status = 404
    code = "RESOURCE_DOES_NOT_EXIST"
