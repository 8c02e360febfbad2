"""The year itself: what the owner does, when houses die and sleep, and the clock that is moved from one to the next.

One rule: everything is drawn from one seed, in one order; nothing is read from the machine.
"""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import attrs

from dreamwalker.house import MAIN_AGENT
from storage import inbox, things
from storage.operation import Commit
from storage.records import Thing
from storage.text import dumps
from storage.things import FindThing, Upcoming
from tests.year.life import Died, FicklePhone, Life, YearClock, life
from tests.year.patterns import Pattern, drawn
from tools.contract import ToolFailed
from tools.things import Change, change, made, pause, remove, resume
from tools.timing import read_timing
from tools.zones import BadTime, zone_named

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@attrs.define(kw_only=True)
class Span:
    """A time in which a pattern held: later than `begin`, not later than `end`. `since`: where its steps count from."""

    pattern: Pattern
    since: datetime
    begin: datetime
    end: datetime | None = None


@attrs.define(kw_only=True)
class Track:
    """What the owner did with one thing: the only memory that outlives a house, and it is his."""

    id: int
    kind: str
    spans: list[Span]
    removed: bool = False

    def close(self, at: datetime) -> None:
        """From here on the pattern no longer holds."""
        if self.spans[-1].end is None:
            self.spans[-1].end = at


@attrs.frozen(kw_only=True)
class Plan:
    """How much of everything a history holds."""

    seed: int
    begin: datetime = BEGIN
    days: int = 365
    things: int = 320
    changes: int = 200
    outages: int = 340
    """Some come while another one is on its way, and don't count."""


