"""`gateway.yaml` becomes frozen settings; every key is typed, described and defaulted once."""

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
