"""Every operation × every kind of caller, against a pure rule (ADR 0052). A route is in it the moment it exists.

One world for each database: a team with a node, jobs and files, and people of every role. Whatever the rule forbids is
called, and has to be refused and to change nothing; of what it allows, everything that only reads is called.
"""

import random
import re
from dataclasses import dataclass
from datetime import timedelta

import pytest
from support.engine import SECRET_KEY, play
from support.money import give_credits
from support.small_hub import HandClock
from support.tenants import things_of

from computepool.hub.accounts.background import load_directory
from computepool.hub.accounts.directory import LiveToken
from computepool.hub.accounts.handles import give_handle
from computepool.hub.accounts.tables import User
from computepool.hub.accounts.team_tables import Team, TeamMember
from computepool.hub.accounts.tokens import hash_of, new_personal_token
from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.local import LocalStore
from computepool.hub.core.http import BODILESS, Role, TeamRole
from computepool.hub.core.owners import Owner
from computepool.hub.core.route_table import route_table
from computepool.hub.jobs.tables import Job

STREAMS = {"/api/v1/events"}
LAB, OTHER = "team_lab", "team_other"
HANDLES = {LAB: "my-lab", OTHER: "other-lab"}


@dataclass(frozen=True)
class Identity:
    name: str
    role: TeamRole | None = None
    """In the lab."""
    elsewhere: TeamRole | None = None
    """In another team."""
    service: bool = False
    platform: Role = Role.USER

    @property
    def user_id(self):
        return f"user_{self.name}"


IDENTITIES = (
    *(Identity(f"lab_{role}", role) for role in TeamRole),
    *(Identity(f"other_{role}", elsewhere=role) for role in TeamRole),
    Identity("stranger"),
    Identity("lab_service", TeamRole.MEMBER, service=True),
    Identity("other_service", elsewhere=TeamRole.MEMBER, service=True),
    Identity("operator", platform=Role.ADMIN),
)
IN_WORLD = {"job_id", "node_id", "artifact_id", "team"}
"""What the names in a path stand for: things of the lab."""
OF_OTHERS = {"token_id", "session_id", "share_id", "event_id", "user_id", "invitation_id", "period"}
OF_PROVIDERS = {"top_up_id", "cash_out_id", "dispute_id"}
BODIES = {
    # A body that is good in itself: else it would be refused before anybody asks who sent it.
    "PATCH /api/v1/nodes/{node_id}": {"name": "stolen"},
    "PATCH /api/v1/nodes/{node_id}/policy": {"after_idle": "15m"},
    "POST /api/v1/jobs": {"run": ["true"], "team": "my-lab"},
    "POST /api/v1/market/quote": {"run": ["true"], "team": "my-lab"},
    "POST /api/v1/jobs/{job_id}/dispute": {"reason": "It was wrong."},
    "POST /api/v1/jobs/{job_id}/shares": {},
    "POST /api/v1/nodes/{node_id}/reliability/{event_id}/contest": {"reason": "It was not."},
    "POST /api/v1/nodes/join-tokens": {},
    "POST /api/v1/artifacts": {"digest": "sha256:" + "0" * 64, "size_bytes": 1},
    "POST /api/v1/wallet/top-ups": {"credits": "10"},
    "POST /api/v1/wallet/cash-outs": {"credits": "10"},
    "POST /api/v1/wallet/payout-account": {},
    "POST /api/v1/wallet/vouchers": {"code": "NOT-A-CODE-AT-ALL"},
    "PUT /api/v1/wallet/plan": {"plan": "none"},
    "PATCH /api/v1/teams/{team}": {"name": "stolen"},
    "PATCH /api/v1/teams/{team}/members/{user_id}": {"role": "owner"},
    "POST /api/v1/teams/{team}/invitations": {"email": "eve@example.org"},
    "POST /api/v1/teams/{team}/service-accounts": {"name": "spy"},
    "POST /api/v1/teams/{team}/service-accounts/{user_id}/tokens": {},
}
BY_SPEC = {"POST /api/v1/jobs", "POST /api/v1/market/quote"}
"""That name the team in their body."""
ANYBODY_IN_IT = {"POST /api/v1/teams/{team}/leave"}
"""About the caller's own membership."""


def may(identity, scope, *, about_lab):
    """The whole rule: the token is of everything that its user may, so it is the role that decides."""
    if identity.service and scope not in TeamRole.MEMBER.scopes:
        return False
    if not about_lab:
        return scope in identity.platform.scopes
    return identity.role is not None and scope in identity.role.scopes


def params_of(path):
    return set(re.findall(r"\{([^}:]*)[^}]*\}", path))


async def make_world(pool, *, with_things=True):
    now = pool.clock.now()

    def fill(session):
        for team_id, handle in HANDLES.items():
            session.add(Owner(id=team_id, kind="team", created_at=now))
            session.flush()
            session.add(Team(id=team_id, name=handle, created_at=now))
            give_handle(session, team_id, now, handle)
            give_credits(session, team_id, now)
        for one in IDENTITIES:
            managed_by = (LAB if one.role else OTHER) if one.service else None
            email = f"service:{one.user_id}" if one.service else f"{one.name}@example.org"
            session.add(Owner(id=one.user_id, kind="user", created_at=now))
            session.flush()
            user = User(id=one.user_id, email=email, name=one.name, role=one.platform.value, created_at=now)
            user.managed_by = managed_by
            session.add(user)
            session.flush()
            give_handle(session, one.user_id, now)
            for team_id, role in ((LAB, one.role), (OTHER, one.elsewhere)):
                if role is not None:
                    session.add(TeamMember(team_id=team_id, user_id=one.user_id, role=role.value, joined_at=now))

    await pool.db.run(fill)
    await load_directory(pool.engine.context, pool.engine.directory)
    things = await things_of(pool, LAB) if with_things else {}
    return {**things, "team": "my-lab"}


