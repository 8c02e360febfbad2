"""Spells secrets in every way there is, for tests. Written apart from the product's own reading of them."""

import base64
import html
import json
import random
import urllib.parse
from collections.abc import Callable

GAPS = (" ", "\n", "\t", "\r\n", "  \n   ", "\u00a0", "\u200b")


def coded(value: str, form: str, before: bytes, after: bytes) -> str:
    """The value itself, or the base64 or hex of it between other bytes."""
    data = before + value.encode() + after
    match form:
        case "plain":
            return value
        case "hex":
            return value.encode().hex()
        case "HEX":
            return value.encode().hex().upper()
        case "base64":
            return base64.b64encode(data).decode()
        case "base64 unpadded":
            return base64.b64encode(data).decode().rstrip("=")
        case "base64url":
            return base64.urlsafe_b64encode(data).decode()
        case "base64 in lines":
            return base64.encodebytes(data).decode().rstrip("\n")
    raise AssertionError(form)


FORMS = ("plain", "hex", "HEX", "base64", "base64 unpadded", "base64url", "base64 in lines")


def in_url(char: str, chance: random.Random) -> str:
    """One character as the bytes of a URL, in either case."""
    return "".join(chance.choice((f"%{byte:02x}", f"%{byte:02X}")) for byte in char.encode())


def in_json(char: str, chance: random.Random) -> str:
    """One character as in a JSON string: the short way if there is one, or by number."""
    short = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\", "/": "\\/"}
    units = char.encode("utf-16-be")
    numbers = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    long = "".join("\\u" + chance.choice((number, number.upper())) for number in numbers)
    return chance.choice((short.get(char, long), long))


def in_html(char: str, chance: random.Random) -> str:
    """One character as an entity: named if it has a usual name, or by number in either base."""
    numbers = [f"&#{ord(char)};", f"&#{ord(char):05d};", f"&#x{ord(char):x};", f"&#X{ord(char):04X};"]
    named = {'"': "&quot;", "&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&apos;", "/": "&sol;", "+": "&plus;"}
    return chance.choice([*numbers, named.get(char, numbers[0])])


ESCAPES: dict[str, Callable[[str, random.Random], str]] = {"url": in_url, "json": in_json, "html": in_html}

WHOLE_ESCAPES: dict[str, Callable[[str], str]] = {
    "none": lambda text: text,
    "quote": lambda text: urllib.parse.quote(text, safe=""),
    "quote_plus": urllib.parse.quote_plus,
    "json": lambda text: json.dumps(text)[1:-1],
    "json twice": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "json in utf-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "html": html.escape,
    "html twice": lambda text: html.escape(html.escape(text)),
    "html in json": lambda text: json.dumps(html.escape(text))[1:-1],
    "quote twice": lambda text: urllib.parse.quote(urllib.parse.quote(text, safe=""), safe=""),
}


def escaped(text: str, kind: str, share: float, chance: random.Random) -> str:
    """Some of the characters escaped, the others as they are; "mixed" takes another kind for each."""
    if kind == "none":
        return text
    spell = [ESCAPES[chance.choice(list(ESCAPES)) if kind == "mixed" else kind] for _ in text]
    return "".join(spell[at](char, chance) if chance.random() < share else char for at, char in enumerate(text))


def spread(text: str, share: float, chance: random.Random) -> str:
    """White space of every kind after some of the characters."""
    return "".join(char + (chance.choice(GAPS) if chance.random() < share else "") for char in text[:-1]) + text[-1:]


def portions(text: str, chance: random.Random, longest: int) -> list[str]:
    """The text in chunks of random length."""
    chunks, at = [], 0
    while at < len(text):
        size = chance.randint(1, longest)
        chunks.append(text[at : at + size])
        at += size
    return chunks
