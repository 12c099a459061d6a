"""Volumes, models with their versions, and skills, which recipients read with temporary credentials."""
