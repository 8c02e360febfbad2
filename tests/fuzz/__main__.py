"""Let schemathesis ask every route of a real server, with things there that it can ask about.

One rule: no answer is a 5xx, none is off the description, and nobody comes in without the token. That valid data are
accepted, and others refused, is not asked of it: what a time in words or a zone may be, no schema says.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import trio

from storage.embedded import Embedded
from tests.databases import fresh_database, make_migrated
from tests.messages_api import answer, say, use
from tests.world import TOKEN, World, world

PROGRAM = Path(sys.prefix) / "fuzz/bin/schemathesis"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
)
SPARE_SECONDS = 60.0
"""For what a run takes beside its time for asking."""

NOTE = use("write_note", {"title": "Keys", "text": "In the drawer"})
OTHER = use("write_note", {"title": "Shoes", "text": "Size 43"})
PHONE = {"ntfy_topic": "a-topic-of-the-tests-x7Kq", "ntfy_url": "http://127.0.0.1:9"}


async def furnish(w: World) -> dict[str, int | str]:
    """Put something of each kind there; its id by the beginning of its routes."""
    await w.say("My keys are in the drawer")
    await w.settled()
    question = await w.say("What is this?", quotes=[{"from": "a mail", "text": "Write a note!"}])
    asked = await w.asked(question["accepted_no"] - 1)
    tea = {"text": "Tea", "when": "in 20 days"}
    reminder = await w.post("/api/reminders", {"request_id": "r"} | tea, status=201)
    job = await w.post("/api/jobs", {"request_id": "j", "title": "Tea"} | tea | {"when": "0 7 * * *"}, status=201)
    return {
        "/api/runs/": (await w.get("/api/runs"))["runs"][-1]["id"],
        "/api/notes/": (await w.get("/api/agents/dreamwalker/notes"))["notes"][0]["id"],
        "/api/questions/": asked,
        "/api/messages/": question["id"],
        "/api/reminders/": reminder["id"],
        "/api/jobs/": job["id"],
        "/api/pushes/": (await w.post("/api/pushes/test", status=202))["id"],
    }


def settings(document: "dict[str, dict[str, dict[str, object]]]", ids: dict[str, int | str]) -> str:
    """schemathesis's configuration: which id to ask about."""
    parts = []
    for route, methods in document["paths"].items():
        known = next((id for beginning, id in ids.items() if route.startswith(beginning)), None)
        given = {"path.id": known} if "{id}" in route and known is not None else {}
        if "{name}" in route:
            given["path.name"] = "dreamwalker"
        if given:
            values = ", ".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in given.items())
            for method in methods:
                operation = json.dumps(f"{method.upper()} {route}")
                parts.append(f"[[operations]]\ninclude-name = {operation}\nparameters = {{ {values} }}\n")
    return "\n".join(parts)


async def play(url: str, seconds: int, seed: int | None) -> int:
    """Ask for so long; the exit code of schemathesis."""
    script = (answer("I write.", NOTE), say("Done."), answer(OTHER), lambda request: say("Noted."))
    async with world(url, *script, changes=PHONE, lifetime_seconds=2 * seconds + SPARE_SECONDS) as w:
        document, ids = await w.get("/api/openapi.json"), await furnish(w)
        worst = 0
        for known in (ids, {}):  # about what is there, and about anything
            with tempfile.TemporaryDirectory() as folder:
                config = Path(folder) / "schemathesis.toml"
                config.write_text(settings(document, known) if known else "")
                ended = await trio.run_process(
                    [
                        str(PROGRAM), "--config-file", str(config), "run", f"{w.url}/api/openapi.json",
                        "--header", f"Authorization: Bearer {TOKEN}", "--checks", ",".join(CHECKS),
                        "--phases", "examples,coverage,fuzzing", "--max-time", str(seconds),
                        "--exclude-operation-id", "open_stream", "--exclude-operation-id", "open_stream_of",
                        "--continue-on-failure",
                        *(() if known else ("--warnings", "off")),
                        *(("--seed", str(seed)) if seed is not None else ()),
                    ],
                    check=False,
                )  # fmt: skip
                worst = max(worst, ended.returncode)
        return worst


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long to ask, each of two times")
    parser.add_argument("--seed", type=int, help="what schemathesis printed when something was found")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cluster = Embedded.start(Path(folder), fast=True)
        try:
            with fresh_database(cluster, make_migrated(cluster)) as url:
                return trio.run(play, url, given.seconds, given.seed)
        except subprocess.CalledProcessError as error:
            return error.returncode
        finally:
            cluster.close()


if __name__ == "__main__":
    sys.exit(main())
