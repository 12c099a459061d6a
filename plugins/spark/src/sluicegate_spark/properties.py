"""What a task's `properties` tell an operation: texts in the payload, typed and checked here."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sluicegate.api import TaskFailed

_Model = TypeVar("_Model", bound="Properties")


class Properties(BaseModel):
    """Base of an operation's properties; names that an operation does not know are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    location: str | None = Field(
        default=None, min_length=1, description="The table's directory, where no catalog says it."
    )


def parse(model: type[_Model], properties: Mapping[str, str]) -> _Model:
    """The properties of a task.

    Args:
        model: What the operation knows.
        properties: As the payload has them.

    Raises:
        TaskFailed: A name is not known, a value is wrong, or one is missing (`INVALID_PAYLOAD`).
    """
    known = [field.alias or name for name, field in model.model_fields.items()]
    try:
        return model.model_validate(properties)
    except ValidationError as error:
        wrong = "; ".join(
            _said(each["loc"], each["type"], each["msg"], known) for each in error.errors()
        )
        raise TaskFailed(f"properties: {wrong}", error_code="INVALID_PAYLOAD") from None


def _said(place: tuple[int | str, ...], kind: str, message: str, known: list[str]) -> str:
    name = ".".join(map(str, place))
    if kind != "extra_forbidden":
        said = message.removeprefix("Value error, ")
        # What is wrong with several together has no place, and names them.
        return f"'{name}': {said[:1].lower()}{said[1:]}" if name else said
    nearest = get_close_matches(name, known, 1, 0.0)
    return f"'{name}' is not known to this operation; the nearest that is known is '{nearest[0]}'"
