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
    "(make|making|take|taking|write|writing|add|create|save|keep|leave|put) (me|up|down)? (a|an|another|the|this|that|it)?"
    " (new|quick|short|mental|little)? (note|memo|record)",
    "(jot|jotting|write|writing|note|put|get|take|scribble) (this|that|it)? (down|up)",
    "write (this|that|it)",
    "(keep|bear|have|hold|keeping|bearing) (this|that|it)? in (your|my)? (mind|memory)",
    "(don't|do not|never|not|let's not) ever? (forget|forgetting)",
    "(put|add|enter|write|copy|putting|adding) (this|that|it|the following)? (in|to|into|down in|on) (my|the|your)"
    " (notes|note|memory|list)",
    "for (future|later|the|your|further) (reference|record|use|information|notes)",
    "(for later|fyi|new note|memo|note to self|heads up|quick note)",
    "(just|so)? so that? you know",
    "you should know",
    "(it's|it is|it might be|this is) (worth|important|good|useful) (to (know|remember)|knowing|remembering|noting)?",
    "(i want|i'd like|let) (you|me)? (to (know|tell you|note)|tell you)",
    "(i have to|i need to|i should|i must) (tell|inform) you",
    "here (is|'s) (something|a fact|one thing|some info)",
    "here's (something|a fact|one thing|some info)",
)
_LINK_WORDS = (
    "that|this|the fact|the following|down|for me|of|in my notes|to remember|somewhere|saying|which says|as a note|"
    "in a note|for later|please|in mind|for you|something|about the fact|here"
)
_LINK = rf"(?:[\s,:;\"'-]|(?:{_LINK_WORDS})\b)*"
_NOTE_TAIL = (
    r"^(?P<text>.+?)[\s,;:.!–-]+(?:(?:and|so|but|please|just|can you|could you|you should)\s+)*(?:remember|note|save|store|"
    r"memori[sz]e|record|keep|jot|don't forget|do not forget|write)(?:\s+(?:that|this|it|to|in|my|your|the|notes?|mind|"
    r"memory|down|for|me|later|please|somewhere))*$"
)
_STATEMENT = (
    r"^(?:my|our|the|i|we|he|she|his|her|their|there|it)\b.{1,60}?(?:\b(?:is|are|was|were|has|have|lives?|likes?|loves?|hates?|"
    r"works?|prefers?|moved|called|starts?|ends?|comes?|goes|am|born|owes?|parked|put|left|hid|visits?|weighs?|takes?|"
    r"means?|costs?|bought|need|can't|cannot|won't|don't|doesn't|closes?|opens?|leaves?|arrives?)\b|'s\b|'m\b|'ve\b)"
)
_WISHING = phrases("i (want|need|would|'d|have to|am looking|wonder|wish|guess)", "i'd", "i'm looking")


def is_note(text: str) -> bool:
    """Whether a text opens with words that ask to keep what follows."""
    return find(rf"^{NOTE_LEAD}", text) is not None


def remember(text: str, *, question: bool) -> Wish | None:
    """Something to note, said as a request or as a plain statement about the owner's world."""
    lead = find(rf"^{NOTE_LEAD}", text)
    if question and (lead is None or find(rf"^remember {_QUESTION_WORD}\b", text)):
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
    if not question and find(_STATEMENT, text) and not find(rf"^{_WISHING}", text):
        return _note(text)
    return None


def _note(text: str, title: str = "") -> Wish | None:
    text = sentence(re.sub(r"^(?:that|to)\s+", "", text.strip(" \"',;:-"), flags=re.IGNORECASE))
    if len(text) < 3:
        return None
    return Wish(kind="remember", parts={"title": short(title or text.rstrip(".!"), TITLE_CHARACTERS), "text": text})


_SAYING = "(say|said|tell|told|mention|mentioned|talk|talked|talking|discuss|discussed|speak|spoken|spoke|write|wrote)"
_HISTORY = phrases(
    f"(did|have|had|has|were|was) (i|we|you) (ever|already|just|once|really|previously|not)? {_SAYING}",
    f"(i|we|you) (ever|already|just|once|have|had)? (said|told you|mentioned|talked about|discussed|spoke|asked you)",
    "(our|the|my|this|past|previous|earlier|old|chat|message) * (conversation|conversations|chat|chats|discussion|history)",
    "(our|past|previous|earlier|old) (messages|talks)",
    "last time we",
    "(did|has) (that|it|this) (come|came) up",
    "(in|from) (our|the|an|a|some) (earlier|old|last|previous) *? (message|messages|talk|chat)",
)
_ABOUT = (
    r"\b(?:about|regarding|concerning|on the (?:subject|topic) of|mention(?:ed)?|discuss(?:ed)?|for)\s+(?P<topic>.+)$"
)


