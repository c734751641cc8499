"""The ways out that this node gives to jobs: package indexes for `setup`, the internet for those that ask for it.

Everything passes the agent's own proxy, which refuses the network around the machine and counts what passes.
"""

import logging
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from computepool.agent.clock import Clock
from computepool.agent.egress import (
    Allowance,
    Egress,
    EgressLimits,
    EgressPolicy,
    Mode,
    TokenBucket,
    Upstream,
    UpstreamUnusable,
    find_indexes,
    find_mirrors,
    find_upstream,
    proxy_environment,
)
from computepool.agent.egress.resolver import Lookup

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outside:
    """What the ways out of all jobs on this node have in common."""

    clock: Clock
    lookup: Lookup
    allowance: Allowance | None = None
    bucket: TokenBucket | None = None
    upstream: Upstream | None = None
    indexes: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    mirrors: Mapping[str, str] = field(default_factory=dict)
    private_indexes: bool = False
    cap_bytes: int | None = None
    tls: ssl.SSLContext | None = None
    """Whom the agent trusts when it fetches by itself; None for those whom browsers trust."""

    def open(self, *, internet: bool, own: bool, tell: Callable[[str], None], may_pass: Callable[[], bool]) -> Egress:
        """For one attempt's `setup`, or for its command. `may_pass` is asked before anything goes in or out.

        The owner's own jobs use neither the allowance nor the rate that strangers' work has.
        """
        policy = EgressPolicy(
            Mode.INTERNET if internet else Mode.INDEXES,
            indexes=self.indexes,
            added=self.added,
            private_indexes=self.private_indexes,
        )
        return self.open_with(policy, own=own, tell=tell, may_pass=may_pass)

    def open_with(
        self,
        policy: EgressPolicy,
        *,
        own: bool,
        tell: Callable[[str], None] = lambda line: None,
        may_pass: Callable[[], bool] = lambda: True,
    ) -> Egress:
        return Egress(
            policy,
            lookup=self.lookup,
            clock=self.clock,
            limits=EgressLimits(cap_bytes=self.cap_bytes),
            bucket=None if own else self.bucket,
            allowance=None if own else self.allowance,
            upstream=self.upstream,
            tell=tell,
            may_pass=may_pass,
        )

    def variables(self) -> dict[str, str]:
        """What programs inside read to find the proxy."""
        return proxy_environment(mirrors=self.mirrors)


def find_outside(
    clock: Clock,
    lookup: Lookup,
    environ: Mapping[str, str] = os.environ,
    *,
    allowance: Allowance | None = None,
    bucket: TokenBucket | None = None,
) -> Outside:
    """As this machine is set up. Blocking."""
    try:
        upstream = find_upstream(environ)
    except UpstreamUnusable as error:
        log.warning("egress.no_upstream", extra={"reason": str(error)})
        upstream = None
    return Outside(
        clock=clock,
        lookup=lookup,
        allowance=allowance,
        bucket=bucket,
        indexes=find_indexes(environ),
        mirrors=find_mirrors(environ),
        upstream=upstream,
    )
