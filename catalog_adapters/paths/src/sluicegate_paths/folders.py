"""Maps folders to schemas and tables.

In a location, `*` matches the name of one folder: first that of the schema, if the schema's name also
contains a `*`, then that of the table, which can be left out at the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/]*)(?P<path>/.*|)", re.DOTALL)


def normalised(text: str) -> str:
    """Return a location without a trailing slash: `file:///srv/t` for `/srv//t/`.

    Locations are literal: nothing is percent-decoded, and `?` and `#` are part of the name.
    """
    match = _URL.fullmatch(f"file://{text}" if text.startswith("/") else text)
    if match is None:
        raise ValueError("must be a location (s3://bucket/table) or an absolute path (/srv/table)")
    scheme, authority, path = match.group("scheme", "authority", "path")
    if scheme == "file":
        # Repeated slashes are redundant only in local paths; elsewhere they are part of the key.
        path = re.sub("/+", "/", path)
    path = path.rstrip("/")
    if {".", ".."} & set(path.split("/")):
        raise ValueError("a location cannot contain the segments '.' and '..': remove them")
    if bool(authority) == (scheme == "file") or (scheme == "file" and not path):
        raise ValueError(
            "a location must contain a bucket (s3://bucket/table) or a path (file:///srv/table)"
        )
    return f"{scheme}://{authority}{path}"


@dataclass(frozen=True, slots=True)
class NamedFolders:
    """The folders that a `*` in a location matches.

    Attributes:
        within: The rest of the path in each folder, with a leading slash; empty for the folder
            itself.
    """

    around: str
    within: str

    def location(self, name: str) -> str:
        """Return the location for the folder of that name."""
        return f"{self.around}/{name}{self.within}"


@dataclass(frozen=True, slots=True)
class SchemaFolders:
    """One entry of `schemas:`, such as `eu: s3://lake/eu/` or `"*": s3://lake/*/`."""

    name: str
    location: str

    @classmethod
    def parse(cls, name: str, location: str) -> Self:
        """Parse an entry of the configuration."""
        checked = normalised(location)
        _, _, bucket, *folders = checked.split("/")
        if "*" in bucket or any("*" in folder and folder != "*" for folder in folders):
            raise ValueError("in a location, '*' must be the entire name of a folder: s3://lake/*/")
        named, given = name.count("*"), folders.count("*")
        if named > 1:
            raise ValueError(
                f"the schema name '{name}' can contain only one '*', which stands for the name of a "
                "folder"
            )
        if given < named:
            raise ValueError(
                f"the schema '{name}' requires a location with a '*' for the schema's folder"
            )
        if given > named + 1:
            raise ValueError(
                f"the location of the schema '{name}' has too many '*': use one for the table"
                + (" and one for the schema" if named else "")
            )
        return cls(name, f"{checked}/*" if given == named else checked)

    @property
    def schemas(self) -> NamedFolders | None:
        """Return the folders that are schemas; `None` if the entry names just one."""
        return _first_named(self.location) if "*" in self.name else None

    def schema(self, folder: str) -> str:
        """Return the schema's name for a folder."""
        return self.name.replace("*", folder)

    def tables(self, schema: str) -> NamedFolders | None:
        """Return the folders that are a schema's tables; `None` if the entry doesn't match it."""
        schemas = self.schemas
        if schemas is None:
            return _first_named(self.location) if schema == self.name else None
        before, _, after = self.name.partition("*")
        folder = schema[len(before) : len(schema) - len(after)]
        if self.schema(folder) != schema or not is_plain_name(folder):
            return None
        return _first_named(schemas.location(folder))


def is_plain_name(folder: str) -> bool:
    """Return whether a folder can be a schema. Hidden folders, such as `_delta_log`, can't."""
    return bool(folder) and not folder.startswith(("_", ".")) and not {"/", "*"} & set(folder)


def _first_named(location: str) -> NamedFolders:
    around, _, within = location.partition("/*")
    return NamedFolders(around, within)
