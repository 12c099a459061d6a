from __future__ import annotations

import re
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.api import labelled_entry, url_label

ENTRY = "8f14e45f-ceea-467f-a9d2-5b1f3c1a7e00"


@given(st.uuids())
def test_a_label_names_its_entry_in_characters_of_urls(entry: UUID) -> None:
    label = url_label(str(entry))
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", label)
    assert labelled_entry(label) == str(entry)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "GetObject",
        url_label(ENTRY) + "A",
        url_label(ENTRY)[:-1],
        url_label(ENTRY)[:-1] + "B",  # bits that no id has
        "!" + url_label(ENTRY)[1:],
        url_label(ENTRY).replace("j", "é"),
        "é" * 22,
    ],
)
def test_other_texts_name_no_entry(text: str) -> None:
    assert labelled_entry(text) is None
