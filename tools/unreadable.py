"""Tokens that nobody can read: base64, hex and noise, which could carry anything.

One rule: a token passes when most of it is made of words, in any language that is written with Latin letters. Words
in other letters always pass: nobody can tell them from noise by a table this small.
"""

import re

LENGTH_MIN = 16
"""Characters of the shortest token that is judged: a shorter one carries too little."""

_READABLE_SHARE_MIN = 0.6
_COMMON_SHARE_MIN = 0.5

_TOKEN = re.compile(rf"[A-Za-z0-9+/=_-]{{{LENGTH_MIN},}}")
_SYMBOLS = re.compile(rf"[^\w\s\x00-\x7f]{{{LENGTH_MIN},}}")
_DISTINCT_SYMBOLS_MAX = 6  # a row of stars is none of it
_HEX = re.compile(rf"[0-9A-Fa-f]{{{LENGTH_MIN},}}")
_BETWEEN = re.compile(r"[+/=_-]+")
_CHUNK = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[A-Z]")

# Neighbouring letters that are common in English, German, French, Italian, Spanish, Dutch, Swedish or Polish words.
_PAIRS = """
th he in er an re nd on en at ou ed ha to or it is hi es ng st te nt ar as se le of ve me al ri ro ne co ll de ra
li om ic io ea be ma ch ce ei ie ge un di sc da ns au si ss el ht eh et no us la tr ta qu ai em il lo pa pe po pr
so ur ut ti ca ci na ni sa sp su tt ue ul um up va vi vo wa we wh wi wo ab ac ad ag am ap av ba bi bl bo br bu ck
cl cr ct do ee ef eg ev ex fa fe ff fi fo fr fu ga gi gr gu ho id if ig im ir ke ki ld ly mi mm mo mp nc nn oc od
oo op os ot ov ow pl pp rd rg rk rm rn rs rt rv sh tu ty ts uc ug ui za ze zi ij ol og lt ft ho ka
"""
_COMMON = frozenset(_PAIRS.split())


def unreadable(text: str) -> str | None:
    """The first token of a text that nobody can read, or None. Linear in the text."""
    for found in _TOKEN.finditer(text):
        if _is_noise(found[0]):
            return found[0]
    for found in _SYMBOLS.finditer(text):
        if len(set(found[0])) > _DISTINCT_SYMBOLS_MAX:
            return found[0]
    return None


def _is_noise(token: str) -> bool:
    pieces = [piece for piece in _BETWEEN.split(token) if piece]
    joined = "".join(pieces)
    if all(piece.isdigit() and len(piece) <= 4 for piece in pieces):  # rules, dates
        return False
    if _HEX.fullmatch(joined):
        return True
    readable = sum(len(chunk) for piece in pieces for chunk in _CHUNK.findall(piece) if _is_read(chunk, piece))
    return readable < len(joined) * _READABLE_SHARE_MIN


def _is_read(chunk: str, piece: str) -> bool:
    """Whether a stretch of one case, or of digits, is a word or a small number."""
    if chunk.isdigit():
        return len(chunk) <= 4 and (chunk == piece or len(piece) > 2 * len(chunk))
    if len(chunk) < 3:
        return chunk == piece
    low = chunk.lower()
    common = sum(low[at : at + 2] in _COMMON for at in range(len(low) - 1))
    return common >= (len(low) - 1) * (_COMMON_SHARE_MIN if len(low) > 4 else 0.9)
