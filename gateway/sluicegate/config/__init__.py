"""`gateway.yaml` becomes frozen settings; every key is typed, described and defaulted once."""

from sluicegate.config.load import load_settings
from sluicegate.config.settings import (
    CacheSettings,
    PluginSection,
    RecipientSettings,
    ServerSettings,
    Settings,
    SharingSettings,
    TelemetrySettings,
)

__all__ = [
    "CacheSettings",
    "PluginSection",
    "RecipientSettings",
    "ServerSettings",
    "Settings",
    "SharingSettings",
    "TelemetrySettings",
    "load_settings",
]
