"""Configuration of the storage type `file`."""

from __future__ import annotations

from pydantic import Field, field_validator

from sluicegate.api import StorageConfig

SCHEME = "file://"


class FileConfig(StorageConfig):
    """A directory of this machine whose files are served by links of the gateway itself."""

    prefix: str = Field(
        description="The directory as a location with an absolute path, `file:///srv/tables/`. "
        "Literal, not percent-encoded. It must exist; nothing outside of it is ever read.",
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
                "the whole file system cannot be served: name a directory, file:///srv/tables/"
            )
        if any(name in ("", ".", "..") or "\0" in name for name in names):
            raise ValueError(f"'{prefix}' has an empty, '.' or '..' part: write the plain path")
        return f"{SCHEME}/{'/'.join(names)}/"
