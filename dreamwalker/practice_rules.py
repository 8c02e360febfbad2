"""The practice model's rules: what a sentence asks for.

One rule: the rules are tried in order, the more telling ones first, and the first that fits decides. They look at
what kind of words stand where, not at whole sentences, so that wordings nobody thought of fit too.
"""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Literal

import attrs

from dreamwalker.practice_time import find_schedule, find_when
from dreamwalker.practice_words import content_words, plain, sentence, short

Kind = Literal[
    "remember",
    "recall",
    "list_notes",
    "read_note",
    "history",
    "remind",
    "remind_when",
    "schedule",
    "schedule_what",
    "list_reminders",
    "list_jobs",
    "look_up",
    "ask_agent",
    "choose",
    "hello",
    "thanks",
    "bye",
    "help",
    "count",
    "story",
    "unknown",
]
TITLE_CHARACTERS = 60
COUNT_MAX = 2000


@attrs.frozen(kw_only=True)
class Wish:
    """What is wanted, and its parts by role: title, text, query, when, rule, task, agent, question, options, count."""

    kind: Kind
    parts: dict[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class _Said:
    text: str
    question: bool
    now: datetime | None


def understand(text: str, now: datetime | None, *, waiting_for: str | None = None) -> Wish:
    """What a sentence asks for. `now` is naive local time; `waiting_for` is what a time was just asked for."""
    core = plain(text)
    said = _Said(text=core.rstrip(" ?!."), question=core.rstrip().endswith("?"), now=now)
    if waiting_for and now and (when := find_when(core, now)) and len(core.split()) <= 8:
        return Wish(kind="remind", parts={"when": _wall(when.at), "text": waiting_for})
    if not said.text:
        return Wish(kind="hello" if text.strip() else "unknown")
    for rule in _RULES:
        if (wish := rule(said)) is not None:
            return wish
    return Wish(kind="unknown")


def _find(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.IGNORECASE)


def _wall(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def _small_talk(said: _Said) -> Wish | None:
    if _find(
        r"^(?:good (?:morning|afternoon|evening|day)|hiya|yo|hi there|hello there|servus|greetings|how are you.*|"
        r"how(?:'s| is) it going|what's up|(?:are )?you there)$",
        said.text,
    ):
        return Wish(kind="hello")
    if (
        _find(
            r"^(?:(?:many )?thanks?\b.*|thank you\b.*|thx.*|ta|cheers|(?:that's |very )?(?:great|perfect|nice|cool|good|"
            r"well done|awesome|excellent|lovely|brilliant)(?: job| work)?)$",
            said.text,
        )
        and len(said.text) < 50
    ):
        return Wish(kind="thanks")
    if _find(r"^(?:good ?bye|bye(?: bye)?|see you.*|good night|cya|later|that's all.*)$", said.text):
        return Wish(kind="bye")
    if _find(
        r"^(?:help|commands|menu|\?+|what now)$|\bhelp me out$|\bwhat (?:else )?(?:can|could|do) (?:i|you) "
        r"(?:do|say|understand|try|ask|know how)\b|\bwhat are you(?: able| good| capable)?\b|\bwho are you\b|"
        r"\bhow do(?:es)? (?:you|this|i use)\b.*\b(?:work|you)\b|\bare you (?:an? )?(?:real|ai|human|bot|robot|person|"
        r"claude|practice|there)\b|\byour (?:features|abilities|capabilities|commands)\b",
        said.text,
    ):
        return Wish(kind="help")
    return None


def _long(said: _Said) -> Wish | None:
    if match := _find(
        r"\bcount(?:ing)?\b(?: up| for me| slowly)*(?: from (?:1|one))? (?:up )?(?:to|till|until|through) (\d+)",
        said.text,
    ):
        return Wish(kind="count", parts={"count": str(min(int(match[1]), COUNT_MAX))})
    if _find(
        r"\b(?:long|longer|endless|very long|huge|big)\b.{0,20}\b(?:story|text|tale|poem|essay|answer|reply|novel)\b|"
        r"\b(?:write|tell|make up)\b.{0,20}\b(?:story|tale|fairy tale|poem|essay|novel)\b|\btalk for a (?:long )?while\b",
        said.text,
    ):
        return Wish(kind="story")
    return None


_NOT_AGENTS = (
    r"(?!(?:me|you|us|him|her|them|it|that|this|what|if|whether|about|for|to|a|an|everyone|someone|anyone|my)\b)"
)
_NAME = rf"(?:the |my |our )?{_NOT_AGENTS}@?([A-Za-z0-9][A-Za-z0-9 _-]{{0,40}}?)"
_TELL = r"(?:ask(?:ing)?|tell(?:ing)?|message|messaging|ping|contact|consult|question|talk to|speak (?:to|with)|check with|have|let|get|send a message to|write to|hand (?:this|it|that)?(?: over| off)? ?to|pass (?:this|it)?(?: on)? ?to|forward (?:this|it)? ?to)"


def _ask_agent(said: _Said) -> Wish | None:
    match = (
        _find(rf"\b{_TELL} {_NAME}[- ]agent\b[\s,:]*(.*)$", said.text)
        or _find(rf"\b{_TELL} (?:the |my )?agent (?:called |named |for )?@?([\w-]+)[\s,:]*(.*)$", said.text)
        or _find(r"^@([\w-]+)[\s,:]+(.*)$", said.text)
        or _find(
            rf"^(?:ask|tell|message|ping|consult) {_NAME}(?:, |: | (?=to\b|about\b|whether\b|if\b|how\b|what\b|when\b|"
            r"where\b|why\b|who\b|which\b|for\b|that\b))(.*)$",
            said.text,
        )
        or _find(r"^(?:what|how) (?:does|would|did) the ([\w-]+)[- ]agent (?:think|say|know|do)\b\s*(.*)$", said.text)
    )
    if match is None:
        return None
    asked = match[2].strip(" ,:")
    asked = re.sub(r"^(?:to|that|and ask(?: it| them)?|about this:?|a question:?)\s+", "", asked, flags=re.IGNORECASE)
    name = re.sub(r"[^a-z0-9]+", "-", match[1].lower()).strip("-")[:32]
    return Wish(kind="ask_agent", parts={"agent": name, "text": sentence(asked) or "What is new?"})


def _choose(said: _Said) -> Wish | None:
    match = _find(
        r"^(?:ask me|let me (?:choose|decide|pick)|give me a choice|i want to (?:choose|decide)|quiz me)\b[\s,:]*"
        r"(?:a question )?(?:if|whether|between|about|to choose between|to decide between|which|what)?\s*(.*)$",
        said.text,
    )
    if match is None:
        return None
    asked = match[1].strip() or "Shall I go on"
    options = [part.strip(" ,") for part in re.split(r"\s+or\s+|,\s*", asked, flags=re.IGNORECASE)]
    if len(options) < 2 and " and " in asked and _find(r"\b(?:between|choose|pick)\b", said.text):
        options = asked.split(" and ")
    options = [re.sub(r"^(?:i (?:want|like|prefer|would like)|to)\s+", "", option) for option in options][:4]
    made = options if 2 <= len(options) and all(len(option) < 40 for option in options) else ["Yes", "No"]
    return Wish(kind="choose", parts={"question": sentence(asked).rstrip(".") + "?", "options": "\n".join(made)})


_HISTORY = (
    r"\b(?:did|have|had|'ve|has) (?:i|we|you) (?:ever |already |just |once |really |previously )*(?:said?|say|tell|told|mention(?:ed)?|"
    r"talk(?:ed)?|discuss(?:ed)?|sp[eo]ak(?:en)?|spoken|wr[io]te|written|ask(?:ed)?|chat(?:ted)?)\b|"
    r"\b(?:what|when|where|everything|anything|all|things?|that) (?:was it |it was )?(?:that )?(?:i|we|you) (?:ever |just |had |have )?"
    r"(?:said|told|mentioned|wrote|talked|discussed|asked|spoke)\b|"
    r"\b(?:our|the|my|this|past|previous|earlier|old|chat|message) (?:\w+ )?(?:conversations?|chats?|discussions?|history|messages)\b|"
    r"\b(?:search|look|dig|go|scroll|browse) (?:through |in(?:to)? |back |up )*(?:the |our |my )?(?:chat |message )?(?:history|conversations?|messages)\b|"
    r"\blast time we\b|\bdid (?:that|it) come up\b"
)


def _history(said: _Said) -> Wish | None:
    if not _find(_HISTORY, said.text):
        return None
    topic = _find(
        r"\b(?:about|regarding|concerning|on the subject of|mention(?:ed)?|for|discuss(?:ed)?)\s+(.+)$", said.text
    )
    words = content_words(topic[1] if topic else said.text) or content_words(said.text)
    return Wish(kind="history", parts={"query": " ".join(words)}) if words else None


_REMIND = (
    r"\b(?:remind(?:ing)?|ping|nudg(?:e|ing)|alert|notify|buzz|poke) me\b|\b(?:set|make|create|add|need|want|have|put)(?:ting)? "
    r"(?:up |in |me )?(?:an? |another |the )?(?:\w+ )?(?:reminder|alarm)\b|\breminder\b\s*[:,-]?|\bwake me\b|\balarm\b|"
    r"\b(?:don't|do not|never) let me forget\b|\blet me know\b"
)


def _remind(said: _Said) -> Wish | None:
    text = said.text
    asked = _find(_REMIND, text)
    to_do = _find(
        r"^(?:remember|don't forget|do not forget|i (?:must|need to|have to|mustn't forget to|should) "
        r"(?:remember|not forget)?)\s*(?:to )?(?!that)",
        text,
    )
    schedule = find_schedule(text)
    when = find_when(text, said.now) if said.now else None
    if asked is None and not (to_do and _find(r"\bto \w+", text) and (when or schedule)):
        return None
    if asked is not None and _find(r"\b(?:list|show|which|what|see|any)\b.{0,20}\breminders?\b", text):
        return None
    rest = schedule.rest if schedule else when.rest if when else text
    parts = {"text": sentence(_subject(rest)) or ("Wake up." if _find("wake|alarm", text) else "")}
    if schedule:
        return Wish(kind="remind", parts=parts | {"rule": schedule.rule, "words": schedule.words})
    if when:
        return Wish(kind="remind", parts=parts | {"when": _wall(when.at)})
    return Wish(kind="remind_when", parts=parts)


def _subject(text: str) -> str:
    """What a reminder is about, with the words that ask for one taken off."""
    text = re.sub(_REMIND, " ", text, count=1, flags=re.IGNORECASE)
    text = re.sub(
        r"^(?:(?:i|you|to|that|the|for|so|must|need|have|should|mustn't|remember|don't|do not|forget|not|me|it|up|"
        r"saying|about|of|on|at|i've got|and)\b[\s,:]*)+",
        "",
        " ".join(text.split()),
        flags=re.IGNORECASE,
    )
    return re.sub(
        r"(?:[\s,;:-]+(?:to|that|at|on|about|for|and|by|in|of|the|set|a reminder))+$", "", text.strip(" ,;:-.")
    )


def _schedule(said: _Said) -> Wish | None:
    found = find_schedule(said.text)
    if found is None or _find(
        r"^(?:i|we|he|she|they|it|there|my|our|his|her|their|the)\b(?! (?:want|need|would like|'d like))", said.text
    ):
        return None
    if said.question and _find(r"^(?:what|when|where|who|why|how|which|do|does|did|is|are|was)\b", said.text):
        return None
    task = re.sub(
        r"^(?:(?:i|want|need|would|like|to|have|a|an|the|schedule|set|up|make|create|add|run|start|job|task|that|which|"
        r"get|for|me|do|this|please|:)\b[\s,:]*)+",
        "",
        found.rest,
        flags=re.IGNORECASE,
    ).strip(" ,;:-")
    verb = _find(r"^(?:get|tell|give|send|show|run)\b.*", found.rest)
    task = verb[0] if verb else task
    if not task:
        return Wish(kind="schedule_what", parts={"rule": found.rule, "words": found.words})
    parts = {
        "rule": found.rule,
        "words": found.words,
        "task": sentence(task),
        "title": short(sentence(task).rstrip("."), 40),
    }
    return Wish(kind="schedule", parts=parts)


_NOTE_LEAD = (
    r"(?:remember(?:ing)?|memori[sz](?:e|ing)|(?:make|making|take|taking|write|writing|add|adding|create|save|keep|leave|put)"
    r"(?: me)?(?: up| down)? (?:an? |another |the |this |that |it )?(?:new |quick |short )?(?:mental )?(?:note|memo|record)s?|not(?:e|ing)(?: down)?|jot(?:ting)?(?: down)?|"
    r"writ(?:e|ing) (?:down|up|this|that|it)|sav(?:e|ing)|stor(?:e|ing)|record(?:ing)?|log(?:ging)?|"
    r"(?:keep|bear|have|hold|keeping|bearing)(?: this| that| it)? in (?:your )?(?:mind|memory)|(?:don't|do not|never|not) (?:ever )?forget(?:ting)?|"
    r"(?:put|add|enter|write|copy)(?:ting|ing)? (?:this |that |it |the following )?(?:in|to|into|down in) (?:my|the|your) (?:notes?|memory|list)|"
    r"for (?:future reference|the record|your information|later|your notes)|fyi|just so (?:that )?you know|you should know|"
    r"(?:it's|it is) (?:worth (?:knowing|remembering|noting)|important (?:to know)?)|know|learn|take this down|"
    r"(?:i want|i'd like|let) (?:to )?(?:you )?(?:know)|here's (?:something|a fact)(?: to remember| for you)?|new note|note to self|memo)"
)
_CONNECT = (
    r"(?:[\s,:;-]|that\b|this\b|the fact\b|the following\b|down\b|for me\b|of\b|about the fact\b|in my notes\b|to remember\b|"
    r"somewhere\b|saying\b|which says\b|as a note\b|in a note\b|for later\b|please\b|in mind\b)*"
)


def _remember(said: _Said) -> Wish | None:
    text = said.text
    if said.question and not _find(rf"^{_NOTE_LEAD}\b(?! (?:when|where|what|who|how|if|whether|my|the|your)\b)", text):
        return None
    if _find(r"^remember (?:when|where|what|who|how|if|whether)\b", text) and said.question:
        return None
    if titled := _find(
        rf"^{_NOTE_LEAD} (?:called|titled|named|with the title|under) [\"']?(.+?)[\"']?(?:\s*[:,-]\s*| saying | that says | with the text | with )(.+)$",
        text,
    ):
        return Wish(kind="remember", parts={"title": short(titled[1], TITLE_CHARACTERS), "text": sentence(titled[2])})
    if lead := _find(rf"^{_NOTE_LEAD}\b{_CONNECT}(.+)$", text):
        return _note(lead[1])
    if tail := _find(
        rf"^(.+?)[\s,;:.!–-]+(?:and |so |but )?(?:please |just )*(?:remember|note|save|store|memori[sz]e|record|keep|don't forget|do not forget|write(?: \w+)? down)"
        r"(?: (?:that|this|it|to|in|my|your|the|notes?|mind|down|for|me|later|please))*$",
        text,
    ):
        return _note(tail[1])
    if (
        not said.question
        and _find(
            r"^(?:my|our|the|i|we|he|she)\b.{1,60}?\b(?:is|are|was|were|has|have|lives?|likes?|loves?|hates?|works?|prefers?|moved|"
            r"called|starts?|ends?|comes?|goes|am|'s|'m|'ve|born|allergic|owe|parked|put|left|keep|visits?|weighs?|takes?|means?|costs?)\b",
            text,
        )
        and not _find(r"^i (?:want|need|would|'d|have to|am looking|wonder|wish)\b", text)
    ):
        return _note(text)
    return None


def _note(text: str) -> Wish | None:
    text = sentence(re.sub(r"^(?:that|to)\s+", "", text.strip(" \"',;:-"), flags=re.IGNORECASE))
    if len(text) < 3:
        return None
    return Wish(kind="remember", parts={"title": short(text.rstrip(".!"), TITLE_CHARACTERS), "text": text})


_SHOW = r"(?:list|show|see|display|give|tell|read|what(?:'s| is| are)?|which|have|view|print|any|do i have|are there)"


def _lists(said: _Said) -> Wish | None:
    text = said.text
    about = _find(r"\b(?:about|on|for|regarding|with|called|titled|named|of)\s+(?!(?:me|today|all)\b)(.+)$", text)
    if _find(rf"\b(?:read|open|show|display|see)\b.{{0,15}}\bnote\b", text) and not _find(r"\bnotes\b", text):
        name = _find(
            r"\bnote (?:called |titled |named |about |on |for |with the title )?[\"']?(?!to\b)(.+?)[\"']?$", text
        )
        name = name or _find(r"\b(?:read|open|show|display|see)\b(?: me)?(?: the| my)? (.+?) note$", text)
        if name:
            return Wish(
                kind="read_note",
                parts={"title": sentence(name[1]).rstrip("."), "query": " ".join(content_words(name[1]))},
            )
    if about is None and _find(
        rf"\b{_SHOW}\b.{{0,30}}\bnotes?\b|^(?:all )?(?:my|the) notes$|^notes$|\bwhat(?:'ve| have) (?:you|i) "
        r"(?:noted|written down|got noted|stored|saved|in (?:my|your) notes)\b|"
        r"\bwhat do you (?:know|remember)(?: about me| so far| already)?$|\bnotes? (?:list|overview)\b",
        text,
    ):
        return Wish(kind="list_notes")
    if _find(rf"\b{_SHOW}\b.{{0,30}}\breminders?\b|^(?:my |all )*reminders$", text):
        return Wish(kind="list_reminders")
    if _find(rf"\b{_SHOW}\b.{{0,30}}\b(?:jobs?|schedules?)\b|^(?:my |all )*(?:jobs|schedules)$", text):
        return Wish(kind="list_jobs")
    return None


_WEB = (
    r"\b(?:online|on the (?:inter)?net|on the web|internet|the web|google|wikipedia|website|web ?site|web ?page|url|browse|browser|"
    r"weather|forecast|news|headlines|stock (?:price|market)|exchange rate|download)\b|https?://|\bwww\.|\b[a-z0-9-]+\.(?:com|org|net|io|at|de|dev|info)\b"
)


def _look_up(said: _Said) -> Wish | None:
    text = said.text
    mine = _find(
        r"\b(?:my|our|i|me|notes?)\b",
        re.sub(r"\b(?:for|to|tell|give|send|show) me\b|\bi (?:want|need)\b", "", text, flags=re.IGNORECASE),
    )
    web = _find(_WEB, text)
    verb = _find(
        r"\b(?:look(?:ing)?(?: \w+)? up|research(?:ing)?|find(?:ing)? out|search(?:ing)? for|investigat(?:e|ing)|delegat(?:e|ing)|"
        r"have a worker|let a worker|send a worker|get a worker|look into|look for|dig up|find (?:me )?(?:a|an|the|some|out|cheap|good))\b",
        text,
    )
    if not (web or (verb and not mine)):
        return None
    if web and not verb and _find(r"\bmy\b", text) and not _find(r"https?://|online|internet|web\b|google", text):
        return None
    task = re.sub(
        r"^(?:delegate(?: this)?(?: to a worker)?|(?:have|let|get|send) a worker(?: to)?)[\s,:]*",
        "",
        text,
        flags=re.IGNORECASE,
    )
    return Wish(kind="look_up", parts={"task": sentence(task), "text": sentence(task)})


def _recall(said: _Said) -> Wish | None:
    text = said.text
    asks = said.question or _find(
        r"^(?:when|where|what|who|whose|which|how|why|whats|whens|wheres|do|does|did|is|are|was|were|have|has|any|"
        r"tell me|give me|show me|look|check|search|find|recall|remind me|see if|go through|i forgot|i can't remember|"
        r"i don't (?:remember|know)|refresh my memory)\b",
        text,
    )
    if not asks:
        return None
    topic = _find(r"\b(?:about|regarding|concerning|notes? (?:for|on|about))\s+(.+)$", text)
    words = content_words(topic[1] if topic else text) or content_words(text)
    return Wish(kind="recall", parts={"query": " ".join(words[:8])}) if words else None


_RULES: tuple[Callable[[_Said], Wish | None], ...] = (
    _small_talk,
    _long,
    _ask_agent,
    _history,
    _choose,
    lambda said: (
        _recall(said)
        if _find(r"^remind me (?:what|when|where|who|which|how|of what)\b|^i (?:forgot|can't remember)\b", said.text)
        else None
    ),
    _remind,
    lambda said: _remember(said) if _find(rf"^{_NOTE_LEAD}\b", said.text) else None,
    _schedule,
    _lists,
    _look_up,
    _remember,
    _recall,
)
