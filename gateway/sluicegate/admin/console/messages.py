"""Messages that the next page shows once, in a signed cookie."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sluicegate.admin.console.sessions.service import Session
from sluicegate.api.errors import InvalidRequest
from sluicegate.signing.keyring import KeyRing
from sluicegate.signing.opaque_tokens import TokenSigner

_LIFETIME = 300
# Characters: cookies are limited to 4096 bytes.
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Message:
    """What was changed. It contains no secret."""

    text: str


class Messages:
    """Signs messages for the cookie."""

    def __init__(self, keys: KeyRing) -> None:
        self._signer = TokenSigner(keys, _LIFETIME)

    def write(self, message: Message, session: Session) -> str:
        """The value of the cookie."""
        shortened = Message(message.text[:_LONGEST])
        return self._signer.sign(asdict(shortened), bound_to=session.digest.hex())

    def read(self, cookie: str, session: Session) -> Message | None:
        """The message in a cookie; `None` if it is old, or from another session."""
        try:
            state = self._signer.verify(cookie, bound_to=session.digest.hex(), parameter="message")
        except InvalidRequest:
            return None
        return Message(**state)
