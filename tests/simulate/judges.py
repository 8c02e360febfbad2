"""What must hold of every schedule, whatever its features: who wrote what when, and what the model was shown.

One rule: a judge says in words what is wrong; no words, no violation.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from actors.window import SUM_UP
from tests.simulate.injections import INJECTIONS
from tests.simulate.model import asker_of
from tests.simulate.outsider import Row
from tests.simulate.story import Story

RESUMES = 3


def judge(story: Story) -> Iterator[str]:
    """Everything that is wrong with a story, by what holds of all."""
    yield from _one_writer(story)
    yield from _every_row_in_its_commit(story)
    yield from _asked_for(story)
    yield from _takings(story)
    yield from _ids(story)
    yield from _transcripts(story)
    yield from _calls(story)
    yield from _requests(story)
    yield from _attempts(story)
    yield from _given_up(story)
    yield from _closed(story)


# -- who wrote what


def _one_writer(story: Story) -> Iterator[str]:
    """Commits are numbered one by one, and a holder that was followed by another never comes back."""
    gone: set[str] = set()
    holder = ""
    number = 0
    apps: dict[str, str] = {}
    for lease in story.leases:
        if lease["was_no"] != number or lease["commit_no"] != number + 1:
            yield f"commit {lease['was_no']} was followed by {lease['commit_no']}, after {number}"
        number = lease["commit_no"]
        if lease["holder"] != holder:
            gone.add(holder)
            holder = lease["holder"]
        if holder and holder in gone:
            yield f"{lease['app']} wrote commit {number} after it had lost the lease"
        if holder and apps.setdefault(holder, lease["app"]) != lease["app"]:
            yield f"two processes write as one holder: {apps[holder]} and {lease['app']}"
        lasts = story.stage.limits.lease_seconds
        if holder and not lasts - 5 < lease["left_seconds"] <= lasts:
            yield f"commit {number} left the lease {lease['left_seconds']:.1f} s, not {lasts:g}"
        elif holder and not lease["renewed"]:
            yield f"commit {number} of {lease['app']} did not renew the lease"
    if number != story.commit_no:
        yield f"the lease stands at {story.commit_no}, the audit at {number}"


def _every_row_in_its_commit(story: Story) -> Iterator[str]:
    """Every row that changed, changed in a commit that renewed the lease in its transaction, and carries its number."""
    commits = {(lease["xid"], lease["commit_no"]): lease["app"] for lease in story.leases}
    for write in story.writes:
        app, number = commits.get((write["xid"], write["commit_no"])), write["commit_no"]
        if app is None:
            yield f"{write['app']} wrote {write['tab']} without the lease: {write['fact']}"
        elif write["op"] != "DELETE" and write["no"] != number:
            yield f"{write['app']} wrote {write['tab']} as {write['no']} in commit {number}"
        elif write["app"] != app:
            yield f"{write['app']} wrote {write['tab']} in a commit of {app}"


def _asked_for(story: Story) -> Iterator[str]:
    """Every commit landed after the number that its process named when it sent it: no late copy, and no second one."""
    claims = {life.app: life.claims for life in story.stage.lives}
    began: set[str] = set()
    for lease in story.leases:
        holder, number = lease["holder"], lease["was_no"]
        if not holder or holder != lease["was_holder"]:
            continue
        if number in claims[lease["app"]]:
            began.add(holder)
        elif holder in began:  # before that it may take the lease twice, when the first answer was lost
            yield f"a commit of {lease['app']} landed after {number}, where it had sent none"


def _takings(story: Story) -> Iterator[str]:
    """The lease was taken only when it could be: free, run out, or by a deploy as new; never back from who took it."""
    lost: set[str] = set()
    owners = {lease["holder"]: lease["app"] for lease in story.leases}
    for lease in story.leases:
        if not lease["holder"] and owners[lease["was_holder"]] != lease["app"]:
            yield f"{lease['app']} gave up the lease of {owners[lease['was_holder']]}"
        if lease["holder"] in ("", lease["was_holder"]):
            continue
        free = lease["was_holder"] == "" or lease["was_over"]
        if not free and lease["generation"] < lease["was_generation"]:
            yield f"{lease['app']} of an older deploy took a living lease"
        if not free and lease["app"] in lost:
            yield f"{lease['app']} took a living lease back from the one that had taken over"
        lost |= _others(story, lease)


def _ids(story: Story) -> Iterator[str]:
    """No id was handed out twice, whatever it is the id of."""
    ids = Counter(row["id"] for name in ("conversations", "messages", "runs", "notes") for row in story.tables[name])
    if twice := [id for id, count in ids.items() if count > 1]:
        yield f"these ids were handed out twice: {twice}"


def _others(story: Story, taken: Row) -> set[str]:
    """The processes that lost the lease by this taking, and knew that they had it."""
    wrote = Counter(lease["app"] for lease in story.leases if lease["holder"] == taken["was_holder"] != "")
    return {app for app, commits in wrote.items() if app != taken["app"] and commits > 1}


# -- what the model was shown


def _transcripts(story: Story) -> Iterator[str]:
    """Entries are numbered without a gap, never changed, never empty."""
    seqs: defaultdict[int, list[int]] = defaultdict(list)
    for entry in story.entries:
        seqs[entry["conversation"]].append(entry["seq"])
        for block in entry["shown"]:
            if block["type"] == "text" and not block["text"].strip():
                yield f"entry {entry['seq']} has an empty text block"
        if not entry["shown"]:
            yield f"entry {entry['seq']} is empty"
    for conversation, found in seqs.items():
        if found != list(range(1, len(found) + 1)):
            yield f"conversation {conversation} has the entries {found}"
    for write in story.writes:
        if write["tab"] == "entries" and write["op"] != "INSERT":
            yield f"an entry was changed: {write['op']} {write['fact']}"


def _calls(story: Story) -> Iterator[str]:
    """Every tool use has its call, every call its use and exactly one result, written once."""
    used: list[str] = []
    for reply in story.replies:
        uses = [block for block in reply["shown"] if block["type"] == "tool_use"]
        expected = [f"call_{reply['run']}_{reply['turn']}_{at}" for at in range(len(uses))]
        if [use["id"] for use in uses] != expected:
            yield f"tool uses of a reply have the ids {[use['id'] for use in uses]}"
        used += [f"call:{reply['run']}.{reply['turn']}.{at}" for at in range(len(uses))]
    used += [key for key, call in story.calls.items() if call["turn"] == 0]  # what a late yes set going: see questions
    if Counter(used) != Counter(story.calls.keys()):
        yield f"calls {sorted(story.calls)} do not match the tool uses {sorted(used)}"
    for key, call in story.calls.items():
        run = story.runs.get(call["run"])
        if run is None:
            yield f"{key} has no run"
        elif run["closed_at"] is not None and call["result"] is None:
            yield f"{key} has no result, and its run is {run['state']}"
        if call["result"] is not None and not all(
            block["type"] != "text" or block["text"].strip() for block in call["result"]["content"]
        ):
            yield f"{key} has an empty result"
    results = Counter(
        (w["fact"]["run"], w["fact"]["turn"], w["fact"]["position"])
        for w in story.writes
        if w["tab"] == "calls" and w["fact"]["result"] is not None
    )
    for which, count in results.items():
        if count > 1:
            yield f"call {which} was given a result {count} times"


def _requests(story: Story) -> Iterator[str]:
    """The provider took every request for a good one; and each begins with all that the one before it said.

    But where a conversation begins afresh, or is summed up.
    """
    for asked in story.asked:
        if asked.refused is not None:
            yield f"the provider refused a request: {asked.refused}"
    numbers = {life.key: life.number for life in story.stage.lives}
    newest: dict[str, tuple[int, list[str]]] = {}
    last: dict[tuple[str, str], list[str]] = {}
    anew = sum(message["kind"] == "fresh" for message in story.tables["messages"])
    anew += sum(entry["kind"] == "summary" for entry in story.entries)
    hired = len(story.tables["agents"]) > 1
    for asked in story.asked:
        if asked.json is None or asked.refused is not None:
            continue
        shown = [*_bare(asked.json)][1 if hired else 0 :]  # the tools are others once there are others
        if SUM_UP in shown[-1]:
            del shown[-1]
        which = "home" if asker_of(asked.json) == "home" else _task(asked.json)
        by, before = newest.get(which, (0, []))
        if numbers[asked.key] < by and (asked.key, which) not in last and before[: len(shown)] == shown:
            continue  # it was on its way while a later life took over, and went on
        own = last.get((asked.key, which), before)  # one that was taken over from goes on where it was
        if before != shown[: len(before)] and own != shown[: len(own)]:
            anew -= 1
            if anew < 0:
                at = next(i for i, (a, b) in enumerate(zip(shown + [""] * len(before), before)) if a != b)
                now = shown[at] if at < len(shown) else ""
                same = next((i for i, (a, b) in enumerate(zip(before[at], now)) if a != b), len(now))
                was, now = before[at][max(same - 40, 0) : same + 160], now[max(same - 40, 0) : same + 160]
                yield f"a request does not go on where the one before it ended, at part {at}: {was!r} became {now!r}"
        newest[which], last[asked.key, which] = (numbers[asked.key], shown), shown


def _task(request: dict[str, Any]) -> str:
    """What tells the request of one job's run, worker or answer from another's: all that it was given to begin."""
    begins = itertools.takewhile(lambda message: message["role"] == "user", request["messages"])
    return _text([[block["text"] for block in message["content"]] for message in begins])


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _bare(request: dict[str, Any]) -> Iterator[str]:
    """The parts of a request as they count for the cache: without markers."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: bare(part) for name, part in value.items() if name != "cache_control"}
        return [bare(part) for part in value] if isinstance(value, list) else value

    yield _text(bare(request.get("tools")))
    yield _text(bare(request["system"]))
    for message in request["messages"]:
        yield _text(bare(message))


