"""Every decision record has its number, a status and a date, and the index lists it."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from support.process.docs import ROOT

ADR = ROOT / "docs" / "adr"
RECORDS = sorted(ADR.glob("[0-9]*.md"))
INDEX = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
HEAD = re.compile(
    r"# (?P<number>\d+)\. .+\n\n"
    r"- Status: (?:proposed|accepted|deprecated|superseded by \[.+\]\((?P<later>.+)\))\n"
    r"- Date: (?P<date>.+)\n"
    r"(?:- Supersedes: (?P<earlier>\[.+\]\(.+\))\n)?"
    r"(?:- Amends: \[.+\]\(.+\).*\n)?\n"
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_record_begins_with_number_status_and_date(record: Path) -> None:
    head = HEAD.match(record.read_text(encoding="utf-8"))
    assert head, "see docs/adr/template.md"
    assert int(head["number"]) == int(record.name[:4])
    date.fromisoformat(head["date"])


def test_records_that_supersede_each_other_agree() -> None:
    heads = {record.name: HEAD.match(record.read_text(encoding="utf-8")) for record in RECORDS}
    superseded = {(name, head["later"]) for name, head in heads.items() if head and head["later"]}
    supersedes = {
        (earlier, name)
        for name, head in heads.items()
        if head and head["earlier"]
        for earlier in re.findall(r"\(([^)]+)\)", head["earlier"])
    }
    assert superseded == supersedes


def test_no_number_is_used_twice() -> None:
    numbers = [record.name[:4] for record in RECORDS]
    assert len(numbers) > 30
    assert sorted(set(numbers)) == numbers


def test_the_index_lists_every_record_by_its_number() -> None:
    listed = re.findall(r"^(\d+)\. \[.+\]\(adr/(.+)\)$", INDEX, re.MULTILINE)
    assert listed == [(str(int(record.name[:4])), record.name) for record in RECORDS]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_the_index_gives_the_title_of_a_record(record: Path) -> None:
    number, title = record.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").split(". ", 1)
    assert f"\n{number}. [{title}](adr/{record.name})\n" in INDEX
