"""Every decision record has its number, a status and a date, and the list of decisions names it."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from support.process.docs import ROOT

ADR = ROOT / "docs" / "adr"
RECORDS = sorted(ADR.glob("[0-9]*.md"))
INDEX = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
CITING = (
    *("gateway/**/*.py", "plugins/*/src/**/*.py", "catalog_adapters/*/src/**/*.py"),
    *("pyproject.toml", "*.md", "docs/**/*.md", "plugins/*/README.md", "changelog.d/*.md"),
)
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


def test_each_number_is_that_of_a_record_merged_into_one_or_unused() -> None:
    records = [int(record.name[:4]) for record in RECORDS]
    merged = _numbers(r"^\| ([\d, ]+) \|")
    numbers = [*records, *merged, *_numbers(r"not used: ([\d, ]+)\.$")]
    assert len(numbers) == len(set(numbers))
    assert set(range(1, max(merged))) <= set(numbers)


def test_the_list_names_the_record_that_a_merged_one_is_part_of() -> None:
    rows = re.findall(r"^\| [\d, ]+ \| \[(\d+)\]\(adr/(.+)\) \|$", INDEX, re.MULTILINE)
    assert len(rows) > 30
    assert set(rows) <= {(str(int(record.name[:4])), record.name) for record in RECORDS}


def test_code_and_pages_cite_only_records_that_exist() -> None:
    cited = {
        (int(number), str(path.relative_to(ROOT)))
        for pattern in CITING
        for path in ROOT.glob(pattern)
        for number in re.findall(r"(?:adr/|\bADR )(\d+)", path.read_text(encoding="utf-8"))
    }
    assert len(cited) > 30
    assert {citation for citation in cited if citation[0] not in _records()} == set()


def _records() -> set[int]:
    return {int(record.name[:4]) for record in RECORDS}


def _numbers(lists: str) -> list[int]:
    """The numbers in the lists of the page that a pattern finds."""
    return [int(number) for row in re.findall(lists, INDEX, re.MULTILINE) for number in row.split(", ")]


def test_the_list_has_every_record_once_by_its_number() -> None:
    listed = re.findall(r"^- \[(\d+)\. .+\]\(adr/(.+)\)$", INDEX, re.MULTILINE)
    assert sorted(listed, key=lambda entry: int(entry[0])) == [
        (str(int(record.name[:4])), record.name) for record in RECORDS
    ]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_the_list_gives_the_title_of_a_record(record: Path) -> None:
    title = record.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    assert f"\n- [{title}](adr/{record.name})\n" in INDEX