# -- how often a run was taken up


def _attempts(story: Story) -> Iterator[str]:
    """Whoever takes up an open run commits that first; a run that does not get on ends after three times.

    Getting on (a reply, a summary, a call's result, a decision of the owner's) wipes the count out; and so do the first
    two with the count of tries in vain, which nothing else touches but one more of them. A run that only waits for
    workers does not try to get on, so taking it up is not counted.
    """
    holders = {lease["commit_no"]: lease["holder"] for lease in story.leases}
    writes = story.writes
    got_on = {w["commit_no"] for w in writes if w["tab"] == "calls" and w["fact"]["result"] is not None}
    summed_up = {w["commit_no"] for w in writes if w["tab"] == "entries" and w["fact"]["kind"] == "summary"}
    got_on |= summed_up
    decided = {w["commit_no"] for w in writes if w["tab"] == "questions" and w["fact"]["state"] != "open"}
    last: dict[int, tuple[str, dict[str, Any]]] = {}
    for write, begun in _with_begun(story, holders):
        if write["tab"] != "runs":
            continue
        run, holder = write["fact"], holders.get(write["commit_no"], "")
        other, before = last.get(run["id"], (holder, run))
        last[run["id"]] = (holder, run)
        name = f"run {run['id']} in commit {run['no']} of {write['app']}"
        if run["retries"] >= story.stage.limits.model_tries:
            yield f"{name} asked the model {run['retries']} times in vain, and goes on"
        if run["attempt"] > RESUMES:
            yield f"{name} was taken up {run['attempt']} times"
        if run["closed_at"] is not None:
            continue
        waited_for = {tool for tool, by in begun[run["id"]].values() if by != holder}  # what was found begun
        only_waits = bool(waited_for) and waited_for <= {"delegate", "message_agent"}
        if other != holder and before["state"] == "open" and not only_waits:
            if run["attempt"] != before["attempt"] + 1 or run["turn"] != before["turn"]:
                yield f"{name} was taken up uncounted: {before['attempt']}, {run['attempt']}"
        elif run["turn"] > before["turn"] or write["commit_no"] in got_on | decided:
            if run["attempt"]:
                yield f"{name} got on and still counts {run['attempt']} times that it was taken up"
        elif run["attempt"] < before["attempt"]:
            yield f"{name} did not get on and counts {run['attempt']} after {before['attempt']} times"
        anew = write["commit_no"] in summed_up and run["retries"] == 0
        if (
            run["turn"] == before["turn"]
            and not anew
            and not before["retries"] <= run["retries"] <= before["retries"] + 1
        ):
            yield f"{name} counts {run['retries']} tries after {before['retries']}"
        if before["state"] == "open" and _waits_for_the_model(run) and run["retries"] == before["retries"]:
            yield f"{name} waits to ask the model again, and counts no try"
        if run["turn"] > before["turn"] and run["retries"]:
            yield f"{name} got its answer and still counts {run['retries']} tries"


