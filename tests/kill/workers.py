"""Kill the server at random moments while three workers run commands; then see that nothing is left over or doubled.

One rule: each delegated task had one worker and came to one outcome, whenever the server died, and afterwards no
process of a sandbox runs and no folder of a task is there. The last line is `N rounds, 0 violations`.
"""

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
import trio

from dreamwalker.sandboxes.folders import base_folder
from tests.kill.__main__ import settled
from tests.kill.server import Server
from tests.messages_api import Answer, MessagesApi, answer, say, serve_messages_api, use
from tests.sandbox.marked import running

WORKERS = 3
MARK = str(86_400_000 + os.getpid())
"""How long, in seconds, the processes sleep that are left running on purpose: that is how they are known again."""
LIFE_SECONDS = 2.5
ASKS_SECONDS = 10.0
QUIET_SECONDS = 10.0


def rule(request: dict[str, Any]) -> Answer:
    """The scripted model: an agent that has three workers work, and workers that run two commands each."""
    newest = request["messages"][-1]["content"]
    if "You are a worker" in str(request["system"]):
        commands = sum(block["type"] == "tool_use" for message in request["messages"] for block in _blocks(message))
        if commands < 2:
            return answer(use("shell", {"command": f"setsid sleep {MARK} & echo $RANDOM >> file; sleep 0.4; cat file"}))
        return say("Done.")
    asked = [re.search(r"Please do (\d+)", block.get("text", "")) for block in newest if block["type"] == "text"]
    numbers = [found[1] for found in asked if found]
    if newest[0]["type"] == "tool_result" or not numbers:
        return say("I see.")
    return answer(*(use("delegate", {"task": f"Task {numbers[-1]}.{n}"}) for n in range(WORKERS)))


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in message["content"] if isinstance(block, dict)]


async def run(rounds: int, seed: int) -> list[str]:
    """Kill so many times; returns the violations."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        async with serve_messages_api() as api, httpx2.AsyncClient(timeout=10, trust_env=False) as client:
            api.script(rule)
            server = Server(home, api.url)
            server.start()
            try:
                for number in range(rounds):
                    await _round(server, api, client, chance, number)
                found = await _violations(server, client)
            finally:
                server.end()
                left = [str(path) for path in (base_folder(home), *base_folder(home).rglob("*")) if path.exists()]
                shutil.rmtree(base_folder(home), ignore_errors=True)
            return [*found, *(f"left behind: {path}" for path in left[:5])]


async def _round(
    server: Server, api: MessagesApi, client: httpx2.AsyncClient, chance: random.Random, number: int
) -> None:
    """Have three workers set to work, and kill the server within the time they need."""
    asked = len(api.requests)
    no = (await server.request(client, "GET", "/api/status")).json()["commit_no"]
    body = {"request_id": f"r{number}", "text": f"Please do {number}", "seen": no}
    await server.request(client, "POST", "/api/agents/dreamwalker/messages", json=body)
    if chance.random() < 0.9:  # else a slow machine would kill every life before a worker begins
        with trio.move_on_after(ASKS_SECONDS):
            await api.arrived(asked + 1)
    await trio.sleep(chance.uniform(0.0, LIFE_SECONDS))
    server.kill()
    with trio.move_on_after(QUIET_SECONDS):
        while running(MARK):
            await trio.sleep(0.02)  # nothing tells when the processes of others have gone
    if pids := running(MARK):
        raise AssertionError(f"processes outlived the server: {pids}")
    server.start()


async def _violations(server: Server, client: httpx2.AsyncClient) -> list[str]:
    runs = await _all_over(server, client)
    found = [
        f"run {run['id']} {run['state']}: {run['reason']}"
        for run in runs
        if run["state"] in ("open", "waiting") or (run["kind"] == "home" and run["state"] != "done")
    ]
    made = outcomes = 0
    page = (await server.request(client, "GET", "/api/agents/dreamwalker/entries?limit=200")).json()
    assert not page["more"], "more entries than this can count"
    brought = [entry["origin"] for entry in page["entries"] if entry["source"] == "outside"]
    for run in (run for run in runs if run["kind"] == "home"):
        whole = (await server.request(client, "GET", f"/api/runs/{run['id']}")).json()
        for call in whole["calls"]:
            key = f"call:{call['run']}.{call['turn']}.{call['position']}"
            mine = [w for w in whole["workers"] if (w["turn"], w["position"]) == (call["turn"], call["position"])]
            if call["result"].startswith(("Nothing was done", "Not delegated", "Still open: you have not")):
                continue  # the owner was asked about it, or twelve had come of one message
            made, outcomes = made + 1, outcomes + len(mine)
            messages = brought.count(key)
            if len(mine) != 1 or not mine[0]["over"]:
                found.append(f"{key} has {len(mine)} workers, over: {[w['over'] for w in mine]}")
            if messages != (call["state"] == "detached"):
                found.append(f"{key} is {call['state']}, and {messages} messages brought its outcome")
    workers = sum(run["kind"] == "worker" for run in runs)
    if workers > made:
        found.append(f"{workers} workers ran for {made} tasks")
    print(f"{made} tasks, {workers} runs of workers, {len(runs)} runs, {server.lives} lives")
    return found


async def _all_over(server: Server, client: httpx2.AsyncClient) -> list[dict[str, Any]]:
    """Wait until nothing is open; the owner says yes to whatever he is asked. Returns every run."""
    with trio.move_on_after(180):
        while True:
            for question in (await server.request(client, "GET", "/api/questions")).json()["questions"]:
                await server.request(client, "POST", f"/api/questions/{question['id']}/answer", json={"answer": "yes"})
            runs = (await server.request(client, "GET", "/api/runs?limit=200")).json()["runs"]
            status = (await server.request(client, "POST", "/api/wake")).json()
            if all(run["state"] not in ("open", "waiting") for run in runs) and not status["runs"]:
                break
            await trio.sleep(0.2)
    return await settled(server, client)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make workers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
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
