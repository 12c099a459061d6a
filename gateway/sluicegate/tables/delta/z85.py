"""Z85 (ZeroMQ RFC 32), in which the Delta log writes bytes as text."""

from __future__ import annotations

import base64

_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_TO_B85 = bytes.maketrans(_Z85, _B85)


def decode(text: str) -> bytes:
    """The bytes of a text."""
    encoded = text.encode()
    if len(encoded) % 5 or encoded.translate(None, _Z85):
        raise ValueError("not Z85")
    return base64.b85decode(encoded.translate(_TO_B85))
