"""The pages of protocols have a row for each section of their documents, and a test for each row."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from support.clients.described import operations, paths_below
from support.process.docs import ROOT
from support.process.external_files import require_external_files

PAGE = ROOT / "docs" / "protocol.md"
ICEBERG_PAGE = ROOT / "docs" / "iceberg.md"
SPECS = Path(os.environ.get("SLUICEGATE_SPECIFICATIONS") or ROOT.parent / "shared" / "specs")
SHARING, LATER = "Delta Sharing protocol", "Interoperability"
# The protocol's text, in the folder of specifications.
PROTOCOL = "delta-sharing-protocol.md"
LATER_PAGE = ROOT / "docs" / "interop.md"
HEADING = re.compile(r"[A-Za-z][A-Za-z -]{2,60}")
# Single words and captions inside of the sections' tables.
CAPTIONS = frozenset(
    (
        "Method",
        "GET",
        "POST",
        "URL",
        "HEADER",
        "Header",
        "Headers",
        "Body",
        "Empty",
        "Example",
        "Examples",
    )
) | frozenset(("URL Parameters", "URL parameters", "Query Parameters", "Query parameters"))


@dataclass(frozen=True)
class Row:
    """A row of the page."""

    document: str
    section: str
    what: str
    tests: tuple[str, ...]


def rows(page: Path) -> list[Row]:
    found, document, heading = [], "", ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            document = line.removeprefix("## ")
        elif not line.startswith("|"):
            heading = ""
        elif not heading:
            heading = line
        elif line.startswith("| ") and heading.startswith("| section |"):
            section, what, tests = (cell.strip() for cell in line.strip("|").split(" | "))
            found.append(Row(document, section, what, tuple(re.findall("`([^`]+)`", tests))))
    return found


ROWS = rows(PAGE)
ICEBERG_ROWS = rows(ICEBERG_PAGE)


def specification(name: str) -> list[str]:
    """The lines of a document; skips the test where it is not available, fails it in CI."""
    require_external_files((SPECS / name).exists(), "the specifications", "SLUICEGATE_SPECIFICATIONS")
    return (SPECS / name).read_text(encoding="utf-8").splitlines()


def headings() -> list[str]:
    """Headings of the protocol, which has lost its marks: they stand alone between empty lines."""
    lines = specification(PROTOCOL)
    body = lines[lines.index("Overview") - 1 :]
    return [
        line
        for (before, line), after in zip(pairwise(body), body[2:], strict=False)
        if before in ("", "}") and not after and HEADING.fullmatch(line) and line not in CAPTIONS
    ]


def test_every_section_of_the_protocol_has_its_row_in_its_order() -> None:
    found = headings()
    assert len(found) > 50
    assert [row.section for row in ROWS if row.document == SHARING] == found


def test_every_section_of_interoperability_has_rows() -> None:
    sections = re.findall(r"^## (.+)$", LATER_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    named = [row.section.partition(":")[0] for row in ROWS if row.document == LATER]
    assert list(dict.fromkeys(named)) == sections


def test_every_listed_fault_of_the_reference_server_has_its_row() -> None:
    numbers = re.findall(r"^(\d+)\. ", LATER_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    rows = [row.section.rpartition(" ")[2] for row in ROWS if row.section.startswith("Faults")]
    assert rows == numbers


def test_every_operation_of_the_iceberg_catalog_has_its_row() -> None:
    described = operations(paths_below("/iceberg")).values()
    served = {each["summary"] for each in described if re.fullmatch("[a-zA-Z]+", each["summary"])}
    assert len(served) == 15
    assert served <= {row.section for row in ICEBERG_ROWS}


@pytest.mark.parametrize("row", [*ROWS, *ICEBERG_ROWS], ids=lambda row: row.section)
def test_every_row_names_tests_that_exist(row: Row) -> None:
    assert row.what
    assert row.tests
    for test in row.tests:
        file, _, name = test.partition("::")
        assert re.search(
            rf"^(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE
        ), test
