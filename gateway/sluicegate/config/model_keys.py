"""Lists the keys that a pydantic model accepts at a location, for messages about unknown keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeGuard, get_args, get_origin

from pydantic import BaseModel


def known_keys(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Names of the keys that `model` accepts at the location of a validation error, sorted."""
    types: list[Any] = [model]
    for part in location:
        inner = [deeper for kind in types for deeper in _step(kind, part)]
        # A part without a match is the tag of a union, which is not in the data.
        types = inner or types
    return sorted({key for kind in types for key in _keys(kind)})


def alternatives(annotation: Any) -> Iterator[Any]:
    """The plain types that an annotation allows, from inside unions and `Annotated`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from alternatives(get_args(annotation)[0])
    elif origin in (None, list, tuple) or is_mapping(annotation) or not get_args(annotation):
        yield annotation
    else:
        for argument in get_args(annotation):
            yield from alternatives(argument)


def is_mapping(kind: Any) -> bool:
    """Whether a type is a mapping of names to values of another type."""
    return get_origin(kind) in (dict, Mapping)


def is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    """Whether a type is a pydantic model."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _keys(annotation: Any) -> Iterator[str]:
    for kind in alternatives(annotation):
        if is_model(kind):
            yield from (info.alias or name for name, info in kind.model_fields.items())


def _step(annotation: Any, part: str | int) -> Iterator[Any]:
    for kind in alternatives(annotation):
        if is_model(kind):
            for name, info in kind.model_fields.items():
                if part in (name, info.alias):
                    yield info.annotation
        elif get_origin(kind) is not None:
            # The values of a mapping, the items of a list or of a homogeneous tuple.
            yield get_args(kind)[1 if is_mapping(kind) else 0]
