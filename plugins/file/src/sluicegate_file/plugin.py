"""What the plugin offers to the gateway."""

from collections.abc import Sequence

from sluicegate.api import PluginContext, StorageType, hookimpl
from sluicegate_file.config import FileConfig
from sluicegate_file.storage import FileStorage


@hookimpl
def sluicegate_register_storage() -> Sequence[StorageType]:
    """The storage type `file`."""
    return [StorageType("file", ("file",), FileConfig, _build)]


def _build(config: FileConfig, context: PluginContext) -> FileStorage:
    return FileStorage(config, context)
