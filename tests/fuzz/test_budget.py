"""The parts of this suite send 5,000 requests, and 200,000 each night; each of them counts its own."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

import pytest
from support.fuzz.fuzzing import EACH_CHANGE, REQUESTS, TIMES

from .test_documented_requests import DOCUMENTED, MODES

_TOX = Path(__file__).parents[2] / "tox.ini"


def _times_at_night() -> int:
    tox = ConfigParser(interpolation=None)
    tox.read(_TOX)
    [times] = re.findall(rf"{TIMES} = (\d+)", tox["testenv:nightly"]["set_env"])
    return int(times)


@pytest.mark.parametrize(("times", "least"), [(EACH_CHANGE, 5_000), (_times_at_night(), 200_000)])
def test_the_parts_send_this_many_requests(times: float, least: int) -> None:
    documented = REQUESTS["documented"] * len(DOCUMENTED) * len(MODES)
    others = sum(count for part, count in REQUESTS.items() if part != "documented")
    assert times * (documented + others) >= least


def test_every_part_is_run() -> None:
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert set(re.findall(r'fuzzer\.run\(\s*"([\w ]+)"', sources)) == REQUESTS.keys()
