"""Five hundred and more ordinary tool results that hold no secret, the same ones each time."""

import base64
import hashlib
import html
import inspect
import json
import random
import struct
import textwrap
import urllib.parse
import uuid
import zlib
from pathlib import Path

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
    results += _settings(chance)
    results += _sources()
    for _ in range(30):
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
            _image(chance),
        ]
    return results


def _settings(chance: random.Random) -> list[str]:
    """Environment files, keys that are no secrets of ours, and what only looks like one."""
    made = []
    for n in range(60):
        token = base64.urlsafe_b64encode(chance.randbytes(24)).decode()
        made.append(
            f"MAX_TOKENS={2 ** (n % 14)}\nAPI_KEY=sk-{token}\nNTFY_TOKEN=tk_{token[:5]}\nDEBUG={n % 2}\n"
            f"DATABASE_URL=postgresql://owner:{token[:9]}@db.example.net:5432/main?sslmode=require\n"
        )
    made += [f"git clone https://x:{chance.getrandbits(160):040x}@example.com/r{n}.git" for n in range(20)]
    made += [json.dumps({"sha256": f"{chance.getrandbits(256):064x}", "size": n}, indent=n % 4) for n in range(40)]
    return made


def _sources() -> list[str]:
    """The code of this very project, file by file: nothing is more ordinary to somebody who works on it."""
    root = Path(__file__).parent.parent.parent
    found = sorted(path for room in ("tools", "actors", "storage", "migrations") for path in (root / room).glob("*.*"))
    return [path.read_text() for path in found if path.suffix in (".py", ".sql")]


def _image(chance: random.Random) -> str:
    """A real PNG, as a page would embed it."""
    rows = b"".join(b"\0" + chance.randbytes(3 * 16) for _ in range(16))
    parts = [(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    made = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return f'<img src="data:image/png;base64,{base64.b64encode(made).decode()}">'
