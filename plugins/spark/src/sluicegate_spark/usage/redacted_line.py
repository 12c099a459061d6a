"""Shows a broken line of a log without anything that might be a secret."""

from __future__ import annotations

import re
from typing import Final

_SHOWN: Final = 300  # characters
# Signatures and tokens are in queries, and in broken lines the query can be anywhere. All that follows
# the first sign of one is left out: the log itself still has it.
_SECRETS_BEGIN: Final = re.compile(
    r"\?|%3f|x-amz|x%2damz|signature|credential|token|authorization|awsaccesskeyid|sig=|sig%3d",
    re.IGNORECASE,
)
_UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e]")


def redacted(line: bytes) -> str:
    """Return the begin of a line up to its first possible secret, as printable ASCII."""
    text = line[: 2 * _SHOWN].decode("ascii", "replace")
    begins = _SECRETS_BEGIN.search(text)
    shown = text if begins is None else text[: begins.start()]
    return _UNPRINTABLE.sub("�".encode("ascii", "replace").decode(), shown)[:_SHOWN]
