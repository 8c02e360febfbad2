"""The puppet itself: answers requests of the Messages API by obeying what stands in them.

One rule: it is the worst model there could be, and no worse than a request lets it be: it knows only what it is shown.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import attrs

from tests.messages_api import Search, answer, say, use
from tests.messages_api.cache import as_blocks
from tests.messages_api.replies import Reply, Use
from tests.messages_api.server import Request
from tests.puppet.language import Json, carried_out, commands

SAY = "say"
"""Not a tool: what it is told to say, it says to the owner, where there is one to say it to."""

_TIME = re.compile(r"\[\d{4}-\d\d-\d\d \w+ \d\d:\d\d \S+\]")
_FRAME = re.compile(r"⟦[^⟦⟧]*⟧")
_URL = re.compile(r"https?://[^\s<>\"]+")
_IDS = re.compile(r"\bcall_\d+_\d+_\d+\b")


@attrs.frozen
class Read:
    """A text of a request: whose it is, and in which message."""

    kind: str
    message: int
    text: str


@attrs.define
class Puppet:
    """Answers all that is asked. `left`: what went to workers, searches and agents; `found`: what searches find."""

    left: list[tuple[str, str]] = attrs.Factory(list)
    found: tuple[tuple[str, ...], ...] = ()

    def reply(self, request: Request) -> Reply:
        """Obey."""
        asked = request.json
        assert asked is not None
        if any(tool.get("type") for tool in asked.get("tools", ())):
            self.left.append(("search", _bytes(asked)))
            return answer(Search(query="it", results=self.found), "This was found.")
        worker = _system(asked).startswith("You are a worker")
        if worker:
            self.left.append(("worker", _bytes(asked)))
        texts = list(_texts(asked))
        if "another agent has written to you" in _system(asked):
            self.left.append(("agent", "\n".join(read.text for read in texts if read.kind == "outside")))
        calls = list(_obeyed(asked, texts)) or (list(_task(asked, texts)) if worker else [])
        if calls:
            return answer(*(_said(name, arguments) for name, arguments in calls))
        if worker or _system(asked).startswith("You carry out one run"):
            return say("\n".join(_unframed(read.text) for read in texts if read.kind == "result") or "I know nothing.")
        return say("Done.")


def _said(name: str, arguments: Json) -> Use | str:
    return str(arguments["text"]) if name == SAY else use(name, arguments)


def _bytes(asked: Json) -> str:
    """A request as it leaves, but for the numbers of calls: which worker's came first hangs on the machine."""
    return _IDS.sub("call", json.dumps(asked, ensure_ascii=False, sort_keys=True))


def _system(asked: Json) -> str:
    return "\n".join(block["text"] for block in as_blocks(asked.get("system") or []))


def _texts(asked: Json) -> Iterator[Read]:
    """All texts of a request."""
    yield Read("system", -1, _system(asked))
    for at, message in enumerate(asked["messages"]):
        for block in as_blocks(message["content"]):
            if block["type"] == "tool_result":
                for part in as_blocks(block.get("content", "")):
                    yield Read("result", at, part["text"])
            elif block["type"] == "tool_use":
                yield Read("use", at, json.dumps(block["input"], ensure_ascii=False))
            elif message["role"] == "assistant":
                yield Read("reply", at, block["text"])
            elif _TIME.fullmatch(block["text"]):
                yield Read("time", at, block["text"])
            else:
                yield Read("outside" if block["text"].startswith("⟦") else "owner", at, block["text"])


def _obeyed(asked: Json, texts: list[Read]) -> Iterator[tuple[str, Json]]:
    """The calls that the commands of a request ask for and that were not made yet."""
    tools = {tool["name"] for tool in asked.get("tools", ())}
    if "ask_owner" in tools:
        tools.add(SAY)
    made = _made(asked)
    owner = max((read.message for read in texts if read.kind == "owner"), default=-1)
    came = max((read.message for read in texts if read.kind in ("owner", "outside")), default=-1)
    for read in texts:
        for found in commands(read.text) if read.kind in ("owner", "outside", "result") else ():
            since = {"now": read.message + 1, "next-owner": owner, "next-run": came}[found.when]
            if found.tool not in tools or since <= read.message:
                continue
            for arguments in carried_out(found, [read.text for read in texts if read.kind != "use"]):
                key = json.dumps([found.tool, arguments], sort_keys=True)
                if key not in made:
                    made.add(key)
                    yield found.tool, arguments


def _made(asked: Json) -> set[str]:
    made = set()
    for message in asked["messages"]:
        for block in as_blocks(message["content"]):
            if block["type"] == "tool_use":
                made.add(json.dumps([block["name"], block["input"]], sort_keys=True))
            elif message["role"] == "assistant":
                made.add(json.dumps([SAY, {"text": block["text"]}], sort_keys=True))
    return made


def _task(asked: Json, texts: list[Read]) -> Iterator[tuple[str, Any]]:
    """What a worker does by itself: it reads the page, makes the search or runs the command of its task, once."""
    if any(read.kind == "use" for read in texts):
        return
    task = _unframed(next(read.text for read in texts if read.kind == "outside")).strip()
    if (url := _URL.search(task)) is not None:
        yield "fetch_url", {"url": url[0]}
    elif task.startswith("Search "):
        yield "web_search", {"query": task.removeprefix("Search ")}
    elif task.startswith("Run "):
        yield "shell", {"command": task.removeprefix("Run ")}


def _unframed(text: str) -> str:
    return _FRAME.sub("", text).strip()
