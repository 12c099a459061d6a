"""Temporary credentials for recipients: one issuance behind every door, a cache, and the ledger."""

from sluicegate.vending.issuance import Vending
from sluicegate.vending.ledger import Ledger

__all__ = ["Ledger", "Vending"]
