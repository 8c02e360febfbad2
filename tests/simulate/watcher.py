"""A client that watches the live stream through everything, connecting again whenever it ends.

One rule: it asks only for what is above the last number it has seen; so whatever it lacks in the end, the stream lost.
"""

from typing import TYPE_CHECKING, Any

import trio

from tests.simulate.life import TOKEN
from tests.simulate.outsider import Outsider
from tests.world import Events

if TYPE_CHECKING:
    from tests.simulate.stage import Stage

KEYS = {
    "messages": ("id",),
    "entries": ("conversation", "seq"),
    "runs": ("id",),
    "calls": ("run", "turn", "position"),
}
STATES = {"messages": "placed_seq", "entries": "cut", "runs": "state", "calls": "state"}
BEHIND_SECONDS = 10.0
AGAIN_SECONDS = 0.03
"""So long it waits before it tries again."""
_AT_HOME = "conversation = (SELECT id FROM conversations WHERE made_by = 'home:dreamwalker')"


class Watcher:
    """What a client of the main agent's stream has been shown."""

    def __init__(self, stage: "Stage") -> None:
        self._stage = stage
        self._no = self._tries = 0
        self._shown: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {kind: {} for kind in KEYS}
        self._flight: tuple[int, int] = (0, 0)
        self._moved = trio.Event()

    async def watch(self) -> None:
        """Watch for ever."""
        while True:
            self._tries += 1
            try:
                await self._connect()
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError, AssertionError):
                pass  # refused, cut, or not ready yet
            except Exception as error:
                if type(error).__module__.partition(".")[0] != "h11":
                    raise
            await trio.sleep(AGAIN_SECONDS)

    async def _connect(self) -> None:
        url = self._stage.somebody(self._tries - 1).url
        async with await trio.open_tcp_stream("127.0.0.1", int(url.rpartition(":")[2])) as wire:
            events = Events(wire)
            target = f"/api/agents/dreamwalker/stream?from={self._no}"
            await events.open(target, {"Authorization": f"Bearer {TOKEN}"})
            self._flight, self._tries = (0, 0), 0
            while (event := await events.next()) is not None:
                if event.name == "change":
                    self._change(event.data)
                elif event.name == "text":
                    self._text(event.data)
                else:
                    return

    def _change(self, data: dict[str, Any]) -> None:
        if data["no"] < self._no:
            self._stage.violations.append(f"the stream went back from {self._no} to {data['no']}")
        for kind, key in KEYS.items():
            for row in data[kind]:
                if not self._no < row["no"] <= data["no"]:
                    self._stage.violations.append(f"the stream showed {row['no']} between {self._no} and {data['no']}")
                self._shown[kind][tuple(row[part] for part in key)] = row
        self._no = data["no"]
        self._moved.set()
        self._moved = trio.Event()

    def _text(self, data: dict[str, Any]) -> None:
        seq, length = self._flight
        if data["offset"] and (data["seq"], data["offset"]) != (seq, length):
            self._stage.violations.append(
                f"text in flight goes on at {data['seq']}/{data['offset']} after {seq}/{length}"
            )
        if any(number >= data["seq"] for _, number in self._shown["entries"]):
            self._stage.violations.append(f"text in flight of entry {data['seq']}, which stands already")
        self._flight = (data["seq"], data["offset"] + len(data["text"]))

    async def judge(self, outsider: Outsider) -> None:
        """Once all is over: it must have been shown everything, as it is."""
        with trio.move_on_after(BEHIND_SECONDS) as patience:
            while True:
                moved, newest = self._moved, await self._newest(outsider)
                if self._no >= newest:
                    break
                await moved.wait()
        if patience.cancelled_caught:
            self._stage.violations.append(f"the stream stopped at commit {self._no}")
            return
        for kind, key in KEYS.items():
            columns = ", ".join((*key, "no", STATES[kind]))
            rows = await outsider.rows(f"SELECT {columns} FROM {kind} WHERE {_AT_HOME}")
            there = {tuple(row[part] for part in key): (row["no"], row[STATES[kind]]) for row in rows}
            shown = {which: (row["no"], row[STATES[kind]]) for which, row in self._shown[kind].items()}
            if there != shown:
                odd = sorted(there.items() ^ shown.items(), key=str)
                self._stage.violations.append(f"the stream shows other {kind} than there are: {odd[:4]}")

    async def _newest(self, outsider: Outsider) -> int:
        newest = (f"SELECT max(no) AS no FROM {kind} WHERE {_AT_HOME}" for kind in KEYS)
        rows = await outsider.rows(" UNION ALL ".join(newest))
        return max((row["no"] or 0 for row in rows), default=0)