@attrs.define
class Year:
    """One history on one database."""

    url: str
    plan: Plan
    clock: YearClock = attrs.Factory(lambda self: YearClock(self.plan.begin), takes_self=True)
    phone: FicklePhone = attrs.Factory(lambda self: FicklePhone(self.plan.seed), takes_self=True)
    tracks: dict[int, Track] = attrs.Factory(dict)
    down: list[tuple[datetime, datetime]] = attrs.Factory(list)
    """When no house lived."""
    deaths: int = 0
    sleeps: int = 0
    _chance: random.Random = attrs.field(init=False)
    _end: datetime = attrs.field(init=False)
    _events: list[tuple[datetime, str]] = attrs.field(init=False)
    _ripe: dict[int, datetime] = attrs.Factory(dict)
    _doomed: bool = False
    _requests: int = 0
    _doubt: tuple[str, int, Callable[[Thing], None]] | None = None

    async def run(self) -> None:
        """Live it through to the end, until everything that is due has its fate."""
        self._chance = random.Random(self.plan.seed)
        self._end = self.plan.begin + timedelta(days=self.plan.days)
        self._events = self._drawn_events()
        while self.clock.at < self._end:
            try:
                async with life(self.url, self.clock, self.phone) as it:
                    await self._live(it)
            except* Died:
                self.deaths += 1
                self._down()
        async with life(self.url, self.clock, self.phone) as it:
            await self._settle_doubt(it)
            self._ripe.clear()
            await it.look()
            while it.waiting:
                await it.work(it.waiting[0])
                await it.look()

    def _drawn_events(self) -> list[tuple[datetime, str]]:
        """What happens and when, the last first."""

        def some(count: int, what: str, days: float) -> list[tuple[datetime, str]]:
            seconds = [self._chance.uniform(0, days * 86_400) for _ in range(count)]
            return [(self.plan.begin + timedelta(seconds=second), what) for second in seconds]

        early = self.plan.things * 2 // 3
        events = [
            *some(early, "make", 2),
            *some(self.plan.things - early, "make", self.plan.days * 0.9),
            *some(self.plan.changes, "change", self.plan.days),
            *some(self.plan.changes // 4, "overtake", self.plan.days),
            *some(self.plan.outages, "outage", self.plan.days),
            *some(self.plan.days // 2, "fresh", self.plan.days),
        ]
        return sorted(events, reverse=True)

    def _down(self) -> None:
        """No house lives for a while."""
        longest = self._chance.choice((0, 5, 5, 600, 600, 7200, 43_200, 259_200))
        since = self.clock.at
        self.clock.at = min(since + timedelta(seconds=self._chance.uniform(0, longest)), self._end)
        self.down.append((since, self.clock.at))

    # -- one life

    async def _live(self, it: Life) -> None:
        """Live until the end, a sleep or death. Raises Died."""
        await self._settle_doubt(it)
        while True:
            next_at = await it.look()
            while await self._converse(it):
                next_at = await it.look()
            if self.clock.at >= self._end:
                return
            moments = [self._events[-1][0] if self._events else self._end, self._end]
            moments.extend(self._ripe[conversation] for conversation in it.waiting)
            if next_at is not None:
                moments.append(next_at)
            self.clock.at = max(min(moments), self.clock.at)
            if self._doomed and next_at is not None and next_at <= self.clock.at:
                self._doom(it)
            if self._events and self._events[-1][0] <= self.clock.at and await self._event(it, self._events.pop()[1]):
                return

    async def _converse(self, it: Life) -> bool:
        """Work on the conversations whose time has come: a job's run may take hours. True if one has ended."""
        ended = False
        for conversation in it.waiting:
            if conversation not in self._ripe:
                slow = 0.0 if self._chance.random() < 0.9 else self._chance.uniform(0, 30 * 3600)
                home = conversation == it.home
                self._ripe[conversation] = self.clock.at + timedelta(seconds=6 * 3600 if home else slow)
            if self._ripe[conversation] <= self.clock.at:
                await it.work(conversation)
                del self._ripe[conversation]
                ended = ended or conversation != it.home
        return ended

    async def _event(self, it: Life, what: str) -> bool:
        """Let it happen; True if this life is over."""
        match what:
            case "make":
                await self._make(it)
            case "change":
                await self._change(it)
            case "overtake":
                await self._overtake(it)
            case "fresh":
                await it.store.ask(self._fresh(it))
            case "outage" if self._chance.random() < 0.25:
                self.sleeps += 1
                self._down()
                return True
            case "outage" if self._chance.random() < 0.25:
                self._doom(it)
            case "outage":
                self._doomed = True  # with the next that is due
        return False

    def _doom(self, it: Life) -> None:
        """Let this life die at one of its next operations."""
        it.store.dies_at = it.store.operations + self._chance.randint(1, 14)
        it.store.after, self._doomed = self._chance.random() < 0.5, False

    def _fresh(self, it: Life) -> Commit:
        """The owner begins a new context, so that the home conversation stays short."""
        self._requests += 1
        return inbox.accept(
            id=it.store.next_id(),
            agent=MAIN_AGENT,
            conversation=it.home,
            source_key=f"request:fresh-{self._requests}",
            digest="",
            kind="fresh",
            body=dumps({}),
            outside=False,
            now=self.clock.at,
        )

    # -- the owner

    async def _make(self, it: Life) -> None:
        now, kind, pattern = (
            self.clock.at,
            self._chance.choice(("reminder", "reminder", "reminder", "job")),
            drawn(self._chance, self.clock.at),
        )
        rule = pattern.rule(self._chance)
        self._requests += 1
        made_by = f"request:{self._requests}"
        thing = made(
            id=it.store.next_id(),
            agent=MAIN_AGENT,
            kind=kind,
            title=f"Job {self._requests}" if kind == "job" else "",
            text=f"Text {self._requests}",
            timing=read_timing(rule, zone_named(pattern.zone), now),
            made_by=made_by,
            label=0,
            act=made_by,
            hops=0,
            now=now,
        )

        def landed(found: Thing) -> None:
            span = Span(pattern=pattern, since=now, begin=now)
            self.tracks[found.id] = Track(id=found.id, kind=kind, spans=[span])

        await self._do(it, Commit((things.make(thing),), (things.CHANGED,)), (made_by, 0, landed))

    async def _overtake(self, it: Life) -> None:
        """The scheduler is slow for once, and the owner changes what is due just before it comes up."""
        upcoming = await it.store.ask(Upcoming(1))
        if upcoming and (track := self.tracks.get(upcoming[0].thing.id)):
            since, late = self.clock.at, timedelta(seconds=self._chance.choice((0, 1, 59)))
            self.clock.at = max(upcoming[0].at + late, since)
            self.down.append((since, self.clock.at))
            await self._change(it, track)

    async def _change(self, it: Life, track: Track | None = None) -> None:
        """Change, pause, resume or remove something, or a certain thing."""
        there = [track for track in self.tracks.values() if not track.removed]
        if not there:
            return
        track = track or self._chance.choice(there)
        what = self._chance.choice(("when", "when", "text", "pause", "pause", "remove"))
        pattern, now = drawn(self._chance, self.clock.at), self.clock.at
        rule = pattern.rule(self._chance)
        seen = await it.store.ask(FindThing(id=track.id))
        assert seen is not None
        try:
            made_change, landed = self._changed(track, seen, what, pattern, rule, now)
        except (ToolFailed, BadTime):
            return  # it is over
        doubt = (seen.made_by, seen.version, landed)
        await self._do(it, Commit(made_change.writes, (things.CHANGED,)), doubt)

    def _changed(
        self, track: Track, seen: Thing, what: str, pattern: Pattern, rule: str, now: datetime
    ) -> tuple[Change, Callable[[Thing], None]]:
        def begin(pattern: Pattern, since: datetime) -> None:
            track.close(now)
            track.spans.append(Span(pattern=pattern, since=since, begin=now))

        match what:
            case "when":
                timing = read_timing(rule, zone_named(pattern.zone), now)
                paused = seen.state == "paused"

                def retimed(found: Thing) -> None:
                    begin(pattern, now)
                    if paused:
                        track.close(now)

                return change(seen, now, timing=timing), retimed
            case "text":
                return change(seen, now, text="Another text"), lambda found: None
            case "pause" if seen.state == "paused":
                last = track.spans[-1]
                return resume(seen, now), lambda found: begin(last.pattern, last.since)
            case "pause":
                return pause(seen, now), lambda found: track.close(now)

        def removed(found: Thing) -> None:
            track.close(now)
            track.removed = True

        return remove(seen, now), removed

    async def _do(self, it: Life, commit: Commit, doubt: tuple[str, int, Callable[[Thing], None]]) -> None:
        """Do what the owner asks. Should the house die over it, whether it landed is looked up in the next life."""
        self._doubt = doubt
        await it.store.ask(commit)
        await self._settle_doubt(it)

    async def _settle_doubt(self, it: Life) -> None:
        if self._doubt is None:
            return
        made_by, version, landed = self._doubt
        found = await it.store.ask(FindThing(made_by=made_by))
        self._doubt = None
        if found is not None and found.version > version:
            landed(found)
