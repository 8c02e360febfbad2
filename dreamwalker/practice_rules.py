"""The practice model's rules: what a sentence asks for.

One rule: the rules are tried in order, the more telling ones first, and the first that fits decides. They look at
what kind of words stand where, not at whole sentences, so that wordings nobody thought of fit too.
"""

import re
from datetime import datetime

from dreamwalker import practice_correct as correct
from dreamwalker import practice_manage as manage
from dreamwalker import practice_memory as memory
from dreamwalker.practice_memory import Wish
from dreamwalker.practice_time import When, find_schedule, find_when
from dreamwalker.practice_words import find, phrases, plain, sentence, short, tidy, without

COUNT_MAX = 2000
OPTION_CHARACTERS = 40
WORDS_OF_A_TIME = 8
WAKE_UP, NAMELESS = "Wake up.", "You wanted to be reminded."
"""What a reminder says of which nobody said what it is about."""
_REQUESTS = {"remind", "schedule", "remember", "look_up", "ask_agent", *manage.ACTS}


def understand(text: str, now: datetime | None, *, waiting_for: str = "", which: str = "") -> Wish:
    """What a sentence asks for. `now` is naive local time; `waiting_for` is what a time was asked for just before, and
    `which` the wish of which it was asked what it is about.
    """
    whole = tidy(text)
    if (wish := _small_talk(whole.strip(" .!?"))) is not None:
        return wish
    core = plain(whole)
    question, core = core.rstrip(" .!").endswith("?"), core.rstrip(" ?!.")
    if waiting_for and now and (when := find_when(core, now)) and not _whole(text, core, now):
        return Wish(kind="remind", parts=_at(when) | {"text": waiting_for})
    if which and len(core.split()) <= WORDS_OF_A_TIME and not find(rf"^(?:{_NOT_NOW})", core):
        return manage.the_one(core, which)
    if not core:
        return Wish(kind="hello" if find(r"\b(?:hi|hey|hello)\b", whole) else "unknown")
    if (wish := manage.manages(core, now)) is not None:
        return wish
    if not question and (corrects := correct.corrects(core)) is not None:
        return _order(corrects.parts["text"], now, question=False) or corrects
    return (
        correct.undoes(core)
        or correct.forgets(core)
        or memory.history(core)
        or _choose(core)
        or memory.recalls_first(core)
        or _order(core, now, question=question)
        or memory.remember(core, question=question)
        or memory.recall(core, question=question)
        or Wish(kind="unknown")
    )


def _whole(text: str, core: str, now: datetime) -> bool:
    """Whether what answers the question for a time is rather a request of its own, which says what it is about."""
    if len(core.split()) > WORDS_OF_A_TIME:
        return True
    wish = understand(text, now)
    return wish.kind in _REQUESTS and wish.parts.get("text") not in (WAKE_UP, NAMELESS)


def _order(text: str, now: datetime | None, *, question: bool) -> Wish | None:
    """What is plainly asked to be done."""
    return (
        _long(text)
        or _ask_agent(text)
        or _to_do(text, now)
        or (memory.remember(text, question=question) if memory.is_note(text) else None)
        or _remind(text, now)
        or _schedule(text, question=question)
        or memory.lists(text)
        or _look_up(text)
    )


def _at(when: When) -> dict[str, str]:
    return {"when": f"{when.at:%Y-%m-%d %H:%M}", "later": when.later}


