"""Reads `gateway.yaml` into frozen settings that define type, description and default of each key."""

from sluicegate.config.authentication import AuthenticationSettings, OidcSettings
from sluicegate.config.delegation import DelegationSettings
from sluicegate.config.load import load_settings
from sluicegate.config.model import PluginSection
from sluicegate.config.server import ServerSettings
from sluicegate.config.settings import (
    CacheSettings,
    RecipientSettings,
    Settings,
    SharingSettings,
    TelemetrySettings,
)

__all__ = [
    "AuthenticationSettings",
    "CacheSettings",
    "DelegationSettings",
    "OidcSettings",
    "PluginSection",
    "RecipientSettings",
    "ServerSettings",
    "Settings",
    "SharingSettings",
    "TelemetrySettings",
    "load_settings",
]
