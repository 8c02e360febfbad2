"""What is committed when a slot comes up, and when a job's run has ended.

One rule: a slot's fate, what it sets going and its push are one commit, and nothing here reads a clock or a row: the
same slot always makes the same commit.

All that comes up is framed as text from outside; its label is as clean as what it derives from. So whoever is only
reminded, and has jobs that only know what he told them, has nothing from outside about.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Literal, Protocol

import attrs

from storage import conversations, inbox, slots, things
from storage.operation import Bell, Commit, Write
from storage.pushes import WAITS
from storage.records import Fate, Thing
from storage.slots import EndedRun, Report
from storage.text import dumps, loads
from storage.things import Due
from tools.catchup import Verdict
from tools.jobs import says_nothing
from tools.limits import Limits
from tools.schedule import Slot
from tools.things import fate_of_skipped
from tools.zones import ZONE_DATA, said, span, zone_named

_WHY_LATE = ", since dreamwalker slept or was stopped"
_UTC = zone_named("UTC")


class Pushes(Protocol):
    """Makes the writes that put a push into the outbox. They belong into the commit of what they tell, with `WAITS`."""

    def push(
        self, *, id: str, kind: Literal["reminder", "report"], thing: int, title: str, text: str, now: datetime
    ) -> tuple[Write, ...]:
        """One push. `id` is the slot's key, so that a retry meets it; `thing` the reminder's or job's number."""
        ...


def key_of(thing: int, slot: str) -> str:
    """The key of everything that a slot makes once, and the act that it is."""
    return f"slot:{thing}:{slot}"


