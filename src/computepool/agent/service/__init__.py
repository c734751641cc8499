"""The agent as a service of the machine it runs on: a systemd unit, a launchd agent or a Windows logon task.

Owns the texts that these managers read, and what is written and removed; uses the managers' own programs; never holds a
secret: a unit names the agent's folder, and the keys are in there.
"""

from .choose import MANAGERS, NoServiceManager, ServiceHost, choose
from .installing import install, is_installed, purge, recorded, remove_run_files, uninstall
from .model import Service, ServiceError, ServiceManager, Step, name_for, network_settings

__all__ = [
    "MANAGERS",
    "NoServiceManager",
    "Service",
    "ServiceError",
    "ServiceHost",
    "ServiceManager",
    "Step",
    "choose",
    "install",
    "is_installed",
    "name_for",
    "network_settings",
    "purge",
    "recorded",
    "remove_run_files",
    "uninstall",
]
