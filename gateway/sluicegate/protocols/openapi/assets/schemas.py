"""Schemas of volumes, models with their versions, and skills (docs/interop.md, "OpenSharing")."""

from __future__ import annotations

from sluicegate.api.assets.models import AssetKind
from sluicegate.protocols.openapi.listings import identity, name, page
from sluicegate.protocols.openapi.schemas import Schema, choice, mapping, record, text, whole

NUMBER = whole("Number of the version.")


def schemas() -> dict[str, Schema]:
    """Assets, versions, and pages of them."""
    items = {"Volume": _volume(), "Model": _model(), "ModelVersion": _version(), "Skill": _skill()}
    bodies = {"AssetCredentialsRequest": record("Can be empty. All members are ignored.", {})}
    return {**items, **{f"{kind}Page": page(kind) for kind in items}, **bodies}


def _named(kind: AssetKind) -> dict[str, Schema]:
    return {"name": name(kind), "schema": name("schema"), "share": name("share")}


def _identified(kind: AssetKind) -> dict[str, Schema]:
    return {"shareId": identity("share"), "id": identity(kind)}


def _location(of: str) -> dict[str, Schema]:
    return {"storageLocation": text(f"The directory of the {of}.")}


def _volume() -> Schema:
    required = {**_named("volume"), **_location("volume")}
    return record("A volume: a directory with any files.", required, _identified("volume"))


def _model() -> Schema:
    optional = {"comment": text("The provider's comment."), **_location("model's versions")}
    return record("A registered model.", _named("model"), {**_identified("model"), **optional})


def _version() -> Schema:
    return record(
        "A version of a model.",
        {
            "modelName": name("model"),
            "schema": name("schema"),
            "share": name("share"),
            "version": NUMBER,
            "status": choice(
                "Credentials are available only for versions that are `READY`.",
                "PENDING_REGISTRATION",
                "FAILED_REGISTRATION",
                "READY",
            ),
            **_location("version"),
        },
        {
            "id": identity("version"),
            "source": text("Where the version was registered from."),
            "runId": text("The run that created the version."),
            "comment": text("The provider's comment."),
        },
    )


def _skill() -> Schema:
    return record(
        "An agent skill: a directory with the file `SKILL.md`, from which the fields are read.",
        {
            **_named("skill"),
            "description": text("What the skill does and when to use it.", maxLength=1024),
            **_location("skill"),
        },
        {
            **_identified("skill"),
            "license": text("The license of the skill."),
            "compatibility": text("What the skill needs.", maxLength=500),
            "allowedTools": text("Tools that it can use, with spaces between them."),
            "metadata": mapping(text("A value."), "More properties."),
        },
    )
