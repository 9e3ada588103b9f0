"""Settings: one frozen tree from flags, environment, a YAML file and defaults."""

from app.settings.load import SettingsError, load_settings
from app.settings.tree import Cluster, Logging, Previews, Server, Settings, Tls

__all__ = ["Cluster", "Logging", "Previews", "Server", "Settings", "SettingsError", "Tls", "load_settings"]
