"""Validates the `properties` of a task, which are strings in the payload."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sluicegate.api import TaskFailed

_Model = TypeVar("_Model", bound="Properties")


class Properties(BaseModel):
    """Base of an operation's properties. Unknown names are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    location: str | None = Field(
        default=None, min_length=1, description="The table's directory, if no catalog provides it."
    )


def parse(model: type[_Model], properties: Mapping[str, str]) -> _Model:
    """Parse the properties of a task."""
    known = [field.alias or name for name, field in model.model_fields.items()]
    try:
        return model.model_validate(properties)
    except ValidationError as error:
        wrong = "; ".join(
            _problem(each["loc"], each["type"], each["msg"], known) for each in error.errors()
        )
        raise TaskFailed(f"properties: {wrong}", error_code="INVALID_PAYLOAD") from None


def _problem(place: tuple[int | str, ...], kind: str, message: str, known: list[str]) -> str:
    name = ".".join(map(str, place))
    if kind != "extra_forbidden":
        text = message.removeprefix("Value error, ")
        # Errors that concern several properties have no location, but name the properties.
        return f"'{name}': {text[:1].lower()}{text[1:]}" if name else text
    nearest = get_close_matches(name, known, 1, 0.0)
    return f"'{name}' is not a property of this operation; the most similar one is '{nearest[0]}'"