_HELLO = phrases(
    "(hello|hi|hey|hiya|howdy|hallo|hullo|yo|ahoy|hola|ciao|servus|moin|greetings|welcome|welcome back)"
    " (there|dreamwalker|again|you|all|everyone|bot|it's me|old friend)? (my friend)?",
    "(how are things|long time no see|it's me|i'm back)",
    "good? (morning|afternoon|evening|day) (there|dreamwalker|to you)?",
    "how (are|do) you *",
    "(nice|good|great|lovely|pleased|glad) to (meet|see|talk to) you *",
    "(anybody|anyone|somebody|someone) (home|there|here|around)",
    "(how's|how is) it going",
    "what's up",
    "are? you (there|awake)",
)
_PRAISE = "(great|perfect|nice|cool|good|super|awesome|excellent|lovely|brilliant|wonderful|fantastic|well done)"
_THANKS = phrases(
    "(ok|okay|oh|ah|great|cool|perfect|nice|alright|many)? (thanks|thank you|thx|cheers|danke|ta|merci)",
    f"(that's|that is|very|this is|that was|you are|you're|all|so)? {_PRAISE} (job|work|one|stuff|thanks|thank you)?",
    "(i|we|i'm|i am)? (really|much|very much|very|highly|greatly|so)? (appreciate|appreciated|grateful) *",
    "(that|this|it|you|you're|that's|it's)? (is|are|was|were|been|have been)? (so|very|really|most|a|the|quite)?"
    " (helpful|kind|useful|sweet|thoughtful|star|best|legend|lifesaver|gem|genius|amazing|rock) (of you)?",
)
_THANKED_LAST = (
    r"^(?:that|this|it|you|which|so|very|all|just|exactly|yes|no)\b.{0,60}\b(?:thanks|thank you|thx|cheers)$"
)
_BYE = phrases(
    "(bye|goodbye|good bye|cya|see you|see ya|good night|take care|that's all|that's it|until later|talk later)"
    " (bye|later|tomorrow|for now)?"
)
_HELP = phrases(
    "what (else|all)? (can|could|do|should|may) (i|you) (do|say|understand|try|ask|know how|offer|type|help)",
    "(what|who) are you",
    "who am i (talking|speaking|writing) (to|with)",
    "how (do|does|can) (you|this|i|it) (use|work|get started|start)",
    "how do i (use|talk to) (you|this)",
    "are you (an|a)? (real|ai|human|bot|robot|person|claude|practice|machine|chatbot)",
    "your (features|abilities|capabilities|commands|functions|skills)",
    "(show|give|tell) me * (help|commands|examples|features)",
    "(what|which) (commands|phrases|features|tricks)",
    "(what|which) (else|things|kind of things|sorts of things)? (can|could) (you|i) (do|ask|say|try)",
    "(tell|show) me (what|all|everything) you (can|could|are able to)? do",
    "(what|which) (can|could|should|do) (we|i|you) (do|talk about|try|say) (together|here|now|first)?",
    "(what's|what is|everything that's) (possible|available|there)",
    "(i don't|i do not|don't) know (what|how|where) to (do|say|ask|start|begin|use|try) *",
    "(no idea|not sure|unsure) (what|how|where) *",
    "where (do|should|can) i (start|begin)",
    "how (does|do|would|should) (one|people|somebody|anyone) (use|talk to|work with) (this|it|you)",
    "(show|tell|teach|explain) (me|to me)? how (this|it|that|you) works?",
    "is this * (chatgpt|gpt|claude|ai|bot|robot|machine|person|human)",
)
_HELP_ALONE = phrases(
    "(help|commands|menu|usage|instructions|examples)",
    "(can|could|do|will|would|how can|how could|how do)? (i need|you|some|please)? (some|to)?"
    " help (me|us)? (out|please)?",
    "what is this (for|about|thing)?",
    "(what now|now what|and now|teach me|what next)",
    "(what are)? (any|my|the|some|give me)? (my|the|some)? (options|tips|hints|possibilities|choices|suggestions)",
    "(i'm|i am) (lost|confused|stuck|new|new here)",
)


_NOT_NOW = r"(?:no|none|neither|never|nothing|not now|stop|leave|remind|remember|what|when|where|who|list|show)\b"


