"""`agents`: who works for you beside the main agent.

One rule: an agent is named by its name, which it keeps for ever.
"""

import sys

import click

from .client import Api, quoted
from .command import Chosen
from .options import AGENT, DefaultGroup, json_option
from .problems import Misconfigured
from .reach import find
from .terminal import Json, one_line, remark, say, sendable, show_json, table

instructions_option = click.option(
    "--instructions", metavar="TEXT", help="Standing instructions; “-” reads them from stdin."
)
model_option = click.option("--model", metavar="MODEL", help="The model that it thinks with.")
grant_option = click.option(
    "--grant", "grants", metavar="NAME", multiple=True, help="What it may use beside its own tools, such as netlify."
)


@click.group(
    cls=DefaultGroup,
    default="list",
    named=True,
    epilog="""\b
Examples:
  dreamwalker agents
  dreamwalker agents gardener              one, whole
  dreamwalker agents add gardener "looks after the garden" --instructions "Answer in two sentences."
  dreamwalker chat --agent gardener
  dreamwalker agents change gardener --model claude-sonnet-5-5
  dreamwalker agents add ops "watches the sites" --grant netlify
  dreamwalker agents retire gardener       what it said stays to be read""",
)
def agents() -> None:
    """Who works for you beside the main agent.

    Each has its own instructions, notes and conversation. They can ask each other, and hand work off.
    """


@agents.command("list")
@json_option
@click.pass_obj
def list_agents(chosen: Chosen, as_json: bool) -> None:
    """List the agents, retired ones too."""
    answer = find(chosen).get("/agents")
    if as_json:
        show_json(answer)
    else:
        say(listed(answer["agents"]))


@agents.command()
@click.argument("name", type=AGENT)
@json_option
@click.pass_obj
def show(chosen: Chosen, name: str, as_json: bool) -> None:
    """Show one agent, whole."""
    agent = find(chosen).get(_path(name))
    if as_json:
        show_json(agent)
    else:
        say(_whole(agent))


@agents.command()
@click.argument("name")
@click.argument("job", nargs=-1, required=True)
@instructions_option
@model_option
@grant_option
@json_option
@click.pass_obj
def add(
    chosen: Chosen,
    name: str,
    job: tuple[str, ...],
    instructions: str | None,
    model: str | None,
    grants: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make an agent. NAME: small letters, digits and hyphens; JOB: what it is for, in a line."""
    body = {
        "name": name,
        "job": sendable(" ".join(job)),
        "instructions": _instructions(instructions) or "",
        "grants": list(grants),
        "model": model,
    }
    api = find(chosen)
    made = api.post("/agents", body)
    _warn(api, grants)
    if as_json:
        show_json(made)
    else:
        say(f"{made['name']} is at work: {made['job']}\nTalk with it: dreamwalker chat --agent {made['name']}")


@agents.command()
@click.argument("name", type=AGENT)
@click.option("--job", metavar="JOB", help="What it is for, in a line.")
@instructions_option
@model_option
@click.option("--default-model", is_flag=True, help="Let it think with the default model again.")
@grant_option
@click.option("--no-grants", is_flag=True, help="Take all its grants away.")
@json_option
@click.pass_obj
def change(
    chosen: Chosen,
    name: str,
    job: str | None,
    instructions: str | None,
    model: str | None,
    default_model: bool,
    grants: tuple[str, ...],
    no_grants: bool,
    as_json: bool,
) -> None:
    """Change an agent; what isn't said stays. --grant says all that it is granted from then on."""
    if (model and default_model) or (grants and no_grants):
        raise Misconfigured("Say either what it gets, or that it gets none.")
    given = {"job": job, "instructions": _instructions(instructions), "model": model}
    body: Json = {field: sendable(text) for field, text in given.items() if text is not None}
    if default_model:
        body["model"] = None
    if grants or no_grants:
        body["grants"] = list(grants)
    if not body:
        raise Misconfigured(
            "Say what to change: --job, --instructions, --model, --default-model, --grant, --no-grants."
        )
    api = find(chosen)
    changed = api.patch(_path(name), body)
    _warn(api, grants)
    if as_json:
        show_json(changed)
    else:
        say(_whole(changed))


@agents.command()
@click.argument("name", type=AGENT)
@click.pass_obj
def retire(chosen: Chosen, name: str) -> None:
    """Let an agent go: what it is at work on ends, and it answers no more. What it said stays to be read."""
    say(_retired(find(chosen), name))


@agents.command()
@click.argument("name", type=AGENT)
@click.pass_obj
def restore(chosen: Chosen, name: str) -> None:
    """Take a retired agent back."""
    say(_restored(find(chosen), name))


def slash(api: Api, rest: str) -> str:
    """What `/agents …` does in a chat: the text to show. Raises Problem."""
    verb, _, more = rest.partition(" ")
    name, _, text = more.strip().partition(" ")
    match verb:
        case "":
            return listed(api.get("/agents")["agents"])
        case "add" if name and text.strip():
            made = api.post("/agents", {"name": name, "job": sendable(text)})
            return f"{made['name']} is at work: {made['job']}"
        case "job" | "instructions" if name and text.strip():
            return _whole(api.patch(_path(name), {verb: sendable(text)}))
        case "retire" if name:
            return _retired(api, name)
        case "restore" if name:
            return _restored(api, name)
        case "show" if name:
            return _whole(api.get(_path(name)))
    return "/agents, /agents show NAME, add NAME JOB, job NAME JOB, instructions NAME TEXT, retire NAME, restore NAME"


def listed(found: list[Json]) -> str:
    """Agents as a list."""
    rows = [(agent["name"], _state(agent), one_line(agent["job"], 80)) for agent in found]
    return table([("AGENT", "STATE", "JOB"), *rows])


def _state(agent: Json) -> str:
    return "retired" if agent["retired"] else "at work"


def _whole(agent: Json) -> str:
    parts = [
        f"{agent['name']}, {_state(agent)}: {agent['job']}",
        f"model: {agent['model'] or 'the default one'}",
        f"granted: {', '.join(agent['grants']) or 'nothing'}",
    ]
    return "\n".join([*parts, "", agent["instructions"]]).rstrip()


def _retired(api: Api, name: str) -> str:
    api.post(f"{_path(name)}/retire")
    return f"{name} is retired. What it said stays to be read; its reminders and jobs are skipped."


def _restored(api: Api, name: str) -> str:
    return f"{name} is at work again: {api.post(f'{_path(name)}/restore')['job']}"


def _warn(api: Api, grants: tuple[str, ...]) -> None:
    """Say what was granted and is of no use yet."""
    for grant in sorted(set(grants) - set(api.get("/agents")["ready"]) if grants else ()):
        needs = f" It needs {_NEEDS[grant]} where the server starts." if grant in _NEEDS else ""
        remark(f"{grant} is not set up on this server, so there is nothing to look at yet.{needs}")


_NEEDS = {"netlify": "DREAMWALKER_NETLIFY_TOKEN and DREAMWALKER_NETLIFY_TEAM"}


def _path(name: str) -> str:
    return f"/agents/{quoted(name)}"


def _instructions(text: str | None) -> str | None:
    if text == "-":
        text = sys.stdin.read()
    return None if text is None else sendable(text)
