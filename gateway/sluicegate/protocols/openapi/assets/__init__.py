"""Volumes, models and skills in the OpenAPI document."""
