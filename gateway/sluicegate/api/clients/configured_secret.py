"""Secrets of the configuration that can change in their file or variable without a restart."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

import anyio
from pydantic import SecretStr, ValidatorFunctionWrapHandler, WrapValidator

_logger = logging.getLogger(__name__)

# Seconds after which a changed file is detected, even if the server still accepts the old secret.
_CHECK_SECONDS: Final = 1.0
_Stamp = tuple[int, int, int]


class Place(Protocol):
    """The source of a configured value: a file or an environment variable."""

    @property
    def file(self) -> Path | None:
        """The path of the file; `None` for a variable."""

    def read(self) -> str:
        """Read the current value.

        Raises:
            OSError: The file cannot be read.
            KeyError: The variable is not set.
            ValueError: The file is not UTF-8 text.
        """


class ReferencedText(str):
    """The value of `{file: …}` or `{env: …}` in a configuration, and its source.

    Args:
        text: The value when the configuration was loaded.
        place: The source, from which it is read again.
    """

    place: Place

    def __new__(cls, text: str, place: Place) -> ReferencedText:
        """Create a text with its source."""
        made = super().__new__(cls, text)
        made.place = place
        return made


class ReferencedSecret(SecretStr):
    """A secret from `{file: …}` or `{env: …}`. Secrets with the same value are equal."""

    def __init__(self, value: str, place: Place) -> None:
        super().__init__(value)
        self.place = place


def _keep_place(value: Any, handler: ValidatorFunctionWrapHandler) -> SecretStr:
    secret: SecretStr = handler(value)
    if isinstance(value, ReferencedText):
        return ReferencedSecret(secret.get_secret_value(), value.place)
    return secret


RotatableSecret = Annotated[SecretStr, WrapValidator(_keep_place)]
"""The type of a configuration field whose secret can be rotated while the gateway runs."""


async def current_secret(secret: SecretStr) -> str:
    """Read the current value of a configured secret. For frequent use, see `CurrentSecret`.

    Args:
        secret: The configured secret. If its source cannot be read, its value at startup is returned.
    """
    return await CurrentSecret(secret).instead_of(secret.get_secret_value())


class CurrentSecret:
    """The value of a configured secret, which is read again if its file changes or a server rejects it.

    If a new value is not usable, for example because the file is being written, this is logged and the
    last value stays in use.

    Args:
        secret: The configured secret. Only a `ReferencedSecret` can change.
        is_usable: Whether a new value has the required form.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        secret: SecretStr,
        is_usable: Callable[[str], bool] = bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._place = secret.place if isinstance(secret, ReferencedSecret) else None
        self._value = secret.get_secret_value()
        self._is_usable = is_usable
        self._clock = clock
        self._stamp: _Stamp | None = None
        self._checked_at = float("-inf")

    async def get(self) -> str:
        """Return the value. Its file is checked for changes at most once each second."""
        if self._place is None or self._place.file is None:
            return self._value
        now = self._clock()
        if now - self._checked_at >= _CHECK_SECONDS:
            self._checked_at = now
            stamp = await anyio.to_thread.run_sync(_stamp, self._place.file)
            if stamp != self._stamp:
                await self._read(self._place)
                self._stamp = stamp
        return self._value

    async def instead_of(self, refused: str) -> str:
        """Return another value than a rejected one, or the same value if there is no other."""
        if self._place is not None and self._value == refused:
            await self._read(self._place)
        return self._value

    async def _read(self, place: Place) -> None:
        try:
            value = await anyio.to_thread.run_sync(place.read)
        except (OSError, KeyError, ValueError) as error:
            _logger.warning("%s cannot be read again, using its last value: %s", place, error)
            return
        if self._is_usable(value):
            self._value = value
        else:
            _logger.warning("%s has no usable value now, using its last value", place)


def _stamp(path: Path) -> _Stamp | None:
    """Return a value that changes when a file is written or replaced; `None` while it is missing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
