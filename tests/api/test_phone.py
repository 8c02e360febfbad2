"""Pushes, buttons and waking over HTTP, with a phone that a scripted ntfy shows things on."""

import httpx2
import pytest
import trio

from tests.ntfy import Status
from tests.phoned import PUBLIC, WAKE_TOKEN, Phone, phone
from tests.proxy import Await, Door, Proxy, open_proxy
from tests.world import PATIENCE_SECONDS, Json

MINUTE = 60


# -- pushes


async def test_a_push_is_shown_with_its_state_in_words(database_url: str) -> None:
    async with phone(database_url) as p:
        p.ntfy.script(Status(500), Status(503), Status(400))
        await p.remind()
        p.clock.move(20 * MINUTE)
        row = await p.until("retrying")
        assert row["told"] == "retrying 1/5: The ntfy server failed (500)." and row["next_at"] == "2026-11-29T12:20:10Z"
        p.clock.move(10)
        await p.ntfy.came_in(2)
        await p.clock.sleepers(1)
        p.clock.move(40)
        row = await p.until("failed")
        assert row["told"] == "failed: The ntfy server does not take it as it is (400)." and row["tries"] == 3
        assert await p.w.get(f"/api/pushes/{row['id']}") == row
        await p.w.get("/api/pushes/slot:1:never", status=404)


async def test_a_test_shows_whether_the_phone_and_its_buttons_work(database_url: str) -> None:
    async with phone(database_url) as p:
        made = await p.w.post("/api/pushes/test", status=202)
        await p.until("sent")
        assert (await p.ntfy.shown(1)).buttons == ["Done", "Open"]
        assert (await p.ntfy.press("Done")).json() == {"said": "Done."}
        row = await p.w.get(f"/api/pushes/{made['id']}")
        assert (row["state"], row["told"], row["answer"]) == ("sent", "sent", "done")


async def test_without_a_phone_a_test_says_what_is_missing_and_a_reminder_is_quiet(database_url: str) -> None:
    async with phone(database_url, changes={"ntfy_topic": None}) as p:
        refused = await p.w.post("/api/pushes/test", status=409)
        assert refused["error"]["code"] == "no_phone" and "doctor" in refused["error"]["message"]
        assert (await p.w.get("/api/status"))["pushes"] == "no phone"
        await p.remind()
        p.clock.move(20 * MINUTE)
        assert (await p.until("off"))["told"].startswith("not sent: No phone is set up")


async def test_pushes_can_be_turned_off_and_the_snooze_be_chosen(database_url: str) -> None:
    async with phone(database_url) as p:
        settings = (await p.w.client.patch("/api/settings", json={"pushes": False, "snooze_minutes": 45})).json()
        assert settings["pushes"] is False and settings["snooze_minutes"] == 45
        assert (await p.w.get("/api/status"))["pushes"] == "off"
        await p.w.post("/api/pushes/test", status=409)
        for wrong in ({"pushes": 1}, {"snooze_minutes": 0}, {"snooze_minutes": 1441}, {"snooze_minutes": 1.5}):
            assert (await p.w.client.patch("/api/settings", json=wrong)).status_code == 422
        await p.w.client.patch("/api/settings", json={"pushes": True})
        await p.remind()
        p.clock.move(20 * MINUTE)
        assert (await p.ntfy.shown(1)).buttons == ["Done", "Snooze 45 min", "Open"]


async def test_more_than_a_page_of_pushes_is_read_page_by_page(database_url: str) -> None:
    async with phone(database_url, page_entries=2) as p:
        for n in range(5):
            await p.w.post("/api/pushes/test", status=202)
            await p.ntfy.came_in(n + 1)
        seen: list[str] = []
        query: Json = {}
        while True:
            page = await p.w.get("/api/pushes", **query)
            seen += [push["id"] for push in page["pushes"]]
            if not page["more"]:
                break
            query = {"before": page["pushes"][-1]["made_at"], "before_id": page["pushes"][-1]["id"]}
        assert len(seen) == len(set(seen)) == 5


