"""The practice model's rules for memory: what is a thing to note, and what is a question about what was noted or said.

One rule: a rule that does not fit says None, and the next one is tried.
"""

import re

import attrs

from dreamwalker.practice_words import content_words, find, phrases, sentence, short, without

TITLE_CHARACTERS = 60
QUERY_WORDS = 8


@attrs.frozen(kw_only=True)
class Wish:
    """What is wanted, and its parts by role: title, text, query, when, rule, task, agent, question, options, count."""

    kind: str
    parts: dict[str, str] = attrs.field(factory=dict)


_QUESTION_WORD = "(when|where|what|who|whose|which|how|if|whether|why)"
NOTE_LEAD = phrases(
    "(remember|remembering|memorise|memorize|memorizing|note|noting|save|saving|store|storing|record|log|know|learn)",
    "(make|making|take|taking|write|writing|add|create|save|keep|leave|put) (me|up|down)?"
    " (a|an|another|the|this|that|it)? (new|quick|short|mental|little)? (note|memo|record)",
    "(jot|jotting|write|writing|note|put|get|take|scribble) (this|that|it)? (down|up)",
    "write (this|that|it)",
    "(keep|bear|have|hold|keeping|bearing) (this|that|it)? in (your|my)? (mind|memory)",
    "(don't|do not|never|not|let's not) (you|ever)? (forget|forgetting)",
    "(keep|hold|leave) (this|that|it) (safe|somewhere)?",
    "(put|add|enter|write|copy|putting|adding) (this|that|it|the following)? (in|to|into|down in|on) (my|the|your)"
    " (notes|note|memory|list)",
    "for (future|later|the|your|further) (reference|record|use|information|notes)",
    "(for later|fyi|new note|memo|note to self|heads up|quick note)",
    "(just|so)? so that? you know",
    "you should know",
    "(it's|it is|it might be|this is) (worth|important|good|useful) (to know|to remember|knowing|remembering|noting)?",
    "(i want|i wanted|i'd like|i would like|let) (you|me)? (to know|to tell you|to note|tell you)",
    "(i have to|i need to|i should|i must) (tell|inform) you",
    "(here is|here's) (something|a fact|one thing|some info)",
)
_LINK_WORDS = (
    "that|this|the fact|the following|down|for me|of|in my notes|to remember|somewhere|saying|which says|as a note|"
    "in a note|for later|please|in mind|for you|something|about the fact|here"
)
_LINK = rf"(?:[\s,:;\"'-]|(?:{_LINK_WORDS})\b)*"
_NOTE_TAIL = (
    r"^(?P<text>.+?)[\s,;:.!–-]+(?:(?:and|so|but|please|just|can you|could you|you should)\s+)*"
    r"(?:remember|note|save|store|memori[sz]e|record|keep|jot|don't forget|do not forget|write)"
    r"(?:\s+(?:that|this|it|to|in|my|your|the|notes?|mind|memory|down|for|me|later|please|somewhere))*$"
)
_KEEP = rf"^(?:\S+\s+){{1,6}}(?:remember|note down|keep in mind|not forget)\b{_LINK}(?P<text>\S.+)$"
_STATEMENT = (
    r"^(?:[\w'-]+[\s,:]+){1,7}?(?:is|are|was|were|has|have|lives?|likes?|loves?|hates?|works?|prefers?|moved|called|starts?|ends?|"
    r"comes?|goes|am|born|owes?|parked|put|left|hid|visits?|weighs?|takes?|means?|costs?|bought|must|can't|cannot|won't|don't|"
    r"doesn't|closes?|opens?|leaves?|arrives?|needs?|eats?|drinks?|speaks?|plays?|drives?|married|works)\b.*\w|"
    r"^(?:my|our|his|her|their) [^:]{2,60}:\s*\S|"
    r"^(?:i'm|i've|we're|we've|there's|it's|he's|she's|they're)\b.+ "
)
_ASKING = phrases(
    "(when|where|what|who|whose|which|how|why|whats|whens|wheres|what's|when's|where's|who's|do|does|did|is|are|was|were)",
    "(have|has|had|any|recall|find|search|check|look|see if|go through)",
    "(refresh my memory|help me remember|jog my memory)",
    "(tell|give|show|remind) me",
    "i (forgot|forget|can't (remember|recall)|don't (remember|know|recall)|need|am looking for)",
    "i'm looking for",
)
_WISHING = phrases("i (want|need|would|have to|am looking|wonder|wish|guess)", "(i'd|i'm looking)")


