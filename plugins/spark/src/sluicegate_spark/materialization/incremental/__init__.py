"""Refreshes copies by the changes of their sources instead of all rows."""
