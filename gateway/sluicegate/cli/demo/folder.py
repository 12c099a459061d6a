"""The folder of a demo: configuration, shares, database and profile, as in a real deployment."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluicegate.access.recipients.profile import new_profile_file, profile_text
from sluicegate.access.recipients.service import Recipients
from sluicegate.access.shares_file.apply import apply_shares_file
from sluicegate.access.shares_file.read import read_shares_file
from sluicegate.api.errors import ConfigurationError
from sluicegate.cli.demo.tables import DemoTable
from sluicegate.config import Settings, load_settings
from sluicegate.database import Store

HOST = "127.0.0.1"
SHARE, SCHEMA, RECIPIENT = "demo", "lake", "you"

_CONFIGURATION = """\
# Made by `sluicegate demo`; serve it again with: sluicegate serve --config THIS_FILE
public_url: http://{host}:{port}
server: {{host: {host}, port: {port}}}
catalogs:
  raw: {{type: paths}}
storage:
  - {{type: file, prefix: {tables}}}
database: {database}
"""
_SHARES = """\
# Applied by `sluicegate demo`; change it and run: sluicegate apply THIS_FILE
shares:
  {share}:
    comment: Three tables to try Sluicegate with
    schemas:
      {schema}:
        tables:
{tables}
recipients:
  {recipient}: {{shares: [{share}]}}
"""
_TABLE = "          {name}: {{catalog: raw, table: {location}, comment: {about}, history: true}}"


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """A local folder, identified by its absolute path."""

    path: Path

    @classmethod
    def create(cls, path: Path) -> DemoFolder:
        """Create the folder, or use an existing empty one."""
        path = path.absolute()
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise ConfigurationError(f"{path} is not empty: use an empty folder, or a new one")
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be used: {error.strerror}") from error
        return cls(path)

    @property
    def tables(self) -> Path:
        """The folder of the tables."""
        return self.path / "tables"

    @property
    def profile(self) -> Path:
        """The profile file of the recipient."""
        return self.path / f"{RECIPIENT}.share"

    def configure(self, port: int) -> Settings:
        """Write `gateway.yaml` and read it as `sluicegate serve` does."""
        file = self.path / "gateway.yaml"
        file.write_text(
            _CONFIGURATION.format(
                host=HOST,
                port=port or _free_port(),
                tables=_quoted(f"file://{self.tables}/"),
                database=_quoted(f"sqlite:///{self.path / 'sluicegate.db'}"),
            ),
            encoding="utf-8",
        )
        return load_settings(file)

    async def share(self, settings: Settings, tables: Sequence[DemoTable]) -> None:
        """Write `shares.yaml`, apply it as `sluicegate apply` does, and write the profile."""
        file = self.path / "shares.yaml"
        file.write_text(self._shares(tables), encoding="utf-8")
        shares = read_shares_file(file, settings.catalogs)
        store = await Store.open(settings.database.get_secret_value())
        try:
            await apply_shares_file(store, shares)
            recipients = Recipients(
                store,
                token_lifetime=settings.recipients.token_lifetime,
                rotation_grace=settings.recipients.rotation_grace,
            )
            with new_profile_file(self.profile, overwrite=False) as write:
                profile = profile_text(await recipients.rotate(RECIPIENT), settings.public_url)
                write(profile.encode())
        finally:
            await store.aclose()

    def _shares(self, tables: Sequence[DemoTable]) -> str:
        entries = (
            _TABLE.format(
                name=table.name,
                location=_quoted(f"file://{self.tables / table.name}"),
                about=_quoted(table.about),
            )
            for table in tables
        )
        return _SHARES.format(
            share=SHARE, schema=SCHEMA, tables="\n".join(entries), recipient=RECIPIENT
        )


def _quoted(text: str) -> str:
    """A string as a YAML scalar, with any special characters quoted."""
    return json.dumps(text, ensure_ascii=False)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
