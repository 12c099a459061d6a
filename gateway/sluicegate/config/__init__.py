"""Reads `gateway.yaml` into frozen settings that define type, description and default of each key."""

from sluicegate.config.load import load_settings
from sluicegate.config.model import PluginSection
from sluicegate.config.sections.authentication import AuthenticationSettings, OidcSettings
from sluicegate.config.sections.cache import CacheSettings
from sluicegate.config.sections.delegation import DelegationSettings
from sluicegate.config.sections.recipients import RecipientSettings
from sluicegate.config.sections.server import ServerSettings
from sluicegate.config.sections.sharing import SharingSettings
from sluicegate.config.sections.telemetry import TelemetrySettings
from sluicegate.config.settings import Settings

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
