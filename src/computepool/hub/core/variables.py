"""Which variables of the environment are the hub's. One that looks like ours and is not known is a mistake."""

import re
from collections.abc import Collection, Mapping

from computepool.protocol.units import nearest

PREFIX = "COMPUTEPOOL_"
OTHERS = frozenset(
    f"{PREFIX}{name}"
    for name in (
        # of the CLI
        *("URL", "TOKEN", "JOIN_TOKEN", "BACKUP_PASSPHRASE", "NEW_SECRET_KEY", "DEBUG"),
        # of the tests
        *("PROVE", "REQUIRE_ENGINES", "UPDATE_SNAPSHOTS"),
        # of a job, in which a hub may run like anything else
        *("JOB_ID", "ATTEMPT", "SLICE", "SLICES", "OUTPUT", "CHECKPOINT", "RESUMED", "ENV", "RUN"),
    )
)
"""Variables that are ours, and not the hub's."""
NOT_YET = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "REDIS_URL",
        *(f"OAUTH_{who}_CLIENT_{what}" for who in ("GOOGLE", "GITHUB", "OIDC") for what in ("ID", "SECRET")),
        "OAUTH_OIDC_ISSUER",
    )
)
"""Planned settings. A hub that ignored one would not be what its operator thinks it is."""
_KUBERNETES = re.compile(rf"{PREFIX}(\w+_)?(SERVICE_(HOST|PORT\w*)|PORT(_\d+_(TCP|UDP)\w*)?)")
"""Set in every container beside a service that is called like us."""


def strange_variables(environment: Mapping[str, str], names: Collection[str]) -> list[str]:
    """What is wrong with those that are no setting. `names`: of the settings."""
    known = {PREFIX + name.upper() for name in names}
    found = []
    for name, value in sorted(environment.items()):
        if not name.startswith(PREFIX) or not value or name in known | OTHERS:
            continue
        if name in NOT_YET:
            found.append(f"{name}: not supported yet by this version; unset it")
        elif not _KUBERNETES.fullmatch(name) or (name == f"{PREFIX}PORT" and "://" not in value):
            meant = nearest(name.removeprefix(PREFIX), names)
            hint = f"; is {PREFIX}{meant.upper()} meant?" if meant else ""
            found.append(f"{name}: there is no such setting{hint}")
    return found
