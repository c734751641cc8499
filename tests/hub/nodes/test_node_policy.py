"""The policy of a node through the hub: shown, asked for, and answered by the agent when it is there."""

from support.engine import ADMIN, BOB, play
from support.scripted_agent import add_agent

from computepool.protocol.owner_requests import OwnerAnswer, OwnerRequest, PolicyReport, PolicySetting

HOURS = PolicySetting(key="start.hours", value="always", default="always", meaning="When.", editable=True)
PROCESS = PolicySetting(key="own.process", value=False, default=False, meaning="Whether.", editable=True)
REPORT = PolicyReport(settings=(HOURS, PROCESS), remote_edits=True)


def test_owner_asks_an_agent_that_is_away_and_it_answers_when_it_is_back(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        path = f"nodes/{agent.node_id}"
        nothing = (await pool.call("GET", f"{path}/policy")).json()
        assert (nothing["settings"], nothing["reported_at"]) == ([], None)
        untold = (await pool.call("GET", path)).json()["actions"]
        answer = await pool.call("PATCH", f"{path}/policy", {"hours": "always"})
        assert (answer.status_code, answer.json()["error"]["message"]) == (409, untold["policy"]["reason"])

        await agent.send(REPORT)
        await pool.settle()
        policy = (await pool.call("GET", f"{path}/policy")).json()
        hours, process = policy["settings"]
        assert (hours["value"], hours["edit"]["allowed"]) == ("always", True)
        # However an agent calls it: here it cannot even be asked for.
        assert "machine itself" in process["edit"]["reason"]
        assert (await pool.call("PATCH", f"{path}/policy", {"process": True})).status_code == 422
        assert (await pool.call("PATCH", f"{path}/policy", {})).status_code == 422
        for method, what, body in (
            ("PATCH", "policy", {"hours": "always"}), ("POST", "pause", None), ("POST", "unpause", None)
        ):  # fmt: skip
            assert (await pool.call(method, f"{path}/{what}", body, user=BOB)).status_code == 404
            # An admin sees the policy, and it stays the owner's.
            assert (await pool.call(method, f"{path}/{what}", body, user=ADMIN)).status_code == 403
        allowed = (await pool.call("GET", path, user=ADMIN)).json()["actions"]
        assert not any(allowed[name]["allowed"] for name in ("policy", "pause", "unpause"))

        await agent.disconnect()
        await pool.call("PATCH", f"{path}/policy", {"hours": "22:00-07:00"})
        asked = (await pool.call("PATCH", f"{path}/policy", {"hours": "23:00-07:00", "after_idle": "5m"})).json()
        assert asked["policy_request"]["state"] == "pending"
        await pool.restart()
        await agent.connect()
        assert agent.unread(OwnerRequest) == []
        await agent.send(REPORT)
        request = await agent.expect(OwnerRequest)
        assert request.changes == {"start.hours": "23:00-07:00", "start.after_idle": "5m"}
        await agent.send(
            REPORT.model_copy(update={"answers": (OwnerAnswer(kind="policy", number=request.number - 1),)})
        )
        assert (await agent.expect(OwnerRequest)).number == request.number  # that was another one
        told = HOURS.model_copy(update={"value": "23:00-07:00"})
        done = OwnerAnswer(kind="policy", number=request.number)
        await agent.send(PolicyReport(settings=(told,), remote_edits=True, answers=(done,)))
        await pool.settle()
        policy = (await pool.call("GET", f"{path}/policy", user=ADMIN)).json()
        assert (policy["policy_request"]["state"], policy["settings"][0]["value"]) == ("applied", "23:00-07:00")
        assert agent.unread(OwnerRequest) == []

    play(hub_url, story)


def test_pause_is_told_at_once_and_the_agent_has_the_last_word(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        path = f"nodes/{agent.node_id}"

        async def actions():
            found = (await pool.call("GET", path)).json()["actions"]
            return [found[name]["allowed"] for name in ("pause", "unpause", "policy")]

        await agent.send(REPORT)
        await pool.settle()
        assert await actions() == [True, False, True]
        assert (await pool.call("POST", f"{path}/unpause")).json()["pause_request"] is None  # there is nothing to end
        await pool.call("POST", f"{path}/pause", {"for_seconds": 60})
        request = await agent.expect(OwnerRequest)
        assert (request.kind, request.pause, request.for_seconds) == ("pause", True, 60)
        no = OwnerAnswer(kind="pause", number=request.number, refused="I am needed")
        await agent.send(REPORT.model_copy(update={"answers": (no,)}))
        await pool.settle()
        shown = (await pool.call("GET", f"{path}/policy")).json()["pause_request"]
        assert (shown["state"], shown["reason"]) == ("refused", "I am needed")

        await pool.call("POST", f"{path}/pause")
        request = await agent.expect(OwnerRequest)
        yes = OwnerAnswer(kind="pause", number=request.number)
        await agent.send(REPORT.model_copy(update={"answers": (yes,), "paused": "hub"}))
        await pool.settle()
        assert await actions() == [False, True, True]
        await agent.send(REPORT.model_copy(update={"paused": "machine"}))
        await pool.settle()
        assert await actions() == [False, False, True]
        assert (await pool.call("POST", f"{path}/unpause")).status_code == 409
        await agent.send(REPORT.model_copy(update={"remote_edits": False}))
        await pool.settle()
        assert await actions() == [False, False, False]
        assert (await pool.call("PATCH", f"{path}/policy", {"hours": "always"})).status_code == 409

    play(sqlite_hub, story)