def _small_talk(text: str) -> Wish | None:
    if correct.never_mind(text):
        return Wish(kind="never_mind")
    if find(rf"^(?:{_HELLO}[\s,.!?]*)+$", text):
        return Wish(kind="hello")
    if find(_THANKED_LAST, text) and not find(r"\b(?:remember|remind|note|ask|look)\b", text):
        return Wish(kind="thanks")
    if not text:
        return Wish(kind="help")
    if find(rf"^{_THANKS}", text) and len(text) < 50 and not find(r"\b(?:remember|remind|note|ask|look)\b", text):
        return Wish(kind="thanks")
    if find(rf"^{_BYE}$", text):
        return Wish(kind="bye")
    return Wish(kind="help") if find(rf"{_HELP}|^{_HELP_ALONE}$", text) else None


_TOLD = "(story|text|tale|poem|essay|answer|reply|novel|article|letter)"
_STORY = phrases(
    f"(long|longer|endless|huge|big) * {_TOLD}",
    f"(write|tell|make up|invent) * * {_TOLD}",
    "(talk|write|go on|say) (for|on|something)? (a|and|very|really)? (while|long)",
)


def _long(text: str) -> Wish | None:
    if match := find(r"\bcount(?:ing)?\b.{0,30}?\b(?:to|till|until|through) (\d+)", text):
        return Wish(kind="count", parts={"count": str(min(int(match[1]), COUNT_MAX))})
    return Wish(kind="story") if find(_STORY, text) and not find_schedule(text) else None


_NO_NAME = (
    r"(?!(?:me|you|us|him|her|them|it|that|this|what|if|whether|about|for|to|a|an|everyone|someone|my|mum|mom|dad)\b)"
)
_NAME = rf"(?:the |my |our )?{_NO_NAME}@?(?P<name>[A-Za-z0-9][A-Za-z0-9 _-]{{0,40}}?)"
_TELL = phrases(
    "(ask|asking|tell|telling|message|messaging|ping|contact|consult|question|have|let|get|write|inform|notify|instruct)",
    "(talk|speak|check|write|chat) (to|with)",
    "send (a|this)? message? to",
    "(hand|pass|forward|give|delegate) (this|it|that|the task)? (over|off|on)? to",
)
_LINKS = r"(?:to|about|whether|if|how|what|when|where|why|who|which|for|that)"


_MAYBE = "(?:could|can|would|will|should|might|(?:i have )?(?:a )?question (?:for|to))"
_TO_AGENT = (
    rf"{_TELL} {_NAME}[- ]agent\b[\s,:]*(?P<asked>.*)$",
    rf"{_TELL} (?:the |my )?agent (?:called |named |for )?@?(?P<name>[\w-]+)[\s,:]*(?P<asked>.*)$",
    rf"^{_MAYBE} {_NAME}[- ]agent[\s:,]+(?P<asked>.*)$",
    rf"^{_NAME}[- ]agent[:,] (?P<asked>.*)$",
    r"^(?:(?:ask|tell|message|ping) )?@(?P<name>[\w-]+)[\s,:]+(?P<asked>.*)$",
    rf"^(?:ask|tell|message|ping|consult) {_NAME}(?:[,:] | (?={_LINKS}\b))(?P<asked>.*)$",
    r"^(?:what|how) (?:does|would|did) the (?P<name>[\w-]+)[- ]agent \w+\s*(?P<asked>.*)$",
)


def _ask_agent(text: str) -> Wish | None:
    match = next((match for pattern in _TO_AGENT if (match := find(pattern, text))), None)
    if match is None:
        return None
    mode = "hand_off" if find(r"\b(?:hand|pass|forward|give|delegate)\b", text[: match.start("name")]) else "ask"
    asked = re.sub(r"^(?:to|that|and ask(?: it| them)?|a question)[\s:]+", "", match["asked"], flags=re.IGNORECASE)
    name = re.sub(r"[^a-z0-9]+", "-", match["name"].lower()).strip("-")[:32]
    return Wish(kind="ask_agent", parts={"agent": name, "text": sentence(asked) or "What is new?", "mode": mode})


