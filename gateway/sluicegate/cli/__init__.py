"""The `sluicegate` command."""

from sluicegate.cli.main import main

__all__ = ["main"]
