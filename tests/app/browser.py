"""A real Chromium, driven over the DevTools protocol from a thread of its own, so that trio is not held up.

For example::

    async with world(database_url, say("Hello.")) as w, window(browser, w, PHONE) as win:
        await win.do(lambda page: page.get_by_text("Hello.").wait_for())

One rule: a page reaches its own server and nothing else; what it asks of anyone else fails the test.
"""

import asyncio
import os
import queue
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import attrs
import trio
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.world import TOKEN, World

T = TypeVar("T")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or ""
PATIENCE_MS = 10_000
PICTURES = os.environ.get("PICTURES")
"""A folder for screenshots, to be looked at."""

ARGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
)


@attrs.frozen(kw_only=True)
class Size:
    """A window: what is seen at once, and whether it is touched."""

    name: str
    width: int
    height: int
    touched: bool
    scheme: str = "light"


PHONE = Size(name="phone", width=390, height=844, touched=True)
DESKTOP = Size(name="desktop", width=1280, height=860, touched=False, scheme="dark")


class Chromium:
    """One browser process and the thread that speaks with it."""

    def __init__(self, *args: str) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._ready = threading.Event()
        self._args = [*ARGS, *args]
        self.browser: Browser
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(30), "Chromium did not start"

    def _run(self) -> None:
        asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())  # of this thread: trio-asyncio has the others
        with sync_playwright() as playwright:
            self.browser = playwright.chromium.launch(executable_path=CHROMIUM, args=self._args)
            self._ready.set()
            while (work := self._work.get()) is not None:
                work()
            self.browser.close()

    async def do(self, work: Callable[[], T]) -> T:
        """Have the browser's thread do something, and wait for it. Raises what it raises."""
        token, done = trio.lowlevel.current_trio_token(), trio.Event()
        came: list[Any] = []

        def run() -> None:
            try:
                came.append(work())
            except BaseException as error:
                came.append(error)
            token.run_sync_soon(done.set)

        self._work.put(run)
        with trio.CancelScope(shield=True):
            await done.wait()
        if isinstance(came[0], BaseException):
            raise came[0]
        result: T = came[0]
        return result

    def close(self) -> None:
        """End it."""
        self._work.put(None)
        self._thread.join(30)


@attrs.define(kw_only=True)
class Window:
    """One page in one window, and everything it asked for."""

    chromium: Chromium
    size: Size
    url: str
    context: BrowserContext
    page: Page
    asked: list[str] = attrs.field(factory=list)
    """The address of every request."""
    faults: list[str] = attrs.field(factory=list)
    """What the browser complained of: scripts that failed, what the policy refused."""

    async def do(self, work: Callable[[Page], T]) -> T:
        """Do something with the page, in the browser's thread."""
        return await self.chromium.do(lambda: work(self.page))

    async def go(self, path: str) -> None:
        """Open a page by its address."""
        await self.do(lambda page: page.goto(self.url + path, wait_until="domcontentloaded"))

    async def see(self, text: str, *, count: int = 1) -> None:
        """Wait until this text is seen so many times."""
        await self.do(lambda page: page.get_by_text(text).nth(count - 1).wait_for())

    async def gone(self, text: str) -> None:
        """Wait until this text is seen no more."""
        await self.do(lambda page: page.get_by_text(text).first.wait_for(state="hidden"))

    async def press(self, name: str, *, exact: bool = True) -> None:
        """Press a button by its name."""
        await self.do(lambda page: page.get_by_role("button", name=name, exact=exact).first.click())

    async def fill(self, label: str, text: str) -> None:
        """Write into a field by its label."""
        await self.do(lambda page: page.get_by_label(label, exact=True).first.fill(text))

    async def send(self, text: str) -> None:
        """Write a message and send it."""
        await self.do(lambda page: page.get_by_role("textbox", name="Message to").fill(text))
        await self.press("Send")

    async def visit(self, name: str) -> None:
        """Follow a link of the menu."""
        if self.size.touched:
            await self.press("Menu")
        await self.do(lambda page: page.get_by_role("navigation").get_by_role("link", name=name).click())

    async def picture(self, name: str) -> None:
        """Keep a picture, if pictures are wanted."""
        if PICTURES:
            path = Path(PICTURES) / f"{name}-{self.size.name}.png"
            await self.do(lambda page: page.screenshot(path=path, animations="disabled"))

    def reached(self) -> set[str]:
        """Where its requests went."""
        return {address.split("/")[2] for address in self.asked if address.startswith(("http", "ws"))}


@asynccontextmanager
async def window(
    chromium: Chromium,
    w: World,
    size: Size = PHONE,
    *,
    path: str | None = "/",
    token: str | None = TOKEN,
    url: str | None = None,
    **context: Any,
) -> AsyncIterator[Window]:
    """A window that is signed in (with `token` None it is not) and has opened `path`; at its end nothing may have
    gone wrong in it, and it may have asked nobody but its own server (at `url`, if it is not asked directly).
    """
    host = url or w.url

    def open_window() -> Window:
        made = chromium.browser.new_context(
            viewport={"width": size.width, "height": size.height},
            has_touch=size.touched,
            is_mobile=size.touched,
            color_scheme=size.scheme,  # type: ignore[arg-type]
            timezone_id="Europe/Vienna",
            locale="en-GB",
            **({"service_workers": "block"} | context),
        )
        made.set_default_timeout(PATIENCE_MS)
        if token is not None:
            kept = (
                f"localStorage.getItem('dreamwalker.token') ?? localStorage.setItem('dreamwalker.token', '\"{token}\"')"
            )
            made.add_init_script(kept)
        page = made.new_page()
        win = Window(chromium=chromium, size=size, url=host, context=made, page=page)
        page.on("request", lambda request: win.asked.append(request.url))
        page.on("pageerror", lambda error: win.faults.append(str(error)))
        page.on("console", lambda message: win.faults.append(message.text) if _is_fault(message) else None)
        return win

    win = await chromium.do(open_window)
    try:
        if path is not None:
            await win.go(path)
        yield win
        assert win.reached() <= {host.removeprefix("http://")}, win.reached()
        assert win.faults == [], win.faults
    finally:
        with trio.CancelScope(shield=True):
            await chromium.do(win.context.close)


def _is_fault(message: Any) -> bool:
    """What the page itself got wrong; that a request was refused or the server gone is part of some stories."""
    return message.type in ("error", "warning") and not message.text.startswith(
        ("Failed to load resource", "Service Worker registration blocked", "Warning:\n\nDO NOT USE HTTP IN PRODUCTION")
    )
