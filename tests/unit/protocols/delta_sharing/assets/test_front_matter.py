"""The front matter of `SKILL.md`: what is read, and what is refused."""

from __future__ import annotations

import pytest

from sluicegate.protocols.delta_sharing.assets.front_matter import (
    MOST_BYTES,
    SkillFields,
    parse_front_matter,
)

MINIMAL = "name: a\ndescription: b\n"


def parsed(yaml: str) -> SkillFields:
    return parse_front_matter(f"---\n{yaml}---\nText\n---\n".encode())


def test_all_fields_are_read() -> None:
    found = parsed(
        "name: sql-style\n"
        "description: >\n  How we\n  write SQL.\n"
        "license: Apache-2.0\n"
        "compatibility: Needs psql\n"
        "allowed-tools: Read Bash(sql:*)\n"
        "metadata:\n  author: data\n  version: '1.0'\n"
        "unknown: ignored\n"
    )
    assert found == SkillFields(
        "sql-style",
        "How we write SQL.",
        "Apache-2.0",
        "Needs psql",
        "Read Bash(sql:*)",
        {"author": "data", "version": "1.0"},
    )


def test_fields_that_are_missing_or_empty_are_absent() -> None:
    found = parsed(f"{MINIMAL}license:\nmetadata: {{}}\n")
    assert found == SkillFields("a", "b")


def test_values_keep_their_spelling_whatever_type_yaml_gives_them() -> None:
    found = parsed("name: 007\ndescription: yes\nmetadata: {version: 1.10, on: 2026-01-02, n: null}\n")
    assert (found.name, found.description) == ("007", "yes")
    assert found.metadata == {"version": "1.10", "on": "2026-01-02", "n": "null"}


def test_a_list_of_tools_is_joined() -> None:
    assert parsed(f"{MINIMAL}allowed-tools: [Read, Grep]\n").allowed_tools == "Read Grep"


def test_windows_line_ends_and_a_byte_order_mark_are_accepted() -> None:
    content = "\ufeff---\r\nname: a\r\ndescription: b\r\n---\r\n".encode()
    assert parse_front_matter(content) == SkillFields("a", "b")


def test_text_after_the_front_matter_does_not_matter() -> None:
    content = f"---\n{MINIMAL}---\n".encode() + b"\xff\x00[" * MOST_BYTES
    assert parse_front_matter(content) == SkillFields("a", "b")


@pytest.mark.parametrize("length", [1024, 1025])
def test_a_description_has_up_to_1024_characters(length: int) -> None:
    yaml = f"name: a\ndescription: {'ü' * length}\n"
    if length == 1024:
        assert len(parsed(yaml).description) == length
    else:
        with pytest.raises(ValueError, match="description is longer than 1024"):
            parsed(yaml)


@pytest.mark.parametrize(
    ("yaml", "reason"),
    [
        ("", "not a mapping"),
        ("- a\n", "not a mapping"),
        ("name: a\n", "no description"),
        ("name: a\ndescription: ''\n", "no description"),
        ("name: [a]\ndescription: b\n", "its name is not a text"),
        (f"name: {'a' * 65}\ndescription: b\n", "name is longer than 64"),
        (f"{MINIMAL}compatibility: {'c' * 501}\n", "compatibility is longer than 500"),
        (f"{MINIMAL}metadata: text\n", "metadata is not a mapping"),
        (f"{MINIMAL}metadata: {{a: [b]}}\n", "a value of its metadata is not a text"),
        (f"{MINIMAL}metadata: {{[a]: b}}\n", "a key of its metadata is not a text"),
        (f"{MINIMAL}allowed-tools: {{a: b}}\n", "allowed-tools is not a text"),
        (f"{MINIMAL}name: c\n", "contains a key twice"),
        ('name: a\ndescription: "\\ud800"\n', "a character that is not valid"),
        ('name: a\ndescription: "\\0"\n', "a character that is not valid"),
        ('name: a\ndescription: "\\UFFFFFFFF"\n', "not valid YAML"),
        ("name: [\n", "not valid YAML"),
        ("name: *unknown\n", "not valid YAML"),
        ("a: 1\n--- \nb: 1\n", "no description"),
        ("%YAML 9.9\n", "not valid YAML"),
        ("- " * 5000 + "\n", "not valid YAML"),
        ("? " * 5000 + "\n", "not valid YAML"),
        ("[" * 5000 + "\n", "too many brackets"),
        ("{" * 5000 + "\n", "too many brackets"),
        (f"{MINIMAL}allowed-tools: [&a {'x' * 9000}, *a]\n", "allowed-tools is longer"),
        (f"{MINIMAL}metadata: {{a: &a {'x' * 9000}, b: *a}}\n", "metadata is longer"),
    ],
    ids=lambda value: value[:40],
)
def test_what_breaks_a_rule_is_refused(yaml: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parsed(yaml)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"# Text",
        b"---\n",
        b"---\nname: a\ndescription: b\n",
        b" ---\nname: a\n---\n",
        f"---\n{MINIMAL}".encode() + b"# x\n" * MOST_BYTES + b"---\n",
    ],
)
def test_a_file_needs_front_matter_at_its_start(content: bytes) -> None:
    with pytest.raises(ValueError, match="contain no front matter"):
        parse_front_matter(content)


def test_front_matter_is_utf_8() -> None:
    with pytest.raises(ValueError, match="not UTF-8"):
        parse_front_matter(b"---\nname: a\ndescription: \xff\n---\n")


def test_nested_aliases_are_not_expanded() -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 24))
    assert parsed(f"l0: &l0 x\n{levels}{MINIMAL}") == SkillFields("a", "b")


def test_tags_construct_nothing() -> None:
    found = parsed("name: !!python/object:os.system a\ndescription: !!int b\n")
    assert found == SkillFields("a", "b")


def test_reasons_contain_nothing_of_the_file() -> None:
    with pytest.raises(ValueError, match="not valid YAML") as refused:
        parsed("secret: 'hunter2\n")
    assert "hunter2" not in str(refused.value)
