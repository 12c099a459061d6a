"""Limits of recipients and client addresses: request rates, and files and bytes a day."""