_CHOICE = phrases(
    "(ask|quiz) me (a question)? (if|whether|between|about|which|what)?",
    "(let me|i want to|i'd like to) (choose|decide|pick) (between|from|whether|if)?",
    "give me (a|the) choice (between|of)?",
)


def _choose(text: str) -> Wish | None:
    match = find(rf"^{_CHOICE}[\s,:]*(?P<asked>.*)$", text)
    if match is None or find_schedule(text):
        return None
    asked = match["asked"] or "I should go on"
    between = r"\s+(?:or|and)\s+|,\s*" if find(r"\b(?:between|choose|pick|choice)\b", text) else r"\s+or\s+|,\s*"
    parts = [part.strip(" ,") for part in re.split(between, asked)][:4]
    options = [re.sub(r"^(?:i (?:want|like|prefer)|to)\s+", "", part, flags=re.IGNORECASE) for part in parts]
    if len(options) < 2 or any(len(option) > OPTION_CHARACTERS for option in options):
        options, asked = ["Yes", "No"], _as_question(asked)
    else:
        asked = " or ".join(options)
    return Wish(kind="choose", parts={"question": sentence(asked).rstrip(".") + "?", "options": "\n".join(options)})


_MODALS = "should|shall|can|could|may|might|must|will|would|am|are|is|was|were"
_SAID = rf"^(?P<who>[\w' ]+?) (?:(?P<modal>{_MODALS})|(?P<verb>want|like|need|have|feel|know|think))\b *(?P<rest>.*)$"
_TURNED = {"you": "I", "i": "you"}


def _as_question(said: str) -> str:
    """ "You should go on", which is to be asked, as the question that it is: "should I go on"."""
    match = find(_SAID, said)
    if match is None:
        return said
    who = _TURNED.get(match["who"].lower(), match["who"])
    rest = re.sub(r"\bmy\b", "your", match["rest"])
    if match["modal"] is None:
        return f"do {who} {match['verb']} {rest}"
    modal = {("am", "you"): "are", ("are", "I"): "am"}.get((match["modal"].lower(), who), match["modal"])
    return f"{modal} {who} {rest}"


_REMIND = phrases(
    "(remind|reminding|ping|pinging|nudge|nudging|alert|notify|buzz|poke|wake|waking) (me|us|myself) up?",
    "(set|make|create|add|need|want|have|put|setting) (up|in|me)? (an|a|another|the)? * (reminder|alarm)",
    "(reminder|alarm) (for|at|to|about|that)?",
    "(don't|do not|never) let me forget",
    "let me know (at|in|on|when|tomorrow|tonight)",
    "be reminded (of|to|about)?",
)
_AROUND_START = (
    r"^(?:(?:i|you|to|that|for|so|must|need|have|should|mustn't|remember|don't|do not|forget|not|me|it|up|saying|"
    r"about|of|on|at|and)\b[\s,:]*)+"
)
_AROUND_END = r"(?:[\s,;:-]+(?:to|that|at|on|about|for|and|by|in|of|the|set|a|me))+$"
_TO_DO = (
    phrases(
        "(remember|i must remember|i have to remember|i need to remember)",
        "(not|don't|never) (you|let me|ever)? forget",
    )
    + r"[\s,:]+(?:to|about)\b"
)


def _to_do(text: str, now: datetime | None) -> Wish | None:
    """ "Remember to …", "don't forget to …" and "tell me to …" at a time are reminders."""
    to_do = find(rf"^{_TO_DO}|\b(?:i|me) (?:don't|do not) forget to\b|\btell me to\b", text)
    if to_do is None or now is None or not (find_when(text, now) or find_schedule(text)):
        return None
    return _reminder(f"{text[: to_do.start()]} {text[to_do.end() :]}", now)


def _remind(text: str, now: datetime | None) -> Wish | None:
    if not find(_REMIND, text) or memory.lists(text):
        return None
    return _reminder(text, now)


