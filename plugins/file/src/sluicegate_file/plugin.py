"""Registers the plugin with the gateway."""

from collections.abc import Sequence

from sluicegate.api import PluginContext, StorageType, hookimpl
from sluicegate_file.config import FileConfig
from sluicegate_file.storage import FileStorage

sluicegate_api_version = "1.0"


@hookimpl
def sluicegate_register_storage() -> Sequence[StorageType]:
    """Return the storage type `file`."""
    return [StorageType("file", ("file",), FileConfig, _build)]


def _build(config: FileConfig, context: PluginContext) -> FileStorage:
    return FileStorage(config, context)
