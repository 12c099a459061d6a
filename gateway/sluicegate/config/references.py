"""Resolves `{env: NAME}` and `{file: PATH}`, which can replace any scalar."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sluicegate.api.clients.configured_secret import ReferencedText
from sluicegate.api.errors import ConfigurationError
from sluicegate.config.source import Reference, Source
from sluicegate.config.yaml import Document, Location


def resolve_references(document: Document, environment: Mapping[str, str] = os.environ) -> Source:
    """Replace references in a document with the values of environment variables and files.

    Raises:
        ConfigurationError: A variable is not set, or a file cannot be read. One line for each problem.
    """
    source, unresolved = collect_references(document, environment)
    if unresolved:
        raise ConfigurationError("\n".join(document.problem(*each) for each in unresolved.items()))
    return source


def collect_references(
    document: Document, environment: Mapping[str, str] = os.environ
) -> tuple[Source, Mapping[Location, str]]:
    """Replace references, and return the reasons why some of them have no value.

    Returns:
        The source, in which references without a value are `None`, and a message for each of these.
    """
    resolver = _Resolver(document, environment)
    data = resolver.resolve(document.data, ())
    return Source(replace(document, data=data), resolver.references), resolver.unresolved


class _Resolver:
    def __init__(self, document: Document, environment: Mapping[str, str]) -> None:
        self._document = document
        self._environment = environment
        self.references: dict[Location, Reference] = {}
        self.unresolved: dict[Location, str] = {}

    def resolve(self, value: Any, location: Location) -> Any:
        reference = self._reference(value) if location else None
        if reference is not None:
            self.references[location] = reference
            return self._read(reference, location)
        if isinstance(value, dict):
            return {key: self.resolve(inner, (*location, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.resolve(inner, (*location, index)) for index, inner in enumerate(value)]
        return value

    def _reference(self, value: Any) -> Reference | None:
        match value:
            case {"env": str(name), **others} if not others:
                return Reference("env", name)
            case {"file": str(path), **others} if not others:
                return Reference("file", str(self._document.path.parent / Path(path).expanduser()))
            case _:
                return None

    def _read(self, reference: Reference, location: Location) -> str | None:
        try:
            return ReferencedText(reference.read(self._environment), reference)
        except KeyError:
            message = f"the environment variable '{reference.target}' is not set"
        except OSError as error:
            message = f"'{reference.target}' cannot be read: {error.strerror}"
        except UnicodeDecodeError:
            message = f"'{reference.target}' is not UTF-8 text"
        self.unresolved[location] = message
        return None