# -- buttons


async def test_a_press_needs_no_token_but_its_own_and_only_a_post_does_anything(database_url: str) -> None:
    async with phone(database_url) as p:
        await p.remind()
        p.clock.move(20 * MINUTE)
        shown = await p.ntfy.shown(1)
        assert shown.value is not None
        path = shown.value["actions"][0]["url"].removeprefix(PUBLIC)
        async with httpx2.AsyncClient(base_url=p.w.url) as stranger:
            for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
                assert (await stranger.request(method, path)).status_code == 405
            assert (await p.pushes())[0]["answer"] is None
            for _ in range(2):
                answer = await stranger.post(path)
                assert answer.status_code == 200 and answer.headers["cache-control"] == "no-store"
            assert (
                await stranger.get("/api/pushes", headers={"Authorization": f"Bearer {path[-43:]}"})
            ).status_code == 401
        assert (await p.pushes())[0]["answer"] == "done"


async def test_a_press_of_what_was_decided_otherwise_is_told_so(database_url: str) -> None:
    async with phone(database_url) as p:
        await p.remind()
        p.clock.move(20 * MINUTE)
        shown = await p.ntfy.shown(1)
        assert (await p.ntfy.press("Done", shown)).status_code == 200 and p.ntfy.screen == {}
        refused = await p.ntfy.press("Snooze 10 min", shown)
        assert refused.status_code == 409 and "done already" in refused.json()["error"]["message"]


@pytest.mark.parametrize("token", ["x", "x" * 43, "x" * 44, "%00" * 43, "..", "a%2Fb", "ä" * 43])
async def test_what_is_no_button_is_not_found_and_does_not_open_the_storage_if_it_can_not_be_one(
    database_url: str, token: str
) -> None:
    async with phone(database_url) as p, httpx2.AsyncClient(base_url=p.w.url) as stranger:
        answer = await stranger.post(f"/api/buttons/{token}")
        assert answer.status_code in (401, 404), answer.text
        assert p.w.system.state == ("awake" if token == "x" * 43 else "asleep")


