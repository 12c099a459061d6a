"""Folders as schemas: where a schema's tables lie, and where the names of schemas come from.

In a location `*` stands for the name of one folder: first that of the schema, where the schema's name
has a `*` too, then that of the table, which may be left out at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from sluicegate_paths.locations import normalised


@dataclass(frozen=True, slots=True)
class NamedFolders:
    """The folders that a `*` in a location stands for.

    Attributes:
        around: The directory that they lie in.
        within: What follows in each of them, with its leading slash; empty for the folder itself.
    """

    around: str
    within: str

    def location(self, name: str) -> str:
        """What lies in the folder of that name."""
        return f"{self.around}/{name}{self.within}"


@dataclass(frozen=True, slots=True)
class SchemaFolders:
    """One entry of `schemas:`, as `eu: s3://lake/eu/` or `"*": s3://lake/*/`.

    Attributes:
        name: A schema's name; with a `*` those of several.
        location: Has a `*` for the schema, if the name has one, and another for the table.
    """

    name: str
    location: str

    @classmethod
    def parse(cls, name: str, location: str) -> Self:
        """Read an entry of the configuration.

        Raises:
            ValueError: The location is none, or its `*` are not as many as they may be.
        """
        checked = normalised(location)
        _, _, bucket, *folders = checked.split("/")
        if "*" in bucket or any("*" in folder and folder != "*" for folder in folders):
            raise ValueError("a '*' in a location stands for the whole name of a folder: s3://lake/*/")
        named, given = name.count("*"), folders.count("*")
        if named > 1:
            raise ValueError(f"the schema '{name}' may have one '*', for the name of a folder")
        if given < named:
            raise ValueError(f"the schema '{name}' needs a location with a '*' for its folder")
        if given > named + 1:
            raise ValueError(
                f"the location of the schema '{name}' has more '*' than one for the table"
                + (" and one for the schema" if named else "")
            )
        return cls(name, f"{checked}/*" if given == named else checked)

    @property
    def schemas(self) -> NamedFolders | None:
        """The folders that are schemas; `None` where the entry names just one."""
        return _first_named(self.location) if "*" in self.name else None

    def schema(self, folder: str) -> str:
        """What the schema in a folder is called."""
        return self.name.replace("*", folder)

    def tables(self, schema: str) -> NamedFolders | None:
        """The folders that are a schema's tables; `None` where the entry does not name the schema."""
        schemas = self.schemas
        if schemas is None:
            return _first_named(self.location) if schema == self.name else None
        before, _, after = self.name.partition("*")
        folder = schema[len(before) : len(schema) - len(after)]
        if self.schema(folder) != schema or not is_plain_name(folder):
            return None
        return _first_named(schemas.location(folder))


def is_plain_name(folder: str) -> bool:
    """Whether a folder of that name may be a schema: hidden ones, as `_delta_log`, are not."""
    return bool(folder) and not folder.startswith(("_", ".")) and not {"/", "*"} & set(folder)


def _first_named(location: str) -> NamedFolders:
    around, _, within = location.partition("/*")
    return NamedFolders(around, within)
