"""The section `audit`."""
