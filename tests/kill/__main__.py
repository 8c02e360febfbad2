"""Kill the server at random moments while a conversation with notes goes on; then see that nothing is lost or doubled.

One rule: whatever was accepted is answered exactly once and in order, whenever the server died. The last line is
`N rounds, 0 violations`; with a violation the exit code is 1 and the seed is named.
"""

import argparse
import random
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
import trio

from tests.kill.server import Server
from tests.messages_api import Answer, MessagesApi, answer, say, serve_messages_api, use

MESSAGES_PER_ROUND = 2

ASKS_SECONDS = 10.0
"""How long a round waits for the model to be asked; it may be that nothing is left to ask."""


def rule(request: dict[str, Any]) -> Answer:
    """The scripted model: writes one note for the newest message, then says that it is done."""
    newest = request["messages"][-1]["content"]
    if newest[0]["type"] == "tool_result":
        title = request["messages"][-2]["content"][-1]["input"]["title"]
        return say("Done ", f"{title}.")
    number = re.findall(r"note (\d+)", newest[-1]["text"])[-1]
    return answer("I write.", use("write_note", {"title": f"n{number}", "text": f"the number {number}"}))


async def run(rounds: int, seed: int) -> list[str]:
    """Kill so many times; returns the violations."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        async with serve_messages_api() as api, httpx2.AsyncClient(timeout=10, trust_env=False) as client:
            api.script(rule)
            server = Server(Path(folder), api.url)
            server.start()
            try:
                await _conversation(server, api, client, chance, rounds)
                return await _violations(server, client, rounds * MESSAGES_PER_ROUND)
            finally:
                server.end()


async def _conversation(
    server: Server, api: MessagesApi, client: httpx2.AsyncClient, chance: random.Random, rounds: int
) -> None:
    number = 0
    await server.request(client, "GET", "/api/status")
    for _ in range(rounds):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_die, server, api, chance)
            for _ in range(MESSAGES_PER_ROUND):
                number += 1
                body = {"request_id": f"r{number}", "text": f"Please write note {number}."}
                path = "/api/agents/dreamwalker/messages"
                accepted = await server.request(client, "POST", path, json=body)
                assert accepted.status_code == 202, accepted.text
                await trio.sleep(chance.uniform(0.0, 0.15))


async def _die(server: Server, api: MessagesApi, chance: random.Random) -> None:
    """Kill it a moment after the round began, or after it next asked the model.

    If it were always the former, a slow machine would kill every life before it had got anywhere.
    """
    if chance.random() < 0.5:
        with trio.move_on_after(ASKS_SECONDS):
            await api.arrived(len(api.requests) + 1)
        await trio.sleep(chance.uniform(0.0, 0.1))
    else:
        await trio.sleep(chance.uniform(0.0, 0.4))
    server.kill()
    server.start()


async def _violations(server: Server, client: httpx2.AsyncClient, messages: int) -> list[str]:
    runs = await settled(server, client)
    found = [f"run {run['id']} {run['state']}: {run['reason']}" for run in runs if run["state"] != "done"]
    entries = await entries_of(server, client)
    asked = [
        int(n) for entry in entries if entry["source"] == "owner" for n in re.findall(r"note (\d+)", entry["text"])
    ]
    if asked != list(range(1, messages + 1)):
        found.append(f"messages placed otherwise than accepted: {asked}")
    unanswered = [entry for entry in entries if entry["kind"] == "reply" and not entry["text"]]
    if unanswered:
        found.append(f"{len(unanswered)} empty replies")
    for run in runs:
        replies = [entry for entry in entries if entry["run"] == run["id"] and entry["kind"] == "reply"]
        if run["state"] == "done" and not replies[-1]["text"].startswith("Done"):
            found.append(f"run {run['id']} ends with {replies[-1]['text']!r}")
    notes = (await server.request(client, "GET", "/api/agents/dreamwalker/notes")).json()["notes"]
    written = {note["title"]: note["version"] for note in notes}
    doubled = {title: version for title, version in written.items() if version != 1}
    if doubled:
        found.append(f"notes written more than once: {doubled}")
    return found


async def settled(server: Server, client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    """Wait until no run is open and nothing waits to be placed; returns every run."""
    deadline = time.monotonic() + 60
    while True:
        runs: list[dict[str, Any]] = []
        before = 2**53
        while True:
            page = (await server.request(client, "GET", f"/api/runs?before={before}")).json()
            runs.extend(page["runs"])
            if not page["more"]:
                break
            before = page["runs"][-1]["id"]
        if all(run["state"] not in ("open", "waiting") for run in runs):
            return runs
        if time.monotonic() > deadline:
            return runs
        await trio.sleep(0.1)


async def entries_of(server: Server, client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    """Every entry of the home conversation, the oldest first."""
    entries: list[dict[str, Any]] = []
    before = 2**53
    while True:
        path = f"/api/agents/dreamwalker/entries?before={before}"
        page = (await server.request(client, "GET", path)).json()
        entries = page["entries"] + entries
        if not page["more"]:
            return entries
        before = page["entries"][0]["seq"]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make kill", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    began = time.monotonic()
    print(f"seed {seed}", flush=True)
    found = trio.run(run, options.rounds, seed)
    for violation in found:
        print(f"  {violation}")
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{options.rounds} rounds, {len(found)} violations" + (f" (seed {seed})" if found else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
