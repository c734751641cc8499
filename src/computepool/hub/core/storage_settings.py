"""The settings of what is stored: limits, the price, and how long it is kept."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from computepool.hub.core.edge_settings import EdgeSettings


class StorageSettings(EdgeSettings):
    upload_limit_bytes: Annotated[
        int, Field(ge=1, description="The largest single artifact that is taken, in bytes.")
    ] = 50 * 1024**3
    storage_limit_bytes: Annotated[
        int,
        Field(
            ge=0,
            description="Bytes that one account may have stored: bundles, inputs, outputs, checkpoints and logs. 0: no "
            "limit. Admins have none.",
        ),
    ] = 20 * 1024**3
    storage_limit_objects: Annotated[
        int, Field(ge=0, description="Files and logs that one account may have stored. 0: no limit. Admins have none.")
    ] = 100_000
    storage_limit_bytes_per_day: Annotated[
        int,
        Field(
            ge=0,
            description="Bytes that an account which never bought credits may store in a day of UTC, where money is "
            "on. 0: no limit.",
        ),
    ] = 1024**3
    storage_price: Annotated[
        Decimal,
        Field(
            ge=0,
            le=1_000_000,
            max_digits=13,
            decimal_places=6,
            allow_inf_nan=False,
            description="Credits that one GB (1024³ bytes) beyond the free bytes costs in a day of UTC, where money is "
            "on. 0: storage costs nothing. Admins pay nothing.",
        ),
    ] = Decimal(0)
    storage_free_bytes: Annotated[
        int, Field(ge=0, description="Bytes that one account stores for nothing, where storage has a price.")
    ] = 5 * 1024**3
    storage_grace_days: Annotated[
        int,
        Field(
            ge=0,
            le=365,
            description="Days after the first that an account could not pay its storage in which it may still store "
            "more. Nothing is deleted afterwards.",
        ),
    ] = 7
    disk_reserve_bytes: Annotated[
        int | None,
        Field(
            ge=0,
            description="Where artifacts are on a local disk: bytes of it that are left to the database. While less is "
            "free, nothing more is stored, and the hub works on. Unset: 1 GB, or a twentieth of a smaller disk.",
        ),
    ] = None

    keep_logs_days: Annotated[
        int | None,
        Field(ge=1, le=36_500, description="Days after its end for which a job's logs are kept. Unset: for ever."),
    ] = None
    keep_outputs_days: Annotated[
        int | None,
        Field(ge=1, le=36_500, description="Days after its end for which a job's outputs are kept. Unset: for ever."),
    ] = None
    keep_audit_days: Annotated[
        int | None,
        Field(ge=1, le=36_500, description="Days for which records of who did what are kept. Unset: for ever."),
    ] = None
    keep_outbox_days: Annotated[
        int,
        Field(ge=1, le=3_650, description="Days for which news is kept for programs that were away."),
    ] = 7
    keep_history_days: Annotated[
        int,
        Field(ge=1, le=3_650, description="Days for which telemetry, usage and figures of the pool are kept."),
    ] = 365
