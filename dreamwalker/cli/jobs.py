"""`jobs`: prompts that an agent runs on a schedule.

One rule: a schedule is said back as the next five times, each with weekday, local time and zone.
"""

import click

from .command import Chosen
from .options import NUMBER, DefaultGroup, Whole, agent_option, json_option, some_agent_option
from .problems import Misconfigured, Misused
from .reach import find
from .reminders import coming, show_slots, some, zone_option
from .telling import new_request_id
from .terminal import Json, one_line, say, sendable, show_json, table


@click.group(
    cls=DefaultGroup,
    default="list",
    epilog="""\b
Examples:
  dreamwalker jobs
  dreamwalker jobs add "Weather" "Is there a storm coming to Vienna?" --cron "0 7 * * *"
  dreamwalker jobs add "Stretch" "Say something that makes me stretch." --every "2 hours"
  dreamwalker jobs add "Rent" "Remind me of the rent." --rrule "FREQ=MONTHLY;BYMONTHDAY=1;BYHOUR=9;BYMINUTE=0"
  dreamwalker jobs add "News" "What is new?" --when "weekdays 8:00" --zone America/New_York
  dreamwalker jobs 3                 one, whole
  dreamwalker jobs next 3            the next five times
  dreamwalker jobs slots 3           what became of each time
  dreamwalker jobs pause 3""",
)
def jobs() -> None:
    """What is done for you on a schedule."""


@jobs.command("list")
@some_agent_option
@click.option("--over", is_flag=True, help="Those that are over too.")
@json_option
@click.pass_obj
def list_jobs(chosen: Chosen, agent: str | None, over: bool, as_json: bool) -> None:
    """List jobs, the newest first."""
    api = find(chosen)
    answer = api.get("/jobs", agent=agent, over="true" if over else None)
    if as_json:
        show_json(answer)
        return
    if answer["jobs"]:
        rows = [
            coming(it, api.times, it["title"] + (" (running now)" if it["running"] else "")) for it in answer["jobs"]
        ]
        say(table([("NUMBER", "NEXT", "RULE", "STATE", "TITLE"), *rows]))
    if not answer["jobs"]:
        say("There are no jobs. `dreamwalker jobs add --help` shows how to make one.")
    elif answer["more"]:
        say("… and more")


@jobs.command()
@click.argument("title")
@click.argument("prompt", nargs=-1, required=True)
@click.option("--cron", metavar="RULE", help="Five fields: minute, hour, day, month, weekday.")
@click.option("--every", metavar="TIME", help="A length of time, such as “2 hours”.")
@click.option("--rrule", metavar="RULE", help="A rule of RFC 5545, such as “FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0”.")
@click.option("--when", metavar="WHEN", help="In words, such as “every day 9:00”, “weekdays 8:30” or “tomorrow 9:00”.")
@zone_option
@agent_option
@json_option
@click.pass_obj
def add(
    chosen: Chosen,
    title: str,
    prompt: tuple[str, ...],
    cron: str | None,
    every: str | None,
    rrule: str | None,
    when: str | None,
    zone: str | None,
    agent: str,
    as_json: bool,
) -> None:
    """Make a job: PROMPT is run on a schedule, and TITLE is its name."""
    body = {
        "request_id": new_request_id(),
        "title": sendable(title),
        "text": sendable(" ".join(prompt)),
        "when": sendable(_schedule(cron=cron, every=every, rrule=rrule, when=when)),
        "zone": zone,
        "agent": agent,
    }
    made = find(chosen).post("/jobs", body)
    if as_json:
        show_json(made)
    else:
        say(f"Job {made['id']} “{made['title']}”: {made['said']}")


@jobs.command()
@click.argument("number", type=NUMBER)
@json_option
@click.pass_obj
def show(chosen: Chosen, number: int, as_json: bool) -> None:
    """Show one job, whole."""
    job = find(chosen).get(f"/jobs/{number}")
    if as_json:
        show_json(job)
    else:
        say(f"Job {job['id']} “{job['title']}” of {job['agent']}, {job['state']}: {job['said']}\n\n{job['text']}")


@jobs.command("next")
@click.argument("number", type=NUMBER)
@click.option("--count", type=Whole(1, 100), default=5, show_default=True, help="How many.")
@json_option
@click.pass_obj
def next_slots(chosen: Chosen, number: int, count: int, as_json: bool) -> None:
    """Show the next times at which a job runs."""
    answer = find(chosen).get(f"/jobs/{number}/upcoming", count=count)
    if as_json:
        show_json(answer)
    else:
        say("\n".join(slot["said"] for slot in answer["slots"]) or "It does not run any more.")


@jobs.command()
@click.argument("number", type=NUMBER)
@json_option
@click.pass_obj
def slots(chosen: Chosen, number: int, as_json: bool) -> None:
    """Show what became of each time at which a job should have run."""
    show_slots(find(chosen).get(f"/jobs/{number}/slots"), as_json)


@jobs.command()
@click.argument("number", type=NUMBER)
@click.option("--title", metavar="TITLE", help="Another name.")
@click.option("--prompt", metavar="PROMPT", help="Another prompt.")
@click.option("--when", metavar="WHEN", help="Another schedule: in words, a cron rule, or an RRULE.")
@zone_option
@click.pass_obj
def change(
    chosen: Chosen, number: int, title: str | None, prompt: str | None, when: str | None, zone: str | None
) -> None:
    """Change a job's name, prompt, schedule or zone."""
    given = some(title=title, prompt=prompt, when=when, zone=zone)
    body = {"text" if name == "prompt" else name: value for name, value in given.items()}
    _say(find(chosen).patch(f"/jobs/{number}", body))


@jobs.command()
@click.argument("number", type=NUMBER)
@click.pass_obj
def pause(chosen: Chosen, number: int) -> None:
    """Let a job run no more until it is resumed."""
    _say(find(chosen).post(f"/jobs/{number}/pause"))


@jobs.command()
@click.argument("number", type=NUMBER)
@click.pass_obj
def resume(chosen: Chosen, number: int) -> None:
    """Let a paused job go on with its next time."""
    _say(find(chosen).post(f"/jobs/{number}/resume"))


@jobs.command()
@click.argument("number", type=NUMBER)
@click.pass_obj
def remove(chosen: Chosen, number: int) -> None:
    """Remove a job for good. What it did stays to be seen."""
    _say(find(chosen).delete(f"/jobs/{number}"))


def _schedule(**given: str | None) -> str:
    """The one of the options that was given, in words that the server takes."""
    named = {name: text for name, text in given.items() if text is not None}
    if len(named) != 1:
        raise Misconfigured(f"Say when it runs, by one of {', '.join(f'--{name}' for name in given)}.")
    ((name, text),) = named.items()
    if name == "cron" and len(text.split()) != 5:
        raise Misused(
            f"A cron rule has five fields (minute, hour, day, month, weekday), such as “0 7 * * *”; not “{text}”."
        )
    if name == "rrule" and "FREQ=" not in text.upper():
        raise Misused(f"An RRULE is such as “FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0”; not “{text}”.")
    return f"every {text.strip().removeprefix('every ')}" if name == "every" else text


def _say(job: Json) -> None:
    say(f"Job {job['id']} “{one_line(job['title'])}”: {job['said']}")
