"""Eight secrets of the server, planted in every spelling wherever a text can come from: none of them comes out.

What the owner himself typed is his, and stands as he typed it in the message that he sent; nothing else may hold one.
"""

import io
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import attrs
import pytest
import trio

from dreamwalker.sandboxes.account import Account
from storage.operation import Read, Reader
from tests.api.test_agents import GARDENER
from tests.hand_clock import HandClock
from tests.log_lines import logged
from tests.messages_api import answer, fail, text, use
from tests.messages_api.server import Request
from tests.ntfy import Ntfy, serve_ntfy
from tests.tools import spell
from tests.world import TOKEN, World, world
from tools.contract import Arguments, Result, Tool, ToolContext, ToolFailed
from tools.outside import Source, outside
from tools.redact import Redactor

SECRETS = {
    "API TOKEN": TOKEN,
    "WAKE TOKEN": "wk_\"quo/ted\\and <odd>&more='yes'_0123456789",
    "MODEL KEY": "sk-ant-api03-Zz9_xQ7mZ4vB8nL1cR6tY3-AA",
    "DATABASE PASSWORD": "p%40ss/w0rd+x==",
    "NTFY TOPIC": "a-topic-of-the-tests-x7Kq",
    "NTFY TOKEN": "tk_a_token_of_the_tests_91Zx",
    "NETLIFY TOKEN": "nfp_A7xTq92LmZ4vB8nK1cR6tY3wE5",
    "SANDBOX TOKEN": "vcp_0kQ3.7dT-Äß9 mit Lücke",
}
FINDS = Redactor(SECRETS)


def spellings(name: str) -> list[str]:
    """One secret in every code and every escape."""
    value, chance = SECRETS[name], random.Random(name)
    coded = [spell.coded(value, form, b"ab"[:n], b"yz"[:n]) for n, form in enumerate(spell.FORMS)]
    escaped = [escape(value) for escape in spell.WHOLE_ESCAPES.values()]
    mixed = [spell.spread(spell.escaped(value, "mixed", 0.5, chance), 0.2, chance)]
    return list(dict.fromkeys([*coded, *escaped, *mixed]))


EVERYTHING = {name: spellings(name) for name in SECRETS}
ALL = "\n~\n".join(spelled for several in EVERYTHING.values() for spelled in several)


@pytest.mark.parametrize("name", SECRETS)
def test_no_chunk_boundary_lets_a_spelling_through(name: str) -> None:
    for spelled in EVERYTHING[name]:
        whole = f"so ({spelled})."
        for at in range(1, len(whole)):
            stream = FINDS.stream()
            said = stream.feed(whole[:at]) + stream.feed(whole[at:]) + stream.flush()
            assert spelled not in said and f"[redacted {name}]" in said, (spelled, at)


def leaks(said: str) -> list[str]:
    """What of the planted is in a text, by our own list of spellings and by the redactor's own reading."""
    plain = [name for name, several in EVERYTHING.items() for spelled in several if spelled in said]
    cleaned = FINDS.text(said)
    if cleaned == said:
        return plain
    at = next(n for n, (a, b) in enumerate(zip(said, cleaned)) if a != b)
    return [*plain, f"the redactor finds {said[at : at + 80]!r} after {said[max(at - 80, 0) : at]!r}"]


@attrs.frozen
class _Dump(Read[dict[str, str]]):
    """Every table as text, but for what the owner typed himself."""

    async def read(self, reader: Reader) -> dict[str, str]:
        names = await reader.all(
            "SELECT relname::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 2200"
        )
        tables: dict[str, str] = {}
        for name in [row["name"] for row in names]:
            some = " WHERE kind <> 'owner'" if name == "messages" else ""
            columns = await reader.all(
                "SELECT attname::text AS name FROM pg_attribute WHERE attrelid = ?::text::regclass AND attnum > 0 "
                "AND NOT attisdropped",
                name,
            )
            parts = " || E'\\n' || ".join(f"COALESCE({row['name']}::text, '')" for row in columns)
            rows = await reader.all(f"SELECT {parts} AS said FROM {name}{some}")
            tables[name] = "\n".join(row["said"] for row in rows)
        return tables


class _Nothing(Arguments, frozen=True):
    """No arguments."""


async def _parts(context: ToolContext, arguments: _Nothing) -> Result:
    shown = outside(ALL, Source.WEB, redactor=context.redactor, limit_characters=100_000, origin=ALL[:200])
    return Result(parts=(ALL, shown))


async def _fails(context: ToolContext, arguments: _Nothing) -> Result:
    raise ToolFailed(ALL)


async def _breaks(context: ToolContext, arguments: _Nothing) -> Result:
    logging.getLogger("dreamwalker.tools").warning("push.failed", {"push": ALL, "why": ALL, "text": ALL})
    logging.getLogger("a.library").warning("about to break: %s", ALL)
    raise RuntimeError(ALL)


PROBES = tuple(
    Tool(name=name, description="A probe.", arguments=_Nothing, run=run, exit=False)
    for name, run in (("tell", _parts), ("fail", _fails), ("break", _breaks))
)


@asynccontextmanager
async def planted(database_url: str, clock: HandClock) -> AsyncIterator[tuple[World, Ntfy]]:
    """A world whose eight secrets are the planted ones."""
    async with serve_ntfy() as ntfy:
        assert (ntfy.topic, ntfy.token) == (SECRETS["NTFY TOPIC"], SECRETS["NTFY TOKEN"])
        changes = {
            "ntfy_url": ntfy.url,
            "ntfy_topic": ntfy.topic,
            "ntfy_token": ntfy.token,
            "wake_token": SECRETS["WAKE TOKEN"],
            "api_key": SECRETS["MODEL KEY"],
            "database_url": database_url.replace(
                ":///", f"://postgres:{quote(SECRETS['DATABASE PASSWORD'], safe='')}@/"
            ),
            "netlify_token": SECRETS["NETLIFY TOKEN"],
            "netlify_team": "moon-garden",
            "vercel": Account(token=SECRETS["SANDBOX TOKEN"], team="t", project="p"),
        }
        async with world(database_url, clock=clock, changes=changes, more_tools=PROBES) as w:
            assert w.system.config.secrets() == SECRETS
            yield w, ntfy


