"""What a scope's credentials have to open: one directory, or the whole container."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import EndedSessions, UnsupportedOperation
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.sas import SasSigner

# Hadoop's connector for Data Lake asks for the status of paths, which `e` allows.
_HIERARCHICAL = "rle"
_FLAT = "rl"


def sas_token(config: AzureConfig, signer: SasSigner, directories: Sequence[str], end: int) -> str:
    """A token that reads and lists these directories of the container, and no more than configured.

    Args:
        config: Says whether a directory or the container is opened.
        signer: Signs for the container.
        directories: Their names; empty for the whole container.
        end: When it expires, epoch seconds.

    Raises:
        UnsupportedOperation: Nothing is vended here, or one token cannot cover the directories.
    """
    permissions = _HIERARCHICAL if config.hierarchical else _FLAT
    if config.vends is None:
        raise UnsupportedOperation(
            "this storage gives no temporary credentials: without a hierarchical namespace Azure "
            "cannot limit them to a table"
        )
    if config.vends == "container":
        return signer.container_token(permissions, end)
    directory = _outermost(directories)
    if not directory:
        return signer.container_token(permissions, end)
    return signer.directory_token(directory, permissions, end)


def _outermost(directories: Sequence[str]) -> str:
    """The one directory in which all others lie."""
    first = min(directories, key=len)
    inside = f"{first}/" if first else ""
    if all(directory == first or directory.startswith(inside) for directory in directories):
        return first
    raise UnsupportedOperation(
        "the table has files in several directories, and Azure's temporary credentials open one only; "
        "read the table by url access"
    )


def how_to_end(config: AzureConfig) -> EndedSessions:
    """What an administrator runs: Azure ends signatures of a whole account at once, never one."""
    account = config.container.account
    command = (
        f"az storage account keys renew --account-name {account} --resource-group GROUP --key KEY"
        if config.account_key is not None
        else f"az storage account revoke-delegation-keys --name {account} --resource-group GROUP"
    )
    then = (
        "put the new key into the gateway's configuration and restart it"
        if config.account_key is not None
        else "restart the gateway, whose own key ends too"
    )
    return EndedSessions(
        applied=False,
        instructions=(
            f"Azure cannot end the signatures of one recipient. This ends all of the account "
            f"'{account}', for every recipient and application:\n\n    {command}\n\n"
            f"It may take minutes to work; then {then}. Otherwise they end by themselves."
        ),
    )
