"""Rejects authenticators that can't process requests, at startup."""

from __future__ import annotations

import inspect

from sluicegate.api import Authenticator
from sluicegate.api.errors import ConfigurationError, check_challenge


def check_authenticator(name: str, kind: str, authenticator: Authenticator) -> None:
    """Check that an authenticator accepts a request, and that its challenge is valid."""
    signature = inspect.signature(authenticator.authenticate)
    try:
        signature.bind(None)
    except TypeError:
        raise ConfigurationError(
            f"'{name}' (type {kind}): authenticate{signature} must take one AuthenticationRequest, as "
            "the plugin API 1.0 defines it: upgrade the plugin"
        ) from None
    if authenticator.challenge is None:
        return
    try:
        check_challenge(authenticator.challenge)
    except ValueError as error:
        raise ConfigurationError(f"'{name}' (type {kind}): {error}") from error
