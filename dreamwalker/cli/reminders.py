"""`remind` and `reminders`: texts that come up at their times, on the phone and in the chat.

One rule: when is said in words, and said back as weekday, local time, zone and exact instant.
"""

import re

import click

from .command import Chosen
from .options import NUMBER, DefaultGroup, agent_option, json_option, some_agent_option
from .problems import Misconfigured, Problem
from .reach import find
from .telling import new_request_id
from .terminal import Json, one_line, say, sendable, show_json, table
from .times import Times

zone_option = click.option(
    "--zone", metavar="ZONE", help="The zone that it is meant in, such as Asia/Tokyo; else yours."
)


@click.command(
    epilog="""\b
Examples:
  dreamwalker remind "in 20m" take the tea out
  dreamwalker remind "tomorrow 9:00" "call Anna"
  dreamwalker remind "every friday 18:00" water the plants
  dreamwalker remind "2027-01-05 08:00" --zone Asia/Tokyo "the plane leaves"

It says back when that is. A time that has passed is refused."""
)
@click.argument("when")
@click.argument("text", nargs=-1, required=True)
@zone_option
@agent_option
@json_option
@click.pass_obj
def remind(chosen: Chosen, when: str, text: tuple[str, ...], zone: str | None, agent: str, as_json: bool) -> None:
    """Bring TEXT up at a time: WHEN is one argument, in words, once or repeating."""
    body = {
        "request_id": new_request_id(),
        "when": sendable(when),
        "text": sendable(" ".join(text)),
        "zone": zone,
        "agent": agent,
    }
    try:
        made = find(chosen).post("/reminders", body)
    except Problem as problem:
        if type(problem) is not Problem or len(when.split()) > 1:  # else the server could not read it
            raise
        raise Problem(f"{problem.message} A time of more than one word needs quotation marks: {_QUOTED}.") from None
    if as_json:
        show_json(made)
    else:
        say(f"Reminder {made['id']}: {made['said']}")


_QUOTED = 'dreamwalker remind "tomorrow 9:00" call Anna'


@click.group(
    cls=DefaultGroup,
    default="list",
    epilog="""\b
Examples:
  dreamwalker reminders                        those that are set
  dreamwalker reminders --over                 those that are over too
  dreamwalker reminders 12                     one, whole, with its next times
  dreamwalker reminders cancel 12 13
  dreamwalker reminders change 12 --when "tomorrow 10:00"
  dreamwalker reminders slots 12               what became of each time""",
)
def reminders() -> None:
    """What you are to be reminded of."""


@reminders.command("list")
@some_agent_option
@click.option("--over", is_flag=True, help="Those that are over too.")
@json_option
@click.pass_obj
def list_reminders(chosen: Chosen, agent: str | None, over: bool, as_json: bool) -> None:
    """List reminders, the newest first."""
    api = find(chosen)
    answer = api.get("/reminders", agent=agent, over="true" if over else None)
    if as_json:
        show_json(answer)
        return
    if answer["reminders"]:
        rows = [coming(it, api.times, one_line(it["text"], 80)) for it in answer["reminders"]]
        say(table([("NUMBER", "NEXT", "RULE", "STATE", "TEXT"), *rows]))
    if not answer["reminders"]:
        say('There are no reminders. `dreamwalker remind "in 20m" TEXT` sets one.')
    elif answer["more"]:
        say("… and more")


@reminders.command()
@click.argument("number", type=NUMBER)
@json_option
@click.pass_obj
def show(chosen: Chosen, number: int, as_json: bool) -> None:
    """Show one reminder, whole, with its next times."""
    reminder = find(chosen).get(f"/reminders/{number}")
    if as_json:
        show_json(reminder)
    else:
        say(f"Reminder {number} of {reminder['agent']}, {reminder['state']}: {reminder['said']}\n\n{reminder['text']}")


@reminders.command()
@click.argument("numbers", nargs=-1, required=True, type=NUMBER)
@click.pass_obj
def cancel(chosen: Chosen, numbers: tuple[int, ...]) -> None:
    """Cancel reminders for good."""
    api = find(chosen)
    for number in numbers:
        gone = api.delete(f"/reminders/{number}")
        say(f"Cancelled: {number}  {one_line(gone['text'], 100)}")


@reminders.command()
@click.argument("number", type=NUMBER)
@click.option("--when", metavar="WHEN", help="Another time, in words.")
@click.option("--text", metavar="TEXT", help="Another text.")
@zone_option
@click.pass_obj
def change(chosen: Chosen, number: int, when: str | None, text: str | None, zone: str | None) -> None:
    """Change when a reminder comes up, or what it says."""
    changed = find(chosen).patch(f"/reminders/{number}", some(when=when, text=text, zone=zone))
    say(f"Reminder {number}: {changed['said']}")


@reminders.command()
@click.argument("number", type=NUMBER)
@json_option
@click.pass_obj
def slots(chosen: Chosen, number: int, as_json: bool) -> None:
    """Show what became of each time at which a reminder should have come up."""
    show_slots(find(chosen).get(f"/reminders/{number}/slots"), as_json)


def coming(thing: Json, times: Times, name: str) -> tuple[str, ...]:
    """A reminder or a job as a row: its number, when it comes up next in the owner's zone, its rule, and what it is."""
    rule = "once" if _ONCE.match(thing["rule"]) else one_line(thing["rule"], 40)
    abroad = "" if times.is_in(thing["zone"]) else f" ({thing['zone']})"
    return str(thing["id"]), times.day(thing["next_at"]) or "—", f"{rule}{abroad}", thing["state"], name


_ONCE = re.compile(r"\d{4}-\d\d-\d\d")
"""How the rule of what comes up once begins."""


def some(**fields: str | None) -> Json:
    """What was given, at least one thing."""
    given = {name: sendable(value) for name, value in fields.items() if value is not None}
    if not given:
        raise Misconfigured(f"Say what to change: {', '.join(f'--{name}' for name in fields)}.")
    return given


def show_slots(answer: Json, as_json: bool) -> None:
    """Print a ledger."""
    if as_json:
        show_json(answer)
        return
    for slot in answer["slots"]:
        say(f"{slot['said']}: {_fate(slot)}")
        if slot["report"]:
            say(f"    {one_line(slot['report'], 160)}")
    if not answer["slots"]:
        say("Nothing has come up yet.")
    elif answer["more"]:
        say("… and more")


def _fate(slot: Json) -> str:
    fate: str = slot["fate"]
    if slot["late_seconds"]:
        fate = f"{fate}, {slot['late_seconds']:,} s late"
    if slot["count"] > 1:
        fate = f"{fate} {slot['count']:,} times, up to {slot['last_slot']}"
    return f"{fate}: {slot['why']}" if slot["why"] else fate