SPOKEN = use("write_note", {"title": ALL[:150], "text": ALL})
TASK = use("delegate", {"task": ALL})
MESSAGE = use("message_agent", {"agent": "gardener", "text": ALL})
REMINDER = use("set_reminder", {"text": ALL[:3_900], "when": "in 20m"})
JOB = use("make_job", {"title": ALL[:90], "text": ALL, "when": "every day 9:00"})
QUESTION = use("ask_owner", {"question": ALL[:1_900], "options": [ALL[:180], "no"]})
LOOKS = (
    use("search_notes", {"query": ALL[:200]}),
    use("read_note", {"title": ALL[:150]}),
    use("search_history", {"query": ALL[:200]}),
    use(ALL[:60], {"x": ALL}),
    use("write_note", '{"title": "' + ALL[:100].replace('"', "'").replace("\\", "/")),
)
ACTS = (SPOKEN, TASK, MESSAGE, REMINDER, JOB)
PROBE_USES = tuple(use(tool.name, {}) for tool in PROBES)


def _speak(request: Request) -> Any:
    """Everybody says all of it, in small pieces; the main agent does all that there is with it first."""
    assert request.json is not None
    system, asked = str(request.json["system"]), request.json["messages"]
    turns = sum(message["role"] == "assistant" for message in asked)
    if "You are a worker" in system or "another agent has written to you" in system:
        return answer(text(ALL, chunk=7)) if turns else answer(*PROBE_USES[:1])
    match turns:
        case 0:
            return answer(text(ALL, chunk=5), *ACTS)
        case 1:
            return answer(*LOOKS, *PROBE_USES)
        case 2:
            return answer(QUESTION)
    return answer(text(ALL, chunk=3))


async def test_nothing_that_is_stored_streamed_sent_or_logged_holds_a_secret(database_url: str) -> None:
    clock = HandClock()
    with logged(FINDS.text, logging.DEBUG) as lines:
        async with planted(database_url, clock) as (w, ntfy):
            w.api.answer_with(_speak)
            await w.post("/api/agents", GARDENER | {"job": ALL[:280], "instructions": ALL}, status=201)
            await w.say("Do what you can", quotes=[])
            seen: list[str] = []
            written: dict[int, str] = {}
            async with w.stream(0) as events, trio.open_nursery() as nursery:

                async def follow() -> None:
                    while (event := await events.next()) is not None:
                        if event.name == "text":
                            written[event.data["seq"]] = written.get(event.data["seq"], "") + event.data["text"]
                            continue
                        seen.append(str(event.data) + "\n")
                        for question in event.data.get("questions", ()):
                            if question["state"] == "open":
                                await w.answer(question["id"], ALL[:1_500])
                        if any(run["closed_at"] for run in event.data.get("runs", ())):
                            nursery.cancel_scope.cancel()

                await follow()
            (run,) = (await w.get("/api/runs", agent="dreamwalker"))["runs"][-1:]
            calls = (await w.get(f"/api/runs/{run['id']}"))["calls"]
            assert run["state"] == "done", lines.getvalue()
            assert len(calls) == len(ACTS) + len(LOOKS) + len(PROBES) + 1
            assert sum("[redacted" in call["arguments"] for call in calls) >= 9
            clock.move(21 * 60)
            while "[redacted" not in str([(notice.value or {}).get("message") for notice in ntfy.came]):
                await ntfy.came_in(len(ntfy.came) + 1)
            assert any("[redacted" in said for said in written.values()), "text was seen as it was written"
            await _look_everywhere(w, ntfy, [*seen, *written.values()], lines)


async def test_what_a_model_says_when_it_fails_is_told_without_secrets(database_url: str) -> None:
    clock = HandClock()
    with logged(FINDS.text, logging.DEBUG) as lines:
        async with planted(database_url, clock) as (w, ntfy):
            w.api.answer_with(lambda request: fail(400, message=ALL[:1_500]))
            await w.say("Hello")
            events = await w.settled()
            (run,) = (await w.get("/api/runs"))["runs"]
            assert run["state"] == "failed" and "[redacted" in run["reason"]
            refused = await w.client.get(f"/api/agents/{quote(SECRETS['WAKE TOKEN'], safe='')}")
            assert refused.status_code == 404
            await _look_everywhere(w, ntfy, [str(event.data) for event in events] + [refused.text], lines)


async def _look_everywhere(w: World, ntfy: Ntfy, seen: list[str], lines: io.StringIO) -> None:
    house = w.system.house
    assert house is not None and seen
    for table, said in (await house.store.ask(_Dump())).items():
        assert leaks(said) == [], table
    assert leaks("".join(seen)) == [], "the live stream"
    assert leaks(lines.getvalue()) == [], "the log"
    for path in ("agents", "runs", "questions", "reminders", "jobs", "pushes", "agents/dreamwalker/entries"):
        assert leaks((await w.client.get(f"/api/{path}")).text) == [], path
    for request in w.api.requests:
        assert leaks(str(request.json)) == [], "what a model is asked"
    for notice in ntfy.came:
        assert leaks(str({k: v for k, v in (notice.value or {}).items() if k != "topic"})) == [], "a push"
