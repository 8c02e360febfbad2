"""Unpacking what comes packed, in small steps, and never more than is allowed.

One rule: how much comes out is bounded before it comes out, not looked at afterwards.
"""

import zlib
from collections.abc import Iterator

STEP_BYTES = 65_536
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
ACCEPTED = "gzip, deflate"
"""What is asked for: both can be unpacked in bounded steps by Python's own library."""
_MAGIC = b"\x1f\x8b"
"""How each part of a gzip begins; it may have several (RFC 1952), which come as the network cuts them."""


_OURS = {"x-gzip": "gzip", "x-deflate": "deflate"}
_OTHERS = (
    "br",
    "zstd",
    "compress",
    "x-compress",
    "bzip2",
    "x-bzip2",
    "lzma",
    "xz",
    "exi",
    "pack200-gzip",
    "dcb",
    "dcz",
)
_PACKINGS = frozenset({"gzip", "deflate", *_OURS, *_OTHERS, "aes128gcm"})
"""Whatever packs. Any other name, such as "utf-8" or "none", says nothing of how it comes, as browsers take it."""


class BadPacking(Exception):
    """What came is not packed as it says."""


class Inflate:
    """Unpacks one of the accepted encodings, or passes on what is not packed. Raises BadPacking for other packings."""

    def __init__(self, encoding: str) -> None:
        names = [_OURS.get(name, name) for name in map(_name, encoding.split(",")) if name in _PACKINGS]
        if len(names) > 1 or not {"gzip", "deflate"}.issuperset(names):
            raise BadPacking  # more than once, or what nobody asked for
        self._plain, self._gzip = not names, names != ["deflate"]
        self._inflating: zlib._Decompress | None = None
        self._ended, self._kept, self._over = False, b"", False

    @property
    def whole(self) -> bool:
        """Whether what has come ends where its packing says that it ends, trailer and all."""
        return self._inflating is None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What comes out of the next piece, step by step. Raises BadPacking."""
        if self._plain:
            yield data
            return
        data, full = self._kept + data, False
        self._kept = b""
        while (data or full) and not self._over:
            if self._inflating is None:
                if self._ended and data == _MAGIC[:1]:  # too little to tell: the rest of the mark may come yet
                    self._kept = data
                    return
                if self._ended and not data.startswith(_MAGIC):
                    self._over = True
                    return
                self._inflating = zlib.decompressobj(_GZIP if self._gzip else _wrapping(data))
            try:
                out = self._inflating.decompress(data, STEP_BYTES)
            except zlib.error:
                raise BadPacking from None
            yield out
            data, full = self._inflating.unconsumed_tail, len(out) == STEP_BYTES  # full: there may be more inside
            if self._inflating.eof:
                data, full, self._inflating = self._inflating.unused_data, False, None
                self._ended, self._over = True, not self._gzip


def _name(coding: str) -> str:
    """The name of a coding, however it is written: some servers add a weight or quotes, which belong elsewhere."""
    return coding.partition(";")[0].strip(" \t\"'").lower()


def _wrapping(data: bytes) -> int:
    """Whether "deflate" means what the standard says, or what many servers take it for."""
    wrapped = data[0] & 0x0F == 8 and data[0] >> 4 <= 7 and (len(data) < 2 or (data[0] * 256 + data[1]) % 31 == 0)
    return _ZLIB if wrapped else _RAW