def _with_begun(
    story: Story, holders: Mapping[int, str]
) -> Iterator[tuple[Row, Mapping[int, Mapping[tuple[int, int], tuple[str, str]]]]]:
    """Every write, with the calls of each run that had begun and had no result before its commit: tool and beginner."""
    begun: defaultdict[int, dict[tuple[int, int], tuple[str, str]]] = defaultdict(dict)
    for no, commit in itertools.groupby(story.writes, key=lambda write: write["commit_no"]):
        writes = list(commit)
        yield from ((write, begun) for write in writes)
        for fact in (write["fact"] for write in writes if write["tab"] == "calls"):
            which = fact["turn"], fact["position"]
            if fact["state"] == "begun":
                begun[fact["run"]].setdefault(which, (fact["tool"], holders.get(no, "")))
            else:
                begun[fact["run"]].pop(which, None)


def _waits_for_the_model(run: dict[str, Any]) -> bool:
    return run["state"] == "waiting" and run["retry_at"] is not None and "limit" not in run["reason"]


# -- how it ends


def _closed(story: Story) -> Iterator[str]:
    """Nobody is left in doubt about a commit while the database is there."""
    if story.struck(*(name for name in INJECTIONS if name.startswith(("db: absent", "db: silent", "db: paused")))):
        return
    for said in story.stage.said_of_closing:
        if "during a commit" in said:
            yield f"the database was there, and {said}"


def _given_up(story: Story) -> Iterator[str]:
    """Whoever was told to stop, and did, has given the lease up if it was his."""
    last = story.leases[-1] if story.leases else None
    stopped = story.stage.stopped_well
    if stopped is not None and last is not None and last["app"] == stopped.app and last["holder"]:
        yield f"{stopped.app} stopped and kept the lease"
