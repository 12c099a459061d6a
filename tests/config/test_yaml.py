"""YAML files of operators: what is wrong, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from sluicegate.api.errors import ConfigurationError
from sluicegate.config.yaml import Document, parse_document, read_document, validate

FILE = Path("some.yaml")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Cat(_Model):
    kind: Literal["cat"]
    lives: int = 9


class _Dog(_Model):
    kind: Literal["dog"]
    bark: bool = True


class _Home(_Model):
    pets: tuple[Annotated[_Cat | _Dog, Field(discriminator="kind")], ...] = ()
    rooms: dict[str, _Cat | None] = {}
    source: str | None = Field(default=None, alias="from")
    password: SecretStr | None = None


def _problems(text: str, model: type[BaseModel] = _Home) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        validate(model, parse_document(text, FILE))
    return [line.removeprefix("some.yaml:") for line in raised.value.message.splitlines()]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("rooms: 1", ["1:8: rooms: expected a mapping"]),
        ("frm: x", ["1:1: unknown key 'frm'; did you mean 'from'?"]),
        ("zzz: x", ["1:1: unknown key 'zzz'; known: from, password, pets, rooms"]),
        (
            "pets:\n- {kind: cat, live: 1}",
            ["2:15: pets.0: unknown key 'live'; did you mean 'lives'?"],
        ),
        ("pets:\n- {kind: dog, bark: 3}", ["2:21: pets.0.bark: expected true or false"]),
        ("pets:\n- {lives: 3}", ["2:3: pets.0: unable to extract tag using discriminator 'kind'"]),
        (
            "rooms: {a: {kind: cat, live: 1}}",
            ["1:24: rooms.a: unknown key 'live'; did you mean 'lives'?"],
        ),
        ("rooms: {a: {}}", ["1:12: rooms.a: 'kind' is missing"]),
        ("from: no\nfrom: yes", ["2:1: the key 'from' occurs twice"]),
        ("password: hunter2\npassword: hunter3", ["2:1: the key 'password' occurs twice"]),
        ("password: [hunter2]", ["1:11: password: expected a string (put it in quotes)"]),
        ("a: &x [*x]", ["1:4: an alias contains itself"]),
        ("a: *nowhere", ["1:4: found undefined alias 'nowhere'"]),
        ("a: !!python/object:os.system x", []),
        ("a: 1\n---\nb: 2", ["2:1: but found another document"]),
        ("a:\n\t- b", ["2:1: found character '\\t' that cannot start any token"]),
        ("{a: b}: 1", ["1:1: found unhashable key"]),
    ],
)
def test_problems_are_reported_with_their_place(text: str, problems: list[str]) -> None:
    found = _problems(text)
    assert not any("hunter" in line for line in found)
    if problems:
        assert found == problems
    else:
        assert "could not determine a constructor" in found[0]


def test_problems_come_in_the_files_order() -> None:
    assert [line.split(":")[0] for line in _problems("zz: 1\nrooms: 1\naa: 1\npets: 1\n")] == list(
        "1234"
    )


@pytest.mark.parametrize("text", ["a: \x00", "a: \x07"])
def test_characters_that_no_yaml_holds_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"some\.yaml: is not valid YAML"):
        parse_document(text, FILE)


def test_no_and_on_are_texts() -> None:
    assert parse_document("a: no\nb: on\nc: 010", FILE).data == {"a": "no", "b": "on", "c": 10}


def test_positions_are_those_of_keys_and_values() -> None:
    document = parse_document("rooms:\n  hall:\n    - 1\n    - two: 2\n", FILE)
    assert document.position(("rooms", "hall", 1, "two")) == (4, 12)
    assert document.position(("rooms", "hall", 1, "two"), key=True) == (4, 7)
    assert document.position(("rooms", "hall", 7)) == (3, 5)
    assert document.position(()) == (1, 1)


def test_a_section_is_validated_with_places_in_the_whole_file() -> None:
    document: Document = parse_document("rooms:\n  hall:\n    kind: cat\n    live: 1\n", FILE)
    with pytest.raises(ConfigurationError) as raised:
        validate(_Cat, document.section("rooms", "hall"))
    assert raised.value.message == (
        "some.yaml:4:5: rooms.hall: unknown key 'live'; did you mean 'lives'?"
    )


def test_merged_keys_are_placed_where_they_are_merged() -> None:
    text = "rooms:\n  a: &cat {kind: cat}\n  b: {<<: *cat, lives: 7}\n"
    assert validate(_Home, parse_document(text, FILE)).rooms["b"] == _Cat(kind="cat", lives=7)


@pytest.mark.parametrize("text", ["", "# only a comment\n"])
def test_an_empty_file_is_an_empty_mapping(text: str) -> None:
    assert parse_document(text, FILE).data == {}


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent", "No such file"), ("", "Is a directory"), ("latin.yaml", "is not UTF-8 text")],
)
def test_files_that_cannot_be_read_are_named(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    with pytest.raises(ConfigurationError, match=message) as raised:
        read_document(tmp_path / name)
    assert raised.value.message.startswith(str(tmp_path / name))


def test_a_documents_repr_shows_no_value() -> None:
    assert "hunter2" not in repr(parse_document("password: hunter2", FILE))
