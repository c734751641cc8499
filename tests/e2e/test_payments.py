"""A renter buys credits between real processes: the command line, a hub, and a fake Stripe at the other end."""

from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest
from support.fake_stripe import paying
from support.fake_stripe.server import KEY, FakeStripe, fake_stripe
from support.fake_stripe.webhooks import SECRET, signed
from support.pool import Pool, running_pool
from support.waiting import patience

pytestmark = pytest.mark.slow


@pytest.fixture
def stripe() -> Iterator[FakeStripe]:
    with fake_stripe() as fake:
        yield fake


@pytest.fixture
def paid_pool(tmp_path, stripe: FakeStripe) -> Iterator[Pool]:
    settings = {
        "COMPUTEPOOL_STRIPE_SECRET_KEY": KEY,
        "COMPUTEPOOL_STRIPE_WEBHOOK_SECRET": SECRET,
        "COMPUTEPOOL_STRIPE_API_URL": stripe.url,
    }
    with running_pool(tmp_path / "pool", settings) as pool:
        yield pool


def tell(pool: Pool, stripe: FakeStripe) -> None:
    for event in stripe.world.events:
        body, headers = signed(event, datetime.now(UTC))
        url = f"{pool.url}/api/v1/payments/stripe/webhook"
        httpx.post(url, content=body, headers=headers, timeout=patience()).raise_for_status()


def test_renter_tops_up_and_the_bank_is_asked(paid_pool, stripe):
    alice = paid_pool.register("alice")
    told = alice.cli("wallet", "top-up", "100", "--save-card").expect()
    assert told.text.strip().startswith("https://checkout.fake.test/")
    assert "100 credits for 100.00 INR" in told.err
    paying.complete_page(stripe.world, stripe.world.all("checkout.session")[0]["id"], paying.NEEDS_BANK)
    tell(paid_pool, stripe)

    def paid() -> bool | None:
        (one,) = alice.cli("wallet", "top-ups", "--json").expect().json["items"]
        return one["state"] == "paid" or None

    paid_pool.until(paid, "the payment to be credited")
    confirm = alice.cli("wallet", "top-up", "50", "--saved-card").expect()
    assert confirm.text.strip().startswith("https://hooks.fake.test/3d_secure/")
    assert "Your bank wants you to confirm" in confirm.err
    shown = alice.cli("wallet", "plan", "per-job", "--monthly", "500").expect()
    assert "visa ending in 3184" in shown.text
    refused = alice.cli("wallet", "top-up", "-1")
    assert refused.code == 2
    host = alice.cli("wallet", "payout-account", "--country", "IN").expect()
    assert host.text.strip().startswith("https://connect.fake.test/setup/")


def test_without_a_processor_the_command_line_says_whom_to_ask(pool):
    alice = pool.register("alice")
    told = alice.cli("wallet", "top-up", "100").expect(1)
    assert "Ask its operator for credits" in told.err
    assert "computepool admin grant" in told.err
    assert alice.cli("wallet", "card").expect(1).err.startswith("error: This pool takes no cards.")