def is_note(text: str) -> bool:
    """Whether a text opens with words that ask to keep what follows."""
    return find(rf"^{NOTE_LEAD}", text) is not None


def remember(text: str, *, question: bool) -> Wish | None:
    """Something to note, said as a request or as a plain statement about the owner's world."""
    lead = find(rf"^{NOTE_LEAD}", text)
    if find(rf"\bremember {phrases(_QUESTION_WORD)}", text) or (question and lead is None):
        return None
    titled = find(
        rf"^{NOTE_LEAD} (?:called|titled|named|with the title|under|headed) [\"']?(?P<title>.+?)[\"']?"
        r"(?:\s*[:,-]\s*| saying | that says | with the text | with )(?P<text>.+)$",
        text,
    )
    if titled:
        return _note(titled["text"], title=titled["title"])
    if lead and (said := find(rf"^{NOTE_LEAD}{_LINK}(?P<text>.+)$", text)):
        return _note(said["text"])
    if tail := find(_NOTE_TAIL, text):
        return _note(tail["text"])
    if not question and (keyword := find(_KEEP, text)):
        return _note(keyword["text"])
    if not question and find(_STATEMENT, text) and not find(rf"^(?:{_WISHING}|{_ASKING})", text):
        return _note(text)
    return None


def _note(text: str, title: str = "") -> Wish | None:
    text = sentence(re.sub(r"^(?:that|to)\s+", "", text.strip(" \"',;:-"), flags=re.IGNORECASE))
    if len(text) < 3:
        return None
    return Wish(kind="remember", parts={"title": short(title or text.rstrip(".!"), TITLE_CHARACTERS), "text": text})


_SAYING = (
    r"(say\w*|said|tell\w*|told|mention\w*|talk\w*|discuss\w*|speak\w*|spoke\w*|"
    r"writ\w*|wrote|ask\w*|chat\w*|bring\w*|brought)"
)
_HISTORY = phrases(
    f"(did|have|had|has|were|was|am) (i|we|you) * {_SAYING}",
    "(i|we|you|i've|we've|you've|i'd) (ever|already|just|once|have|had|last)?"
    " (said|told you|told|mentioned|discussed|spoke|wrote|asked|talked)",
    "(our|the|my|this|past|previous|earlier|old|chat|message) *"
    " (conversation|conversations|chat|chats|discussion|history)",
    "(our|past|previous|earlier|old|my) (messages|talks|discussions)",
    "last time (we|i)",
    "(me|us|my) (saying|mentioning|telling|asking|talking|writing)",
    "(did|has) (that|it|this) (come|came) up",
    "(in|from) (our|the|an|a|some) (earlier|old|last|previous) * (message|messages|talk|chat)",
)
_ABOUT = r"\b(?:about|regarding|concerning|on the (?:subject|topic) of|mention(?:ed)?|discuss(?:ed)?)\s+(?P<topic>.+)$"
_FOR = r"\b(?:search|look|check|dig|find|notes?|history|chats?|conversations?|messages)\b.*?\bfor\s+(?P<topic>.+)$"


def history(text: str) -> Wish | None:
    """A question about what was said before."""
    return _query("history", text) if find(_HISTORY, text) else None


