"""One TLS context for all clients that trust the usual authorities."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx
import pytest

# Where else the usual authorities may be, in the environment.
_WHERE = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@contextmanager
def shared_trust() -> Iterator[None]:
    """Load the usual authorities once, until the block ends: that takes 35 ms of CPU time each time.

    Clients with other authorities, or with certificates, have contexts of their own as before.
    """
    create = httpx.create_ssl_context

    @cache
    def usual(*where: str | None) -> ssl.SSLContext:
        return create()

    def created(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
        if verify is True and cert is None and trust_env:
            return usual(*map(os.environ.get, _WHERE))
        return create(verify=verify, cert=cert, trust_env=trust_env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", created)
        yield
