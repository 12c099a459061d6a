"""The links of a text in Markdown."""

from __future__ import annotations

import re
from typing import Final

_SAMPLES: Final = re.compile(r"^( *)```.*?^\1```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_TARGETS: Final = re.compile(
    r"\]\(\s*<?([^)\s>]+)"  # [text](target), ![text](target)
    r"|^ {0,3}\[[^\]\n]+\]:\s*<?([^\s>]+)"  # [name]: target
    r"|<[a-z]+\s[^>]*\b(?:href|src)\s*=\s*[\"']?([^\"'\s>]+)",  # <a href="target">
    re.MULTILINE | re.IGNORECASE,
)


def targets(text: str) -> list[str]:
    """What links and images of a text lead to, without those in its samples of code."""
    prose = _SAMPLES.sub("", text)
    return ["".join(found) for found in _TARGETS.findall(prose)]
