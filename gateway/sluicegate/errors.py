"""Domain errors, and the one table that maps them to the doors' HTTP answers.

Plugins and the core raise these; only a door turns them into a response. The message of an error is
shown to recipients, so it never holds a secret, an internal address or an upstream's own words: those
go into `detail`, which is logged with the request's id and never serialised.
"""

from __future__ import annotations


class SluicegateError(Exception):
    """Base of every error that the gateway raises on purpose.

    Args:
        message: What was wrong, where, and what to do about it. Shown to recipients.
        detail: Private context for the log (an upstream's message, a location). Never serialised.
    """

    status = 500
    code = "INTERNAL_ERROR"

    def __init__(self, message: str, *, detail: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail

    @property
    def for_operators(self) -> str:
        """The message with its private context, for the log."""
        return f"{self.message} [{self.detail}]" if self.detail else self.message


class InvalidRequest(SluicegateError):
    """A parameter, header or body has a value that cannot be served."""

    status = 400
    code = "INVALID_PARAMETER_VALUE"


class MalformedRequest(InvalidRequest):
    """A request that cannot even be parsed: broken JSON, wrong types."""

    code = "MALFORMED_REQUEST"


class UnsupportedOperation(InvalidRequest):
    """A well-formed request for something that this table, share or format does not offer."""

    code = "UNSUPPORTED_OPERATION"


class Unauthenticated(SluicegateError):
    """The bearer token is malformed, unknown, expired or revoked."""

    status = 401
    code = "UNAUTHENTICATED"


class NotAuthenticated(Unauthenticated):
    """There is no bearer token in the request."""


class PermissionDenied(SluicegateError):
    """A known recipient may not do this (from this address, for example)."""

    status = 403
    code = "PERMISSION_DENIED"


class NotFound(SluicegateError):
    """The thing does not exist, or was not granted: recipients cannot tell which."""

    status = 404
    code = "RESOURCE_DOES_NOT_EXIST"


class MethodNotAllowed(SluicegateError):
    """The route exists, the method does not.

    Args:
        allowed: The methods that the route answers, as the `Allow` header spells them.
    """

    status = 405
    code = "METHOD_NOT_ALLOWED"

    def __init__(self, allowed: str) -> None:
        super().__init__(f"this address answers {allowed} only")
        self.allowed = allowed


class PayloadTooLarge(SluicegateError):
    """The request's body is larger than the gateway reads."""

    status = 413
    code = "REQUEST_TOO_LARGE"


class RateLimited(SluicegateError):
    """Too many requests of one recipient or address; wait, then try again."""

    status = 429
    code = "RESOURCE_EXHAUSTED"


class TableUnreadable(SluicegateError):
    """The table's own log or metadata is broken or incomplete, or needs an unknown feature."""

    status = 400
    code = "TABLE_UNREADABLE"


class Unavailable(SluicegateError):
    """A store, catalog or database does not answer now; the same request may succeed later."""

    status = 503
    code = "TEMPORARILY_UNAVAILABLE"


class ConfigurationError(SluicegateError):
    """Something that the operator has to mend: raised at start-up or by a command."""


class StorageError(Unavailable):
    """A storage plugin could not reach or use its store."""


class ObjectMissing(SluicegateError):
    """An object or directory is not there; the table layer says what that means for the table."""

    status = 404
    code = "RESOURCE_DOES_NOT_EXIST"