_SHOW = "(list|show|see|display|give|tell|read|what|what's|which|have|view|print|any|open|are|got|how many)"
_KEPT = "(noted|saved|stored|written down|kept|remembered)"
_ALL_NOTES = phrases(
    f"{_SHOW} * (all|every)? (my|the|your|of)? notes",
    f"(what|what've|everything) (have|did)? (you|i|you've|i've) (have|got)? * {_KEPT}",
    "(notes|note) (list|overview|titles)",
    "(overview|list|summary|titles) of (all|every)? (my|the|your|of)? notes",
)
_ALL_KNOWN = phrases("what (all|else)? do you (know|remember) (about me|so far|already|of me)?")
_OF_SOMETHING = (
    r"\b(?:about|on|for|regarding|with|called|titled|named|of)\s+"
    r"(?!(?:(?:all|my|the|your)\s+)*notes\b|(?:me|today|all|everything)\b)\S"
)
_ALL_REMINDERS = phrases(f"{_SHOW} * reminders", "reminders (are|do) (there|i have)")
_ALL_JOBS = phrases(f"{_SHOW} * (jobs|schedules)")


def lists(text: str) -> Wish | None:
    """A wish to see all notes, reminders or jobs, or to read one note by its name."""
    if (wish := _one_note(text)) is not None:
        return wish
    if find(rf"^(?:(?:all|my|the|of)\s+)*notes$|^{_ALL_KNOWN}$", text):
        return Wish(kind="list_notes")
    if find(_ALL_NOTES, text) and not find(_OF_SOMETHING, text):
        return Wish(kind="list_notes")
    if find(rf"^(?:my |all )*reminders$|{_ALL_REMINDERS}", text):
        return Wish(kind="list_reminders")
    return Wish(kind="list_jobs") if find(rf"^(?:my |all )*(?:jobs|schedules)$|{_ALL_JOBS}", text) else None


_READ = (
    r"\b(?:read|open|show|display|see|view|fetch|give|pull up|bring up)(?: me)?(?: out| aloud| up)?"
    r"(?: the| my| that)?(?: full| whole| entire| complete)?"
)
_NAMED = r"(?:called |titled |named |about |on |for |with the title )?[\"']?(?!to\b)(?P<name>.+?)[\"']?$"


def _one_note(text: str) -> Wish | None:
    named = (
        find(rf"{_READ} note {_NAMED}", text)
        or find(rf"{_READ} (?P<name>(?!notes?\b).+?) note$", text)
        or find(r"\bwhat does (?:the |my )(?:note (?:on |about |called )?)?(?P<name>.+?)(?: note)? say$", text)
    )
    if named is None or not find(r"\bnote\b", text):
        return None
    query = " ".join(content_words(named["name"])) or named["name"]
    return Wish(kind="read_note", parts={"title": sentence(named["name"]).rstrip("."), "query": query})


_STILL = phrases(
    "remind me (of|what|when|where|who|which|how|again)",
    "i (forgot|forget|can't (remember|recall)|don't (remember|recall))",
    "(i'm|i am) trying to (remember|recall)",
    "(look|search|check|go|see|dig) (in|into|through|up|at)? (my|your|the) (notes|note|memory)",
)


def recalls_first(text: str) -> Wish | None:
    """Questions that open like a reminder or a search but are about what was noted."""
    return _query("recall", text) if find(rf"^{_STILL}", text) else None


def recall(text: str, *, question: bool) -> Wish | None:
    """Any other question: all that the practice model knows stands in the notes."""
    return _query("recall", text) if question or find(rf"^{_ASKING}", text) else None


_IN_NOTES = phrases("in (my|your|the) (notes|note|memory)")


def _query(kind: str, text: str) -> Wish | None:
    text = without(_IN_NOTES, text)
    topic = find(_ABOUT, text) or find(_FOR, text)
    words = content_words(topic["topic"] if topic else text) or content_words(text)
    return Wish(kind=kind, parts={"query": " ".join(words[:QUERY_WORDS])}) if words else None
