from __future__ import annotations

from sluicegate_testing.leaks import no_secret_leaks

__all__ = ["no_secret_leaks"]
