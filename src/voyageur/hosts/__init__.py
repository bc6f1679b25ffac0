"""Where a command is typed: on this machine, or over ssh."""

from voyageur.hosts.here import Here
from voyageur.hosts.model import Answer, Host

__all__ = ["Answer", "Here", "Host"]
