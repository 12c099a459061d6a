"""Configuration of the storage type `file`."""

from __future__ import annotations

from pydantic import Field, field_validator

from sluicegate.api import StorageConfig

SCHEME = "file://"


class FileConfig(StorageConfig):
    """A directory of this machine. The gateway itself serves its files through links."""

    prefix: str = Field(
        description="The directory as a location with an absolute path, `file:///srv/tables/`. "
        "Literal, not percent-encoded. It must exist. Files outside it are never read.",
        examples=["file:///srv/tables/"],
    )

    @field_validator("prefix")
    @classmethod
    def _absolute_directory(cls, prefix: str) -> str:
        path = prefix.removeprefix(SCHEME)
        if path == prefix or not path.startswith("/"):
            raise ValueError(f"'{prefix}' is not an absolute location: write file:///srv/tables/")
        names = path.strip("/").split("/")
        if names == [""]:
            raise ValueError(
                "the root of the file system cannot be served: set a directory, such as "
                "file:///srv/tables/"
            )
        if any(name in ("", ".", "..") or "\0" in name for name in names):
            raise ValueError(f"'{prefix}' contains an empty, '.' or '..' segment: remove it")
        return f"{SCHEME}/{'/'.join(names)}/"
