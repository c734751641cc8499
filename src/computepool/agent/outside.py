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
    CERTIFICATES,
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
    allowed: Callable[[], frozenset[str]] = frozenset
    """The package indexes that the host allows, by its policy of now."""
    cap_bytes: int | None = None
    tls: ssl.SSLContext | None = None
    """Whom the agent trusts when it fetches by itself; None for those whom browsers trust."""

    def open(self, *, internet: bool, own: bool, tell: Callable[[str], None], may_pass: Callable[[], bool]) -> Egress:
        """For one attempt's `setup`, or for its command. `may_pass` is asked before anything goes in or out.

        The owner's own jobs use neither the allowance nor the rate that strangers' work has.
        """
        return self.open_with(self.policy(internet=internet), own=own, tell=tell, may_pass=may_pass)

    def policy(self, *, internet: bool) -> EgressPolicy:
        return EgressPolicy(
            Mode.INTERNET if internet else Mode.INDEXES,
            indexes=self.indexes,
            added=self.added,
            allowed=self.allowed(),
        )

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

    def variables(self, given: Mapping[str, str], *, with_image: bool) -> dict[str, str]:
        """A job's environment with what programs inside read to find the proxy, and the indexes that this machine is
        set up for, where the spec does not name others. An image has certificates of its own, at places that are not
        known here."""
        left_out = CERTIFICATES if with_image else ()
        mirrors = {name: value for name, value in self.mirrors.items() if name not in left_out}
        return {**mirrors, **given, **proxy_environment()}


def find_outside(
    clock: Clock,
    lookup: Lookup,
    environ: Mapping[str, str] = os.environ,
    *,
    allowance: Allowance | None = None,
    bucket: TokenBucket | None = None,
    allowed: Callable[[], frozenset[str]] = frozenset,
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
        allowed=allowed,
        mirrors=find_mirrors(environ),
        upstream=upstream,
    )
