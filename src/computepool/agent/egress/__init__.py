"""A job's way out. Owns: the proxy on its one open port, where it may go, how much and how fast, and which package
indexes there are.

Uses: a listening socket that the sandbox hands over. Never: the job spec, the hub, or what is inside a connection.
"""

from .addresses import surroundings, why_not_public
from .allowance import Allowance
from .environment import proxy_environment
from .indexes import CERTIFICATES, find_indexes, find_mirrors, find_pages
from .meter import TokenBucket
from .policy import EgressPolicy, HomePolicy, Mode, Refused
from .proxy import Egress, EgressLimits
from .resolver import Resolver
from .upstream import Upstream, UpstreamUnusable, find_upstream

__all__ = [
    "CERTIFICATES",
    "Allowance",
    "Egress",
    "EgressLimits",
    "EgressPolicy",
    "HomePolicy",
    "Mode",
    "Refused",
    "Resolver",
    "TokenBucket",
    "Upstream",
    "UpstreamUnusable",
    "find_indexes",
    "find_mirrors",
    "find_pages",
    "find_upstream",
    "proxy_environment",
    "surroundings",
    "why_not_public",
]
