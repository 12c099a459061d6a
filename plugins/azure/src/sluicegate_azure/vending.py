"""Chooses the scope of vended credentials: one directory, or the entire container."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.api import EndedSessions, UnsupportedOperation
from sluicegate_azure.config import AzureConfig
from sluicegate_azure.sas import SasSigner

# Hadoop's connector for Data Lake requests the status of paths, for which `e` is needed.
_HIERARCHICAL = "rle"
_FLAT = "rl"


def sas_token(config: AzureConfig, signer: SasSigner, directories: Sequence[str], end: int) -> str:
    """Return a token that reads and lists these directories, limited to the configured scope."""
    permissions = _HIERARCHICAL if config.hierarchical else _FLAT
    if config.vends == "container":
        return signer.container_token(permissions, end)
    directory = _outermost(directories)
    if not directory:
        return signer.container_token(permissions, end)
    return signer.directory_token(directory, permissions, end)


def _outermost(directories: Sequence[str]) -> str:
    """Return the one directory that contains all others."""
    first = min(directories, key=len)
    inside = f"{first}/" if first else ""
    if all(directory == first or directory.startswith(inside) for directory in directories):
        return first
    raise UnsupportedOperation(
        "the table has files in several directories, but Azure's temporary credentials can cover "
        "only one; read the table with 'url' access"
    )


def how_to_end(config: AzureConfig) -> EndedSessions:
    """Return instructions for administrators: Azure revokes all signatures of an account together."""
    account = config.container.account
    command = (
        f"az storage account keys renew --account-name {account} --resource-group GROUP --key KEY"
        if config.account_key is not None
        else f"az storage account revoke-delegation-keys --name {account} --resource-group GROUP"
    )
    then = (
        "set the new key in the gateway's configuration, and restart the gateway"
        if config.account_key is not None
        else "restart the gateway, because its own key is revoked, too"
    )
    return EndedSessions(
        applied=False,
        instructions=(
            "Azure cannot revoke the signatures of a single recipient. The following command "
            f"revokes all signatures of the account '{account}', for every recipient and "
            f"application:\n\n    {command}\n\nThe command can take some minutes to take effect. "
            f"Then {then}. If you don't run it, the signatures stay valid until they expire."
        ),
    )