def history(text: str) -> Wish | None:
    """A question about what was said before."""
    return _query("history", text) if find(_HISTORY, text) else None


_SHOW = "(list|show|see|display|give|tell|read|what|what's|which|have|view|print|any|open|overview|are|got)"


def lists(text: str) -> Wish | None:
    """A wish to see all notes, reminders or jobs, or to read one note by its name."""
    if (wish := _one_note(text)) is not None:
        return wish
    about = find(
        r"\b(?:about|on|for|regarding|with|called|titled|named|of)\s+(?!(?:me|today|all|everything)\b)\S", text
    )
    all_notes = phrases(
        f"{_SHOW} * (all|every)? *? notes",
        "(what|everything) (have|'ve|did)? (you|i) (have|'ve|got)? *? (noted|saved|stored|written down|kept|remembered)",
        "what do you (know|remember) (about me|so far|already|of me)?$",
        "(notes|note) (list|overview)",
    )
    if find(r"^(?:(?:all|my|the|of)\s+)*notes$", text) or (about is None and find(all_notes, text)):
        return Wish(kind="list_notes")
    if find(
        rf"^(?:my |all )*reminders$|{phrases(f'{_SHOW} * *? reminders', 'reminders (are|do) (there|i have)')}", text
    ):
        return Wish(kind="list_reminders")
    if find(rf"^(?:my |all )*(?:jobs|schedules)$|{phrases(f'{_SHOW} * *? (jobs|schedules)')}", text):
        return Wish(kind="list_jobs")
    return None


def _one_note(text: str) -> Wish | None:
    read = "(read|open|show|display|see|view|fetch|pull up|bring up)"
    named = find(
        rf"\b{read} (?:me )?(?:the |my |that )?note (?:called |titled |named |about |on |for |with the title )?"
        r"[\"']?(?!to\b)(?P<name>.+?)[\"']?$",
        text,
    )
    named = named or find(rf"\b{read} (?:me )?(?:the |my |that )(?P<name>(?!notes?\b).+?) note$", text)
    named = named or find(
        r"\bwhat does (?:the |my )(?:note (?:on |about |called )?)?(?P<name>.+?)(?: note)? say$", text
    )
    if named is None or not find(r"\bnote\b", text):
        return None
    query = " ".join(content_words(named["name"])) or named["name"]
    return Wish(kind="read_note", parts={"title": sentence(named["name"]).rstrip("."), "query": query})


_ASKING = phrases(
    "(when|where|what|who|whose|which|how|why|whats|whens|wheres|what's|when's|where's|who's|do|does|did|is|are|was|were)",
    "(have|has|had|any|recall|find|search|check|look|see if|go through|refresh my memory|help me remember|jog my memory)",
    "(tell|give|show|remind) me",
    "i (forgot|forget|can't (remember|recall)|don't (remember|know|recall)|need|am looking for)",
    "i'm looking for",
)
_STILL = phrases(
    "remind me (of|what|when|where|who|which|how|again)",
    "i (forgot|forget|can't (remember|recall)|don't (remember|recall))",
    "(look|search|check|go|see|dig) (in|into|through|up|at)? (my|your|the) (notes|note|memory)",
)


def recalls_first(text: str) -> Wish | None:
    """Questions that open like a reminder or a search but are about what was noted."""
    return _query("recall", text) if find(rf"^{_STILL}", text) else None


def recall(text: str, *, question: bool) -> Wish | None:
    """Any other question: all that the practice model knows stands in the notes."""
    return _query("recall", text) if question or find(rf"^{_ASKING}", text) else None


def _query(kind: str, text: str) -> Wish | None:
    text = without(phrases("in (my|your|the) (notes|note|memory)"), text)
    topic = find(_ABOUT, text)
    words = content_words(topic["topic"] if topic else text) or content_words(text)
    return Wish(kind=kind, parts={"query": " ".join(words[:QUERY_WORDS])}) if words else None
