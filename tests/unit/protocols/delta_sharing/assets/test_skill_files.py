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
from sluicegate.protocols.delta_sharing.assets.front_matter import (
    SkillFields,
    parse_front_matter,
)
from sluicegate.protocols.delta_sharing.assets.skill_files import SkillFiles

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