async def test_a_button_does_not_stand_in_the_log_when_it_fails(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with phone(database_url) as p:
        await p.w.get("/api/status")
        assert p.w.system.house is not None
        object.__setattr__(p.w.system.house, "press", None)
        answer = await p.w.client.post(f"/api/buttons/{'x' * 43}")
        assert answer.status_code == 500
        assert "x" * 43 not in caplog.text and "x" * 43 not in repr([vars(record) for record in caplog.records])


# -- waking


async def woken(p: Phone, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=p.w.url, timeout=PATIENCE_SECONDS) as clock:
        return await clock.post("/api/wake", headers=headers or {"Authorization": f"Bearer {WAKE_TOKEN}"})


async def test_a_wake_opens_the_storage_and_says_what_it_found(database_url: str) -> None:
    async with phone(database_url) as p:
        assert p.w.system.state == "asleep"
        answer = await woken(p)
        assert answer.json() == {"state": "awake", "due": 0, "unsent": 0, "runs": 0, "waiting": 0, "next_at": None}
        await p.remind()
        assert (await woken(p)).json()["next_at"] == "2026-11-29T12:20:00Z"


async def test_the_wake_token_wakes_and_opens_nothing_else(database_url: str) -> None:
    async with phone(database_url) as p:
        for method in ("GET", "POST"):
            assert (await p.w.client.request(method, "/api/wake")).status_code == 200
            wakes = {"Authorization": f"Bearer {WAKE_TOKEN}"}
            assert (await p.w.client.request(method, "/api/wake", headers=wakes)).status_code == 200
        assert (await p.w.client.get("/api/status", headers=wakes)).status_code == 401
        assert (await p.w.client.get("/api/wake/", headers=wakes)).status_code == 401
        for wrong in ("x", WAKE_TOKEN[:-1], WAKE_TOKEN + "x"):
            assert (await woken(p, Authorization=f"Bearer {wrong}")).status_code == 401


async def test_without_a_wake_token_only_the_token_wakes(database_url: str) -> None:
    async with phone(database_url, changes={"wake_token": None}) as p:
        for wrong in ("Bearer", "Bearer None", WAKE_TOKEN):
            assert (await woken(p, Authorization=wrong)).status_code == 401
        assert (await p.w.client.get("/api/wake")).status_code == 200


async def test_a_reminder_that_was_due_while_it_slept_comes_up_by_a_wake(database_url: str) -> None:
    async with phone(database_url) as first:
        await first.remind()
    async with phone(database_url) as p:
        p.clock.move(3600)
        (await woken(p)).raise_for_status()
        shown = await p.ntfy.shown(1)
        assert shown.value is not None and "40 min late" in shown.value["message"]


async def test_twenty_wakes_at_once_are_answered_and_a_reminder_comes_up_once(database_url: str) -> None:
    async with phone(database_url) as first:
        await first.remind()
    async with phone(database_url) as p:
        p.clock.move(3600)
        answers: list[int] = []

        async def wake() -> None:
            answers.append((await woken(p)).status_code)

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(wake)
        assert answers == [200] * 20
        await p.ntfy.shown(1)
        await p.until("sent")
        (await woken(p)).raise_for_status()
        assert len(p.ntfy.came) == 1 and len(await p.pushes()) == 1


async def test_a_wake_costs_at_most_two_round_trips_when_nothing_is_due(database_url: str) -> None:
    async with open_proxy(database_url) as proxy:
        async with phone(proxy.url, renew_seconds=3600.0) as p:
            for n in range(30):
                await p.remind(f"in {n + 1}h", f"text {n}")
            await _still(p, proxy)
            costs = []
            for _ in range(4):
                before = proxy.round_trips
                (await woken(p)).raise_for_status()
                await _still(p, proxy)
                costs.append(proxy.round_trips - before)
            assert max(costs) <= 2 and costs[1:] == [1, 1, 1], costs


async def _still(p: Phone, proxy: Proxy) -> None:
    """Wait until the actors have come to rest."""
    while True:
        before = proxy.round_trips
        with trio.move_on_after(0.3):
            await trio.sleep_forever()
        if proxy.round_trips == before:
            return


async def test_a_wake_is_answered_in_time_and_goes_on_when_the_database_is_slow(database_url: str) -> None:
    async with open_proxy(database_url) as proxy:
        slow = trio.Event()
        async with phone(proxy.url, wake_seconds=0.3) as p:
            proxy.on_request = lambda request: Await(slow)
            answer = await woken(p)
            assert answer.status_code == 200 and answer.json()["state"] == "opening"
            slow.set()
            with trio.fail_after(PATIENCE_SECONDS):
                while p.w.system.state != "awake":
                    await trio.lowlevel.checkpoint()
            with trio.fail_after(PATIENCE_SECONDS):
                while (await woken(p)).json()["state"] != "awake":
                    pass


async def test_a_wake_that_finds_no_database_says_so_and_the_next_tries_again(database_url: str) -> None:
    async with open_proxy(database_url) as proxy:
        proxy.door = Door.SHUT
        async with phone(proxy.url, reach_seconds=0.5) as p:
            refused = await woken(p)
            assert refused.status_code == 503 and int(refused.headers["retry-after"]) >= 1
            proxy.door = Door.OPEN
            assert (await woken(p)).status_code == 200


async def test_the_pushes_of_one_reminder_can_be_picked_out(database_url: str) -> None:
    async with phone(database_url) as p:
        first, other = await p.remind(), await p.remind("in 20m", "Coffee")
        p.clock.move(20 * MINUTE)
        await p.ntfy.shown(2)
        for made in (first, other):
            (push,) = (await p.w.get("/api/pushes", thing=made["id"]))["pushes"]
            assert push["thing"] == made["id"]
        assert (await p.w.get("/api/pushes", thing=999_999))["pushes"] == []
