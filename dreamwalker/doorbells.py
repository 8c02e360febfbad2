"""Doorbells: who is told to look again when something was committed.

One rule: a ring says where to look and nothing else. It comes after the commit, and losing one loses nothing.
"""

from typing import TYPE_CHECKING

from actors.about import tell_of
from storage import answers, inbox, pushes, runs, things
from storage.operation import Bell

if TYPE_CHECKING:
    from .house import House


def answer(house: "House", bell: Bell, no: int) -> None:
    """Have whoever a bell of commit `no` is for look again."""
    worker = house.workers.of(bell.key)
    if bell.topic == inbox.LIVE:
        house.words.hear(no)
        house.live.changed(bell.key)
        if worker is not None:  # it is shown under its call, too
            house.live.changed(worker.worker.parent)
        return
    if bell.topic == runs.WORKERS:
        house.workers.look()
        return
    if bell.topic == answers.EXPIRY:
        house.decisions.mailbox.ring(bell.key)
        return
    if bell.topic == runs.ENDED and bell.letter is not None:  # by whoever ended it, whose run it was not
        tell_of(bell.letter(no))
    if bell.topic in (things.SCHEDULE, runs.ENDED):
        house.scheduler.mailbox.ring(0)
        return
    if bell.topic == pushes.OUTBOX:
        house.pusher.mailbox.ring(0)
        return
    kind, _, name = bell.topic.partition(":")
    if kind == "agent" and worker is not None:
        worker.hear()
    elif kind == "agent" and (actor := house.agent(name)):
        actor.hear(bell.key, bell.letter(no) if bell.letter is not None else None)
