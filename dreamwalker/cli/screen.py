"""The terminal of a chat: what was said scrolls above, a line editor stands below, and between them what is under way.

One rule: everything here happens in the thread of `run`; other threads hand their news over with `soon`.
"""

import signal
import sys
from collections.abc import Callable, Iterable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, Dimension, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.output import create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import TextArea

from .flow import Flow, wrapped
from .terminal import drawn

INPUT_ROWS = 10
"""The height that the editor may grow to."""

_STYLE = Style.from_dict({"owner": "bold", "quiet": "ansibrightblack", "bad": "ansired"})


class TerminalScreen:
    """A `Screen` on a terminal, with an editor for what the owner types.

    `typed` is called with each text that he enters, also an empty one: the editor is empty then, and the up key brings
    the text back; `interrupted` at Ctrl-C; `left` at Ctrl-D on an empty line; `under_way` gives the lines between the
    scrollback and the editor.
    """

    def __init__(
        self,
        *,
        typed: Callable[[str], None],
        interrupted: Callable[[], None],
        left: Callable[[], None],
        under_way: Callable[[], list[str]],
    ) -> None:
        self._typed, self._interrupted, self._left, self._under_way = typed, interrupted, left, under_way
        self._flow = Flow()
        self._pending: StyleAndTextTuples = []
        self._history = InMemoryHistory()
        self._editor = TextArea(
            prompt="› ",
            multiline=True,
            wrap_lines=True,
            height=Dimension(min=1, max=INPUT_ROWS),
            dont_extend_height=True,
            history=self._history,
            accept_handler=self._accept,
        )
        live = Window(FormattedTextControl(self._live), wrap_lines=True, dont_extend_height=True)
        self._app: Application[None] = Application(
            layout=Layout(HSplit([ConditionalContainer(live, Condition(lambda: bool(self._live()))), self._editor])),
            key_bindings=self._keys(),
            style=_STYLE,
            output=_output(),
            erase_when_done=True,
        )

    # -- a Screen

    def write(self, text: str) -> None:
        """More of a text that is being written."""
        self._print("", self._flow.feed(drawn(text).expandtabs(4), self._columns))

    def line(self, text: str, style: str = "") -> None:
        """Whole lines; a text that was being written ends before them."""
        self._print("", self._flow.end())
        self.aside(text, style)

    def aside(self, text: str, style: str = "") -> None:
        """Whole lines, above the row that is being written."""
        rows = [row for each in drawn(text).expandtabs(4).split("\n") for row in wrapped(each, self._columns)]
        self._print(f"class:{style}" if style else "", "\n".join(rows) + "\n")

    # -- its life

    def run(self, began: Callable[[], None]) -> None:
        """Show the editor and serve the keyboard until `leave`. `began` is called first.

        What goes wrong in the loop, such as a write to a window that was closed, is raised. The application's own way
        would be to show it and wait for a key, which never comes from a terminal that is gone.
        """

        def begin() -> None:
            assert self._app.loop is not None
            self._app.loop.set_exception_handler(self._went_wrong)
            began()

        self._app.run(pre_run=begin, set_exception_handler=False)

    def soon(self, call: Callable[..., None], *arguments: Any) -> None:
        """Have something called in the screen's own thread. After the end it is dropped."""
        loop = self._app.loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._call, call, arguments)

    def on_signals(self, signals: Iterable[signal.Signals], call: Callable[[], None]) -> None:
        """Have something called when one of these signals comes. Only while `run` runs."""
        assert self._app.loop is not None
        for number in signals:
            self._app.loop.add_signal_handler(number, call)

    def leave(self) -> None:
        """End `run`; what is unfinished goes into the scrollback."""
        try:
            self._print("", self._flow.end())
            self._flush()
        finally:
            if self._app.is_running and not self._app.is_done:
                self._app.exit()

    def fail(self, error: BaseException) -> None:
        """End `run`, which raises the error."""
        if self._app.is_running and not self._app.is_done:
            self._app.exit(exception=error)

    def _went_wrong(self, _: object, context: dict[str, Any]) -> None:
        self.fail(context.get("exception") or RuntimeError(context["message"]))

    def remember(self, texts: Iterable[str]) -> None:
        """Offer earlier texts, the oldest first, to the up key."""
        for text in texts:
            self._history.append_string(drawn(text))
        self._editor.buffer.reset(self._editor.buffer.document)  # it looks at its history anew

    def put_back(self, text: str) -> None:
        """Put a text into the editor, before what is there."""
        self._editor.text = drawn(text) + self._editor.text

    @property
    def typing(self) -> bool:
        """Whether something stands in the editor."""
        return bool(self._editor.text)

    def clear(self) -> None:
        """Empty the editor."""
        self._editor.text = ""

    def _call(self, call: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        try:
            call(*arguments)
        except Exception as error:
            self.fail(error)
        self._app.invalidate()

    # -- showing

    @property
    def _columns(self) -> int:
        return self._app.output.get_size().columns

    def _print(self, style: str, text: str) -> None:
        """Print above the editor, with whatever else is printed in the same turn of the loop."""
        if not text:
            return
        if not self._pending and self._app.loop is not None:
            self._app.loop.call_soon(self._flush)
        self._pending.append((style, text))

    def _flush(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, []
            self._app.renderer.erase()
            self._app.print_text(pending)
            self._app.invalidate()

    def _live(self) -> StyleAndTextTuples:
        shown: StyleAndTextTuples = [("", self._flow.tail)] if self._flow.tail else []
        for line in self._under_way():
            shown.append(("class:quiet", ("\n" if shown else "") + drawn(line)))
        return shown

    # -- the keyboard

    def _accept(self, _: object) -> bool:
        self._typed(self._editor.text)
        return False  # the editor is emptied, and its history keeps the text

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:
            self._editor.buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            self._editor.buffer.insert_text("\n")

        @keys.add("c-c")
        @keys.add(Keys.SIGINT)
        def _(event: KeyPressEvent) -> None:
            self._interrupted()

        @keys.add("c-d", filter=Condition(lambda: not self._editor.text))
        def _(event: KeyPressEvent) -> None:
            self._left()

        return keys


def _output() -> Any:
    """The terminal's output. It is never asked where its cursor is: the answer would come as if it were typed."""
    output = create_output(sys.stdout)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
    return output
