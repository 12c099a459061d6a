"""`SKILL.md` files: read once a minute, and errors that name the skill."""

from __future__ import annotations

import asyncio

import obstore
import pytest
from support.gateways.memory_assets import SKILL, STYLE, MemoryAssets, memory_assets
from support.gateways.memory_grants import ACME
from support.gateways.memory_instances import LAKE

from sluicegate.api import CatalogTable, TemporaryCredentials, Unavailable, UnsupportedOperation
from sluicegate.protocols.delta_sharing.assets import skill_files
from sluicegate.protocols.delta_sharing.assets.skill_files import (
    MOST_BYTES,
    SkillFields,
    SkillFiles,
    parse_front_matter,
)

FOLDER = f"{LAKE}/skills/sql-style"
SOURCE = CatalogTable("c3", "skill", FOLDER)
FIELDS = SkillFields("sql-style", "How we write SQL.")


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
def gateway() -> MemoryAssets:
    return memory_assets()


@pytest.fixture
def files(gateway: MemoryAssets, now: list[float]) -> SkillFiles:
    return SkillFiles(gateway.instances, gateway.vending, lambda: now[0])


async def test_the_fields_are_those_of_the_file(gateway: MemoryAssets, files: SkillFiles) -> None:
    await gateway.storage.put(f"{FOLDER}/SKILL.md", SKILL)
    assert await files.fields(ACME, STYLE, SOURCE) == FIELDS


async def test_a_file_is_read_again_after_a_minute(
    gateway: MemoryAssets, files: SkillFiles, now: list[float]
) -> None:
    await gateway.storage.put(f"{FOLDER}/SKILL.md", SKILL)
    await files.fields(ACME, STYLE, SOURCE)
    await gateway.storage.put(f"{FOLDER}/SKILL.md", SKILL.replace(b"write", b"wrote"))
    now[0] = 59.9
    assert (await files.fields(ACME, STYLE, SOURCE)).description == "How we write SQL."
    now[0] = 60
    assert (await files.fields(ACME, STYLE, SOURCE)).description == "How we wrote SQL."


async def test_concurrent_requests_read_a_file_once(
    gateway: MemoryAssets, files: SkillFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    await gateway.storage.put(f"{FOLDER}/SKILL.md", SKILL)
    parsed: list[bytes] = []

    def counted(content: bytes) -> SkillFields:
        parsed.append(content)
        return parse_front_matter(content)

    monkeypatch.setattr(skill_files, "parse_front_matter", counted)
    found = await asyncio.gather(*(files.fields(ACME, STYLE, SOURCE) for _ in range(5)))
    assert found == [FIELDS] * 5
    assert parsed == [SKILL]


async def test_only_the_beginning_of_a_file_is_read(
    gateway: MemoryAssets, files: SkillFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    await gateway.storage.put(f"{FOLDER}/SKILL.md", SKILL + b"x" * 1_000_000)
    lengths: list[int] = []

    def measured(content: bytes) -> SkillFields:
        lengths.append(len(content))
        return parse_front_matter(content)

    monkeypatch.setattr(skill_files, "parse_front_matter", measured)
    assert await files.fields(ACME, STYLE, SOURCE) == FIELDS
    assert lengths == [16 << 10]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "does not contain it"),
        (b"", "no front matter"),
        (b"---\nname: [\n---\n", "not valid YAML"),
        (SKILL.replace(b"sql-style", b"other"), "its name is not that of the skill"),
    ],
)
async def test_a_file_that_is_not_valid_is_the_providers_to_correct(
    gateway: MemoryAssets, files: SkillFiles, content: bytes | None, reason: str
) -> None:
    if content is not None:
        await gateway.storage.put(f"{FOLDER}/SKILL.md", content)
    for _ in range(2):  # the second error is a cached one
        with pytest.raises(UnsupportedOperation, match=reason) as refused:
            await files.fields(ACME, STYLE, SOURCE)
        assert "the skill sales.eu.sql-style cannot be read" in refused.value.message
        assert LAKE not in refused.value.message


async def test_a_folder_has_the_name_of_its_skill(gateway: MemoryAssets, files: SkillFiles) -> None:
    await gateway.storage.put(f"{LAKE}/skills/elsewhere/SKILL.md", SKILL)
    with pytest.raises(UnsupportedOperation, match="its name is not that"):
        await files.fields(ACME, STYLE, CatalogTable("c3", "skill", f"{LAKE}/skills/elsewhere"))


async def test_a_store_that_fails_is_unavailable_for_a_while_only(
    gateway: MemoryAssets, files: SkillFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    await gateway.storage.put(f"{FOLDER}/SKILL.md", SKILL)

    async def failing(location: str, credentials: TemporaryCredentials | None = None) -> None:
        raise OSError("private")

    with monkeypatch.context() as patch:
        patch.setattr(gateway.storage, "open", failing)
        with pytest.raises(Unavailable, match=r"skill sales\.eu\.sql-style") as failed:
            await files.fields(ACME, STYLE, SOURCE)
    assert "private" not in failed.value.message
    assert await files.fields(ACME, STYLE, SOURCE) == FIELDS


async def test_a_location_without_storage_is_unavailable(files: SkillFiles) -> None:
    with pytest.raises(Unavailable, match="fix the gateway's configuration"):
        await files.fields(ACME, STYLE, CatalogTable("c3", "skill", "memory://ocean/sql-style"))


async def test_a_missing_object_is_reported_as_a_file_error_by_the_store(
    gateway: MemoryAssets,
) -> None:
    with pytest.raises(FileNotFoundError):
        await obstore.head_async(gateway.storage.store, "skills/sql-style/SKILL.md")


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
