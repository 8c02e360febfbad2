"""What everybody works with: the tools of each kind of conversation, and the sandbox of workers.

One rule: which tools there are is decided here alone. A job's run has none that reads anything outside its job, and a
worker's none that reads or changes what is here.
"""

import logging
from collections.abc import Callable

from actors.workers import Workers
from netlify.client import Netlify
from tools.contract import Tool
from tools.delegate import delegate
from tools.fetch_url import Web, fetch_url
from tools.history import HISTORY_TOOLS
from tools.jobs import JOB_TOOLS
from tools.limits import Limits
from tools.messages import message_agent
from tools.netlify import NETLIFY, netlify_tools
from tools.notes import NOTE_TOOLS
from tools.questions import ASK_OWNER
from tools.redact import Redactor
from tools.reminders import REMINDER_TOOLS
from tools.sandbox import Sandbox, sandbox_tools
from tools.toolbox import Toolbox
from tools.web_search import Searching, web_search

from .cast import Cast, grants_of

log = logging.getLogger("dreamwalker.equipment")


class Equipment:
    """Who has which tools. `searches` and `web`: what workers search and read with; `more` is for every agent."""

    def __init__(
        self,
        *,
        workers: Workers,
        cast: Cast,
        searches: Searching,
        web: Web | None,
        sandbox: Sandbox | None,
        netlify: Netlify | None,
        more: tuple[Tool, ...],
        redactor: Callable[[], Redactor],
        limits: Limits,
    ) -> None:
        self._workers, self._cast, self._redactor, self._limits = workers, cast, redactor, limits
        self._sandbox, self._netlify, self._more = sandbox, netlify, more
        self._web_tools = () if web is None else (web_search(searches), fetch_url(web))
        self._sandbox_tools: tuple[Tool, ...] = ()
        self._toolboxes: dict[tuple[str, str], Toolbox] = {}

    @property
    def grants(self) -> tuple[str, ...]:
        """What is set up of all that an agent can be granted."""
        return () if self._netlify is None else (NETLIFY,)

    def tools(self, conversation_kind: str, agent: str) -> tuple[Tool, ...]:
        """Every tool of an agent in a kind of conversation."""
        match conversation_kind:
            case "job":
                return (delegate(self._workers),)
            case "worker":
                return (*self._web_tools, *self._sandbox_tools)
        tools = (*NOTE_TOOLS, *HISTORY_TOOLS, *REMINDER_TOOLS, *JOB_TOOLS, delegate(self._workers), ASK_OWNER)
        others = self._cast.others(agent)
        messages = (message_agent(self._workers, others),) if others else ()
        return (*tools, *messages, *self._granted(agent), *self._more)

    def _granted(self, agent: str) -> tuple[Tool, ...]:
        """The tools that the owner granted an agent."""
        if self._netlify is None or NETLIFY not in grants_of(self._cast.records[agent]):
            return ()
        return netlify_tools(self._netlify)

    def toolbox(self, conversation_kind: str, agent: str) -> Toolbox:
        """The tools of an agent in a kind of conversation, ready for use."""
        made, redactor = self._toolboxes.get((conversation_kind, agent)), self._redactor()
        if made is None or made.redactor is not redactor:
            made = Toolbox(self.tools(conversation_kind, agent), redactor)
            self._toolboxes[conversation_kind, agent] = made
        return made

    def renew(self) -> None:
        """What tools there are hangs on who there is and what is granted, and that has changed."""
        self._toolboxes.clear()

    # -- the sandbox

    async def equip_workers(self) -> None:
        """Find out whether there is a sandbox that can be used. It is tried once."""
        if self._sandbox is not None and not self._sandbox_tools:
            if (why := await self._sandbox.unavailable()) is None:
                self._sandbox_tools = sandbox_tools(self._sandbox, self._limits)
                self.renew()
            else:
                log.info("sandbox.missing", {"why": why})

    async def clean(self, conversation: int) -> None:
        """Leave nothing of a worker's behind."""
        if self._sandbox is not None:
            await self._sandbox.clean(conversation)

    async def sweep(self) -> None:
        """Have deleted what earlier processes left. It may take the internet, and long."""
        if self._sandbox is not None:
            await self._sandbox.sweep()
