"""Every address of the app, as its reader sees it: nothing on the console, nothing against the policy, axe is content.

A new page goes into the list of those who may see it.
"""

import pytest
from support.web import DESKTOP, PHONE, Visitor

pytestmark = pytest.mark.slow

EVERYBODY = ["/", "/sign-in", "/sign-up", "/docs", "/market", "/map", "/leaderboard", "/nowhere"]
SIGNED_IN = ["/jobs", "/submit", "/nodes", "/wallet", "/device"]
SIGNED_IN += ["/account", "/account/notices", "/account/sessions", "/account/tokens"]
ADMINS = ["/admin", "/admin/settings/platform_fee_bps", "/admin/settings/tables/regions"]
ADMINS += [
    f"/admin/{name}"
    for name in (
        "queue", "jobs", "nodes", "users", "storage", "checks", "disputes", "cash-outs", "payments", "vouchers",
        "ledger", "settings", "audit", "mails",
    )
]  # fmt: skip


def check(visitor: Visitor, paths: list[str]) -> None:
    """The first is loaded whole; the others are gone to within the app. `test_serving.py` asks the hub for each."""
    visitor.go(paths[0])
    for path in paths:
        visitor.check_accessible(path)
        visitor.page.set_viewport_size(PHONE)
        too_wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert visitor.page.evaluate(too_wide) == 0, f"{path} scrolls sideways on a phone"
        visitor.page.set_viewport_size(DESKTOP)


def test_every_page_for_everybody(visitor):
    check(visitor, EVERYBODY)


def test_every_page_of_ones_own(visitor):
    visitor.sign_in("reader")
    check(visitor, SIGNED_IN)


def test_every_page_for_admins(visitor):
    visitor.sign_in_as_operator()
    check(visitor, ADMINS)
