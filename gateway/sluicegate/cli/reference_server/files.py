"""Writes the result of an import as configuration files."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from sluicegate.api.errors import ConfigurationError
from sluicegate.config.private_files import new_private_file

_REMEDY = "correct this, and import again"


def write_files(folder: Path, contents: Mapping[str, Mapping[str, Any]], *, overwrite: bool) -> None:
    """Write all files, or none if one of them exists already. Only their owner can read them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be created: {error.strerror}") from None
    with ExitStack() as stack:
        files = [
            (
                stack.enter_context(
                    new_private_file(folder / name, overwrite=overwrite, remedy=_REMEDY)
                ),
                yaml_text(content).encode(),
            )
            for name, content in contents.items()
        ]
        for write, content in files:
            write(content)


def yaml_text(content: Mapping[str, Any]) -> str:
    """Return content as YAML in block style, with keys in their order."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 4096
    text = io.StringIO()
    text.write("# Written by `sluicegate import`.\n")
    yaml.dump(dict(content), text)
    return text.getvalue()