def _reminder(text: str, now: datetime | None) -> Wish:
    schedule = find_schedule(text)
    when = find_when(text, now) if now and not schedule else None
    rest = schedule.rest if schedule else when.rest if when else text
    about = re.sub(_AROUND_START, "", without(_REMIND, rest), flags=re.IGNORECASE)
    about = sentence(re.sub(_AROUND_END, "", about.strip(" ,;:-."), flags=re.IGNORECASE))
    parts = {"text": about or (WAKE_UP if find(r"\bwake|alarm", text) else NAMELESS)}
    if schedule:
        return Wish(kind="remind", parts=parts | {"rule": schedule.rule, "words": schedule.words})
    if when:
        return Wish(kind="remind", parts=parts | _at(when))
    return Wish(kind="remind_when", parts=parts)


_STATES = r"^(?:i|we|he|she|they|it|there|my|our|his|her|their|the)\b(?!(?: would|'d)? (?:want|need|like))"
_JOB_WORDS = (
    r"^(?:(?:i|want|need|would|like|to|have|a|an|the|schedule|set|up|make|create|add|run|start|job|task|that|which|get|for|"
    r"me|do|this|be|it|:)\b[\s,:]*)+"
)


def _schedule(text: str, *, question: bool) -> Wish | None:
    found = find_schedule(text)
    if found is None or find(_STATES, text):
        return None
    if question and find(r"^(?:what|when|where|who|why|how|which|do|does|did|is|are|was)\b", text):
        return None
    order = find(r"^(?:get|tell|give|send|show|run|do|make)\b (?!(?:a |an |the )?(?:\w+ )?job\b).*", found.rest)
    task = order[0] if order else re.sub(_JOB_WORDS, "", found.rest, flags=re.IGNORECASE).strip(" ,;:-")
    parts = {"rule": found.rule, "words": found.words}
    if not task:
        return Wish(kind="schedule_what", parts=parts)
    title = short(sentence(task).rstrip("."), OPTION_CHARACTERS)
    return Wish(kind="schedule", parts=parts | {"task": sentence(task), "title": title})


_WEB = (
    phrases(
        "(online|internet|the web|the net|google|wikipedia|website|webpage|web site|web page|url|browse|browser)",
        "(weather|forecast|news|headlines|stock (price|prices|market)|exchange rate)",
    )
    + r"|https?://|\bwww\.|\b[a-z0-9-]+\.(?:com|org|net|io|at|de|dev|info)\b"
)
_SEEK = phrases(
    "(look|looking|find|search) (this|that|it|them|something)? (up|out)",
    "(research|investigate|delegate|researching|investigating|look into|look for|search for|search)",
    "(dig up|read up on|compare|download)",
    "(have|let|send|get|use|start|ask) (a|the) worker",
    "find (me|us)? (a|an|the|some|cheap|good|the best)",
)
_TO_WORKER = (
    r"^(?:delegate(?: this| that)?(?: to a worker)?|"
    r"(?:have|let|get|send|use|start|ask) (?:a|the) worker(?: to)?)[\s,:]*"
)


_FOR_ME = phrases("(for|tell|give|send|show|find) me", "i (want|need|would like) to", "i (want|need)")
_ONLINE = phrases("(online|internet|the web|google)") + r"|https?://"


def _look_up(text: str) -> Wish | None:
    """Anything that needs the internet, or is to be found out without being the owner's own matter."""
    mine = find(r"\b(?:my|our|i|me|notes?)\b", without(_FOR_ME, text))
    web = find(_WEB, text) and not find(r"\bmy\b", text)
    if not (find(_ONLINE, text) or web or (find(_SEEK, text) and not mine)):
        return None
    return Wish(kind="look_up", parts={"task": sentence(re.sub(_TO_WORKER, "", text, flags=re.IGNORECASE))})
