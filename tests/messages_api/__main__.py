"""The scripted Messages API as a process: `python -m tests.messages_api --port 8123 [--rules FILE | MODULE:FUNCTION]`.

One rule: without rules it echoes. A rules file is a JSON list, and the first entry whose `when` stands in the newest
user text (any case) answers:

    [{"when": "weather", "say": "Rain."},
     {"when": "note", "use": [{"name": "write_note", "input": {"title": "Keys", "text": "In the drawer"}}]},
     {"when": "busy", "fail": 529, "retry_after": 1},
     {"when": "break", "say": "Half of", "cut_after": 3}]

A message that ends in tool results is answered with them, so that a `use` does not go round for ever.
"""

import argparse
import importlib
import json
from pathlib import Path

import trio

from tests.messages_api.cache import as_blocks
from tests.messages_api.replies import Answer, Json, Reply, Rule, answer, fail, say, use
from tests.messages_api.server import serve_messages_api


def last_text(request: Json) -> str:
    """The newest user text of a request; empty when it ends in tool results."""
    blocks = as_blocks(request["messages"][-1]["content"])
    return str(blocks[-1]["text"]) if blocks[-1]["type"] == "text" else ""


def echo(request: Json) -> Reply:
    blocks = as_blocks(request["messages"][-1]["content"])
    return say(last_text(request) or f"It said: {json.dumps(blocks[-1].get('content'), ensure_ascii=False)}", chunk=8)


def from_file(path: Path) -> Rule:
    """The rule that a JSON file describes."""
    entries: list[Json] = json.loads(path.read_text())

    def rule(request: Json) -> Reply:
        text = last_text(request).lower()
        entry = next((entry for entry in entries if text and entry["when"].lower() in text), None)
        return echo(request) if entry is None else _reply(entry)

    return rule


def _reply(entry: Json) -> Reply:
    if "fail" in entry:
        return fail(entry["fail"], retry_after=entry.get("retry_after"))
    uses = [use(item["name"], item["input"]) for item in entry.get("use", [])]
    made: Answer = answer(*([entry["say"]] if "say" in entry else []), *uses)
    return made.cut(after=entry["cut_after"]) if "cut_after" in entry else made


def _rule(name: str | None) -> Rule:
    if name is None:
        return echo
    if ":" in name:
        module, _, function = name.partition(":")
        made: Rule = getattr(importlib.import_module(module), function)
        return made
    return from_file(Path(name))


async def _serve(port: int, rule: Rule, *, gateway: bool) -> None:
    async with serve_messages_api(port=port, gateway=gateway) as api:
        api.script(rule)
        print(api.url, flush=True)
        await trio.sleep_forever()


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.messages_api", description="A scripted Messages API.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--rules", help="a JSON file, or module:function")
    parser.add_argument("--gateway", action="store_true", help="refuse headers that the gateway does not pass")
    options = parser.parse_args()
    try:
        trio.run(lambda: _serve(options.port, _rule(options.rules), gateway=options.gateway))
    except* KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
