"""Every table of the hub, so that one import knows the whole schema."""

import computepool.hub.accounts.handles
import computepool.hub.accounts.public_names
import computepool.hub.accounts.tables
import computepool.hub.accounts.team_tables
import computepool.hub.admin.tables
import computepool.hub.artifacts.tables
import computepool.hub.core.idempotency
import computepool.hub.core.keyring
import computepool.hub.core.owners
import computepool.hub.disputes.tables
import computepool.hub.figures.tables
import computepool.hub.history.tables
import computepool.hub.jobs.spending
import computepool.hub.jobs.tables
import computepool.hub.ledger.claims
import computepool.hub.ledger.holds
import computepool.hub.ledger.tables
import computepool.hub.mail.tables
import computepool.hub.market.tables
import computepool.hub.nodes.benchmarks
import computepool.hub.nodes.tables
import computepool.hub.payments.cash_out_rows
import computepool.hub.payments.tables
import computepool.hub.payments.vouchers
import computepool.hub.reputation.tables
import computepool.hub.scheduling.limits_store
import computepool.hub.trust.tables  # noqa: F401
from computepool.hub.core.tables import Base

metadata = Base.metadata