def bearer_of(pool, identity):
    now, signer = pool.clock.now(), pool.engine.token_signer
    if identity.service:  # it cannot sign in: it has a personal token alone
        until, scopes = now + timedelta(days=1), TeamRole.MEMBER.scopes
        text = new_personal_token(random.Random(identity.name).getrandbits)
        live = LiveToken(f"token_{identity.name}", hash_of(text), identity.user_id, Role.USER, scopes, until)
        pool.engine.directory.admit_token(live)
        return {"Authorization": f"Bearer {text}"}
    token = signer.access_token(identity.user_id, f"session_{identity.name}", identity.platform, "access_1", now)
    return {"Authorization": f"Bearer {token}"}


def memberships(session):
    return sorted((row.team_id, row.user_id, row.role) for row in session.query(TeamMember))


@pytest.mark.parametrize("url", ["sqlite_hub", "postgres_hub"])
def test_every_operation_obeys_the_rule_for_every_kind_of_caller(url, request, tmp_path):
    async def story(pool):
        things = await make_world(pool)
        app = pool.client._transport.app
        before = pool.truth(), await pool.db.read(memberships)
        document = app.openapi()["paths"]
        called = 0
        for entry in route_table(app):
            if entry.visible not in ("own", "admin") or entry.method in ("WS", "HEAD") or entry.path in STREAMS:
                continue
            operation = document[entry.path][entry.method.lower()]
            route = f"{entry.method} {entry.path}"
            names = params_of(entry.path)
            unknown = names - IN_WORLD - OF_OTHERS - OF_PROVIDERS
            assert entry.visible == "admin" or not unknown, f"say in this test what {unknown} stands for"
            acts_for = any(one["name"] == "team" and one["in"] == "query" for one in operation.get("parameters", ()))
            about_lab = bool(names & IN_WORLD) or acts_for or route in BY_SPEC
            path = re.sub(r"\{([^}:]*)[^}]*\}", lambda name: things.get(name[1], "1"), entry.path)
            query = {"team": "my-lab"} if acts_for else None
            for identity in (None, *IDENTITIES):
                if identity is not None and identity.platform is Role.ADMIN and names & IN_WORLD - {"team"}:
                    continue  # an admin sees everybody's: tests/hub/test_app.py
                allowed = identity is not None and may(identity, entry.scope, about_lab=about_lab)
                if route in ANYBODY_IN_IT or (allowed and entry.method not in BODILESS):
                    continue
                answer = await pool.client.request(
                    entry.method,
                    f"http://hub.test{path}",
                    headers=bearer_of(pool, identity) if identity is not None else {},
                    params=query,
                    json=BODIES.get(route),
                )
                called += 1
                status = answer.status_code
                where = f"{route} by {identity and identity.name}: {status} {answer.text[:300]}"
                if identity is None:
                    assert status == 401, where
                elif not allowed:
                    assert status in (403, 404), f"{where}\nIf it is the body that is wrong: add one to BODIES."
                    if status == 404 and identity.role is not None:
                        assert names - IN_WORLD or answer.json()["error"]["code"] != "no_such_team", where
                elif not names - IN_WORLD:
                    assert status in (200, 409, 422), where
        assert called > 1000
        assert (pool.truth(), await pool.db.read(memberships)) == before

    play(
        request.getfixturevalue(url),
        story,
        store=LocalStore(tmp_path / "artifacts", BlobSigner(SECRET_KEY, HandClock())),
    )


def test_job_of_a_team_stays_the_teams_whoever_submits_or_repeats_it(sqlite_hub):
    async def story(pool):
        await make_world(pool, with_things=False)
        people = {one.name: one for one in IDENTITIES}

        async def call(name, path, body=None):
            return await pool.client.post(
                f"http://hub.test/api/v1/{path}", headers=bearer_of(pool, people[name]), json=body
            )

        submitted = await call("lab_member", "jobs", {"run": ["true"], "team": "my-lab"})
        assert submitted.status_code == 201, submitted.text
        job_id = submitted.json()["id"]
        assert (await call("lab_admin", f"jobs/{job_id}/cancel")).status_code == 200
        for name, status, code in (("lab_viewer", 403, "role_too_low"), ("operator", 403, "forbidden")):
            refused = await call(name, f"jobs/{job_id}/retry")
            assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
        again = await call("lab_owner", f"jobs/{job_id}/retry")
        rows = [pool.rows(Job, id=each)[0] for each in (job_id, again.json()["id"])]
        assert [(row.owner_id, row.submitted_by) for row in rows] == [
            (LAB, "user_lab_member"), (LAB, "user_lab_owner")
        ]  # fmt: skip
        own = await call("lab_service", "jobs", {"run": ["true"]})  # of its team, without a word
        assert pool.rows(Job, id=own.json()["id"])[0].owner_id == LAB

    play(sqlite_hub, story)
