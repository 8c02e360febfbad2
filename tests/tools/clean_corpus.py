"""A hundred and more ordinary tool results that hold no secret, the same ones each time."""

import base64
import hashlib
import html
import inspect
import json
import random
import textwrap
import urllib.parse
import uuid

import tools.matcher
import tools.outside
import tools.spelling


def _words(chance: random.Random, count: int) -> str:
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    words = ("".join(chance.choices(letters, range(26, 0, -1), k=chance.randint(1, 9))) for _ in range(count))
    return textwrap.fill(" ".join(words))


def clean_corpus() -> list[str]:
    """Hashes, code, settings, logs, base64 images, hex dumps, escaped and foreign text."""
    chance = random.Random(7)
    code = [inspect.getsource(module) for module in (tools.matcher, tools.outside, tools.spelling)]
    results = [
        "MAX_TOKENS=4096",
        "sk-",
        "postgres://localhost/test",
        "Authorization: Bearer ",
        "password: ********",
        "100% sure & 50% done \\ C:\\new\\table",
        "[redacted API_TOKEN]",
        "Съешь ещё этих мягких французских булок, да выпей чаю.",
        "いろはにほへと ちりぬるを 👩‍👩‍👧‍👦 🇩🇪",
        "\x1b[31merror\x1b[0m \x00 \ufeff\u202e",
        "a\ud800b",
        "=" * 80,
        "%%%%\\\\\\\\&&&&&#&#x",
        "",
        *code,
        *map(json.dumps, code),
        *(html.escape(text) for text in code),
        *(urllib.parse.quote(text) for text in code),
    ]
    for _ in range(10):
        noise = chance.randbytes(chance.randint(200, 4000))
        results += [
            hashlib.sha256(noise).hexdigest() + "  file.bin",
            f"commit {hashlib.sha1(noise).hexdigest()}\nAuthor: A <a@example.com>\n\n    {_words(chance, 12)}",
            f"data:image/png;base64,{base64.b64encode(noise).decode()}",
            base64.encodebytes(noise).decode(),
            base64.urlsafe_b64encode(noise).decode().rstrip("="),
            noise.hex(" ", 2),
            json.dumps({"id": str(uuid.UUID(bytes=noise[:16])), "text": _words(chance, 30), "n": chance.random()}),
            "\n".join(f"2026-11-29T22:{n:02}:07Z INFO run={chance.getrandbits(40)} ok" for n in range(20)),
            _words(chance, 400),
            "".join(map(chr, chance.choices(range(32, 127), k=2000))),
        ]
    return results