@attrs.frozen(kw_only=True)
class Firing:
    """Makes the commits. `next_id` hands out ids."""

    next_id: Callable[[], int]
    pushes: Pushes
    limits: Limits

    def come_up(self, due: Due, verdict: Verdict, reports: tuple[Report, ...], now: datetime) -> Commit:
        """What a verdict says becomes of a thing's slots. `reports`: a job's earlier ones, oldest first."""
        thing = due.thing
        writes: list[Write] = []
        bells: tuple[Bell, ...] = ()
        running, skipping = thing.running, thing.skipping
        if verdict.skipped is not None:
            row = fate_of_skipped(thing, verdict.skipped, now)
            if skipping is not None and due.skipping_why == row.why:
                writes.append(slots.skip_more(skipping, row))
            else:
                writes.append(slots.add(row))
                skipping = row.slot
        if (slot := verdict.now) is not None:
            skipping = None
            if thing.kind == "job":
                running = slot.name
                made, bells = self._run(thing, slot, reports, now)
            else:
                made, bells = self._remind(due, slot, now)
            writes.extend(made)
        advanced = attrs.evolve(
            thing,
            state="done" if verdict.next_at is None else "active",
            next_at=verdict.next_at,
            reached_at=verdict.reached_at,
            zone_data=ZONE_DATA,
            running=running,
            skipping=skipping,
        )
        return Commit((things.advance(thing, advanced), *writes), bells)

    def _remind(self, due: Due, slot: Slot, now: datetime) -> tuple[list[Write], tuple[Bell, ...]]:
        thing, key, late = due.thing, key_of(due.thing.id, slot.name), _late_seconds(slot.at, now)
        text = f"Due {self._when(slot.at, thing, late)}\n{thing.text}"
        accepted = inbox.accept(
            id=self.next_id(),
            agent=thing.agent,
            conversation=due.home,
            source_key=key,
            digest="",
            kind="reminder",
            body=dumps({"text": text, "source": "REMINDER", "from": f"reminder {thing.id}"}),
            outside=thing.label > 0,
            now=now,
            cause=f"thing:{thing.id}",
            act=key,
            hops=thing.hops,
        )
        fate = _fate(thing, slot, now, fate="ran", conversation=None)
        title = f"Reminder, {slot.at.astimezone(zone_named(thing.zone)):%a %Y-%m-%d %H:%M}"
        shown = thing.text if late <= self.limits.late_seconds else f"{thing.text}\n\n({span(late)} late{_WHY_LATE})"
        push = self.pushes.push(id=key, kind="reminder", thing=thing.id, title=title, text=shown, now=now)
        return [slots.add(fate), *accepted.writes, *push], (*accepted.bells, WAITS)

    def _run(
        self, thing: Thing, slot: Slot, reports: tuple[Report, ...], now: datetime
    ) -> tuple[list[Write], tuple[Bell, ...]]:
        key, conversation = key_of(thing.id, slot.name), self.next_id()
        earlier = [
            {
                "from": f"its report of {said(report.at, _UTC)}",  # where he lives is not for a run to know
                "text": report.text,
                "source": "JOB",
                "clean": report.label == 0,
            }
            for report in reports
        ]
        accepted = inbox.accept(
            id=self.next_id(),
            agent=thing.agent,
            conversation=conversation,
            source_key=key,
            digest="",
            kind="job",
            body=dumps({"text": thing.text, "source": "TASK", "from": f"the job “{thing.title}”", "quotes": earlier}),
            outside=thing.label > 0,
            now=now,
            cause=f"thing:{thing.id}",
            act=key,
            hops=thing.hops,
        )
        made = conversations.make(id=conversation, agent=thing.agent, kind="job", made_by=key, now=now)
        fate = _fate(thing, slot, now, fate="running", conversation=conversation)
        return [slots.add(fate), made, *accepted.writes], accepted.bells

    def report(self, ended: EndedRun, now: datetime) -> Commit:
        """The fate of a job's slot whose run has ended, and its report to the home conversation and the phone."""
        failed, said_last = ended.state != "done", _text_of(ended.last_reply)
        report = None if failed or not said_last or says_nothing(said_last) else self._cut(said_last)
        writes = [
            slots.settle(
                ended.thing,
                ended.slot,
                fate="failed" if failed else "ran",
                why=ended.reason if failed else None,
                report=report,
                now=now,
            ),
            things.run_over(ended.thing, ended.slot),
        ]
        if report is None and not failed:
            return Commit(tuple(writes))
        title, when = f"Job “{ended.title}”", said(ended.at, zone_named(ended.zone))
        told = f"It failed: {ended.reason}" if report is None else report
        key = key_of(ended.thing, ended.slot)
        notice = inbox.accept(
            id=self.next_id(),
            agent=ended.agent,
            conversation=ended.home,
            source_key=f"report:{key}",
            digest="",
            kind="notice",
            body=dumps({"text": told, "source": "JOB", "from": f"job {ended.thing} “{ended.title}”, run of {when}"}),
            outside=ended.label > 0,
            now=now,
            cause=key,
            act=key,
            hops=ended.hops,
        )
        # what he stopped himself he knows of, and of a row of failures the first says it all
        if ended.state == "done" or (ended.state == "failed" and not ended.failed_before):
            push = self.pushes.push(id=key, kind="report", thing=ended.thing, title=title, text=told, now=now)
            writes.extend(push)
        return Commit((*writes, *notice.writes), (*notice.bells, WAITS))

    def set_aside(self, due: Due, error: str, now: datetime) -> Commit:
        """Pause a thing that can't be reckoned with, and tell so, rather than to stumble over it again and again."""
        thing = due.thing
        name = f"{thing.kind} {thing.id}{f' “{thing.title}”' if thing.title else ''}"
        text = f"The {name} could not come up and is paused ({error}). Its rule is {thing.rule} ({thing.zone})."
        key = f"set-aside:{thing.id}:{thing.version}"
        notice = inbox.accept(
            id=self.next_id(),
            agent=thing.agent,
            conversation=due.home,
            source_key=key,
            digest="",
            kind="notice",
            body=dumps({"text": text, "source": "ERROR", "from": name}),
            outside=True,
            now=now,
            act=key,
        )
        paused = attrs.evolve(thing, state="paused", next_at=None)
        return Commit((things.change(thing, paused), *notice.writes), notice.bells)

    def _when(self, at: datetime, thing: Thing, late_seconds: int) -> str:
        when = said(at, zone_named(thing.zone))
        if late_seconds <= self.limits.late_seconds:
            return f"{when}:"
        return f"{when}, so {span(late_seconds)} late{_WHY_LATE}:"

    def _cut(self, report: str) -> str:
        limit = self.limits.report_characters
        if len(report) <= limit:
            return report
        return f"{report[:limit]}\n… cut here: {len(report) - limit:,} more characters"


def _late_seconds(at: datetime, now: datetime) -> int:
    return max(int((now - at).total_seconds()), 0)


def _fate(thing: Thing, slot: Slot, now: datetime, *, fate: str, conversation: int | None) -> Fate:
    return Fate(
        thing=thing.id,
        slot=slot.name,
        at=slot.at,
        version=thing.version,
        fate=fate,
        late_seconds=_late_seconds(slot.at, now),
        why=None,
        last_slot=None,
        last_at=None,
        count=1,
        conversation=conversation,
        report=None,
        settled_at=None if fate == "running" else now,
        no=0,
    )


def _text_of(shown: str | None) -> str:
    """The text of a reply's blocks."""
    blocks = [] if shown is None else loads(shown)
    return "\n".join(block["text"] for block in blocks if block["type"] == "text").strip()
