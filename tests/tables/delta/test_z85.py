"""Z85, by the example of its specification and by texts that are none."""

from __future__ import annotations

import pytest

from sluicegate.tables.delta import z85


def test_the_example_of_the_specification_is_decoded() -> None:
    assert z85.decode("HelloWorld").hex() == "864fd26fb559f75b"
    assert z85.decode("") == b""


@pytest.mark.parametrize("text", ["Hello1", "Hell~", "Hell\n", "Hél~", "#####"])
def test_other_texts_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match="85"):
        z85.decode(text)
