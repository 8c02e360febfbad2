"""Whether an act carries private text, or text that nobody can read.

One rule: private is what stands in the request's own blocks (the owner's standing instructions, his earlier messages,
replies, results of the house) and not in his newest message: what he just said, he meant to be used. Nor is private
what a model wrote while text from outside was about and what that text says too, as long as it stands nowhere else.
The work grows with the size of what is read, and no faster, since a history may be a megabyte long.

Text is compared folded (tools/folding.py) and squeezed to its letters and digits, so that spaces or dashes between them
hide nothing. An act is also read as all that it may mean (tools/meanings.py), text by text and with its texts joined.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from .folding import BREAK, fold, settled, squeeze
from .meanings import meanings
from .unreadable import unreadable

RUN_CHARACTERS = 24
"""A stretch of so many characters is private, whatever it says."""
TOKEN_CHARACTERS = 4
"""A token of so many characters with a digit in it is private: a code, an amount, a date."""

_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w+")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
# Words that street names end with, that follow a street's name, and that stand before it; folded like what is searched.
_ENDS = "strasse str gasse weg platz allee ring ufer damm steig straat laan plein gatan vagen gata vej gade veien utca"
_AFTER = """
street st road rd avenue ave lane ln drive dr boulevard blvd way court ct square sq place pl terrace close crescent
gardens hill row"""
_BEFORE = """
rue avenue boulevard quai impasse chemin place allee via viale piazza corso calle avenida plaza paseo rua praca ulica ul
улица ул проспект"""
_ENDS, _AFTER, _BEFORE = ("|".join(fold(words).split()) for words in (_ENDS, _AFTER, _BEFORE))
_NAME = r"[\w.'-]{1,30}"
_NUMBER = r"(?:,? ?(?:nr|no|num|nummer|number|hausnummer|haus|#)\b\.?)?,? ?"
_ENDING_STREET = rf"\b(?:[\w-]{{1,40}}?[ -])?\w{{0,40}}(?:{_ENDS})"
_NO_WORD = r"(?<!ring)(?<!gate)"  # 2 spring rolls, 3 investigate
_AFTER_STREET = re.compile(rf"({_ENDING_STREET})\b\.?{_NUMBER}(\d{{1,4}} ?[a-z]?)\b")  # Seestraße 12, Wiener Str. 4b
_BEFORE_STREET = re.compile(rf"\b(\d{{1,4}} ?[a-z]?),? ({_ENDING_STREET})\b{_NO_WORD}")  # 12 Seestraße
_ADDRESS = re.compile(
    rf"\b\d{{1,5}}[a-z]?,? (?:{_NAME} ){{1,3}}(?:{_AFTER})\b"  # 221b Baker Street
    rf"|\b\d{{1,5}}[a-z]?,? (?:{_BEFORE})\.? (?:{_NAME} ){{0,3}}{_NAME}"  # 12, rue de la Paix
    rf"|\b(?:{_BEFORE})\.? (?:{_NAME} ){{0,3}}{_NAME},? \d{{1,5}}\b"  # via Roma 3
    rf"|\b{_NAME} ut \d{{1,4}}\b"  # Váci út 12
)
_STREET = re.compile("strasse$")


def private_text(
    act: Iterable[str], own: Iterable[str], newest: str, *, derived: Iterable[str] = (), outside: Iterable[str] = ()
) -> str | None:
    """The first private or unreadable text that an act carries, None if it carries none.

    `act`: the texts that would be carried away; `own`: the request's own blocks but the owner's newest message, which
    is `newest`. `derived`: those of its own blocks that a model wrote while any of `outside` was about.
    """
    texts = list(act)
    said = set(newest.split())
    for text in texts:
        if (noise := unreadable(" ".join(word for word in text.split() if word not in said))) is not None:
            return noise
    carried = BREAK.join(settled(meaning) for text in _also_joined(texts) for meaning in meanings(text))
    just_said = fold(newest)
    if (found := _shared(carried, BREAK.join(map(fold, own)), just_said)) is not None:
        return found
    repeated = BREAK.join(map(fold, derived))
    if _shared(carried, repeated, just_said) is None:
        return None
    return _shared(carried, repeated, BREAK.join([just_said, *map(fold, outside)]))


def _shared(carried: str, held: str, just_said: str) -> str | None:
    """The first private text that both have, but for what was just said."""
    return (
        _shared_token(carried, held, just_said)
        or _shared_address(carried, held, just_said)
        or _shared_run(carried, held, just_said)
        or _shared_run(squeeze(carried), squeeze(held), squeeze(just_said))
    )


def texts_of(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys and numbers too."""
    match value:
        case str():
            yield value
        case dict():
            yield from value
            for item in value.values():
                yield from texts_of(item)
        case list():
            for item in value:
                yield from texts_of(item)
        case int() | float() if not isinstance(value, bool):
            yield str(value)


