"""Temporary credentials for recipients: issuance for all protocols, a cache, and the ledger."""

from sluicegate.vending.issue import Vending
from sluicegate.vending.ledger import Ledger

__all__ = ["Ledger", "Vending"]
