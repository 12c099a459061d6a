"""The parts of this suite send 20,000 requests; each of them counts its own."""

from __future__ import annotations

import re
from pathlib import Path

from support.fuzz.fuzzing import REQUESTS

from .test_documented_requests import DOCUMENTED, MODES


def test_the_parts_send_twenty_thousand_requests() -> None:
    documented = REQUESTS["documented"] * len(DOCUMENTED) * len(MODES)
    others = sum(count for part, count in REQUESTS.items() if part != "documented")
    assert documented + others >= 20_000


def test_every_part_is_run() -> None:
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert set(re.findall(r'fuzzer\.run\(\s*"([\w ]+)"', sources)) == REQUESTS.keys()