def _also_joined(texts: list[str]) -> list[str]:
    """Each text, and all of them as one: what is spread over several is found there."""
    return [*texts, " ".join(texts)] if len(texts) > 1 else texts


def _shared_token(carried: str, held: str, just_said: str) -> str | None:
    """A token with a digit in it, or an e-mail address, that both have."""
    known, ours, excused = _tokens(held), _tokens(carried), _tokens(just_said)
    for token in ours - excused:
        if token in known:
            return token
    private = _squeezed(known - excused) - _squeezed(excused)
    if (found := _first_of(private, squeeze(carried))) is not None:
        return found
    return _first_of(_squeezed(ours - excused) - _squeezed(excused), BREAK.join(_squeezed(known, longer=True)))


def _shared_address(carried: str, held: str, just_said: str) -> str | None:
    """A street address that both have."""
    ours = _addresses(carried)
    if not ours:
        return None
    known, excused = _addresses(held), _addresses(just_said)
    return next(iter(ours & (known - excused)), None)


def _addresses(folded: str) -> set[str]:
    """The street addresses of a folded text, each in one spelling: the street, then the number."""
    found = {squeeze(address) for address in _ADDRESS.findall(folded)}
    ending = [*_AFTER_STREET.findall(folded), *((street, number) for number, street in _BEFORE_STREET.findall(folded))]
    for street, number in ending:
        for name in {street, street.rpartition(" ")[2]}:
            short = _STREET.sub("str", squeeze(name))
            if short != "str":
                found.add(f"{short}{squeeze(number)}")
    return found


def _tokens(folded: str) -> set[str]:
    """The tokens of a folded text that are private whoever says them."""
    found: set[str] = set()
    for word in folded.replace(BREAK, " ").split():
        if _DIGIT.search(word):
            found.add(word.strip("\"'()[]{}<>.,;:!?¡¿“”„‘’«»*_`"))
            found.update(part for part in _WORD.findall(word) if _DIGIT.search(part))
    found = {token for token in found if len(token) >= TOKEN_CHARACTERS}
    found.update(_EMAIL.findall(folded))
    return found


def _squeezed(tokens: set[str], *, longer: bool = False) -> set[str]:
    """Tokens without what stands between their letters and digits; too long ones (a run is found as such) left out."""
    squeezed = set(map(squeeze, tokens))
    return {token for token in squeezed if len(token) >= TOKEN_CHARACTERS and (longer or len(token) <= RUN_CHARACTERS)}


def _first_of(patterns: set[str], text: str) -> str | None:
    """The first place in a text where one of the patterns stands. A pattern has 4 to 24 characters."""
    lengths: dict[str, set[int]] = {}
    for pattern in patterns:
        lengths.setdefault(pattern[:TOKEN_CHARACTERS], set()).add(len(pattern))
    for at in range(len(text) - TOKEN_CHARACTERS + 1) if patterns else ():
        for length in lengths.get(text[at : at + TOKEN_CHARACTERS], ()):
            if text[at : at + length] in patterns:
                return text[at : at + length]
    return None


def _shared_run(carried: str, held: str, just_said: str) -> str | None:
    """A stretch of `RUN_CHARACTERS` that both have.

    Whatever such a stretch in `held` covers, it covers one of the halves that begin at multiples of half its length:
    looking at those alone takes a twelfth of the time.
    """
    runs = {carried[at : at + RUN_CHARACTERS] for at in range(len(carried) - RUN_CHARACTERS + 1)}
    for at in range(len(just_said) if runs else 0):
        runs.discard(just_said[at : at + RUN_CHARACTERS])
    runs = {run for run in runs if BREAK not in run and not run.isspace()}
    half = RUN_CHARACTERS // 2
    halves = {carried[at : at + half] for at in range(len(carried) - half + 1)} if runs else set()
    for at in range(0, len(held), half):
        if held[at : at + half] in halves:
            for start in range(max(at - half, 0), at + 1):
                if held[start : start + RUN_CHARACTERS] in runs:
                    return held[start : start + RUN_CHARACTERS]
    return None
