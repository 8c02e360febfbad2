"""Addresses of the web: reads one as it is meant, or says why it is none that may be fetched.

One rule: an address is written in one way only when it comes out of here, and what hides where it leads never comes
out: no user names, no numbers in disguise, no characters that look like others.
"""

import ipaddress
import re
from urllib.parse import quote, urljoin, urlsplit

import attrs

ADDRESS_CHARACTERS = 4_000
"""The longest address that is read. Browsers take more; no page needs it."""

_PORTS = {"http": 80, "https": 443}
_PRIVILEGED_PORTS = 1024
"""Below it are the ports of mail, shells and the like, which have no business with a page."""
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_BAD = re.compile(r"[\x00-\x20\x7f-\xa0\\\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_OWN = ("localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "home.arpa", "onion")
"""Ends of names that mean something near, or nothing, and never a page on the open internet."""
_PATH, _QUERY = "/%:@!$&'()*+,;=~-._", "/%:@!$&'()*+,;=~-._?[]{}|^`\"<>"


class BadAddress(Exception):
    """It is no address that may be fetched. The message says why, in fixed words."""


@attrs.frozen(kw_only=True)
class WebAddress:
    """An address on the open web, so far as can be told without looking its host up."""

    scheme: str
    host: str
    """A name in ASCII and lower case, or an address as numbers, without brackets."""
    port: int
    target: str
    """Path and query, in ASCII. There is no fragment: it never leaves whoever follows an address."""

    @property
    def authority(self) -> str:
        """Host and port as a request names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def leading_to(self, location: str) -> "WebAddress":
        """Where a redirect or link on it leads. Raises BadAddress."""
        try:
            return read_address(urljoin(str(self), location.strip("\t\n\x0c\r ")))
        except ValueError:
            raise BadAddress(NO_ADDRESS) from None


NO_ADDRESS = "That is no address of the web."
_DISGUISED = "The host is a number that hides where it leads."


def read_address(text: str) -> WebAddress:
    """Read an address. Raises BadAddress."""
    text = text.strip("\t\n\x0c\r ")
    if not text or _BAD.search(text):
        raise BadAddress(NO_ADDRESS)
    if len(text) > ADDRESS_CHARACTERS:
        raise BadAddress(f"The address is longer than {ADDRESS_CHARACTERS} characters.")
    scheme = _SCHEME.match(text)
    if scheme is None:
        raise BadAddress(f"{NO_ADDRESS} It begins with https:// or http://.")
    if scheme[1].lower() not in _PORTS:
        raise BadAddress("Only http and https addresses are fetched.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise BadAddress(NO_ADDRESS) from None
    if not parts.netloc:
        raise BadAddress(NO_ADDRESS)
    if "@" in parts.netloc:
        raise BadAddress("The address holds a user name or a password: none is ever sent.")
    port = _PORTS[parts.scheme] if port is None else port
    if port < _PRIVILEGED_PORTS and port not in _PORTS.values():
        raise BadAddress(f"Port {port} is not one of pages.")
    return WebAddress(
        scheme=parts.scheme,
        host=_host(parts.netloc),
        port=port,
        target=_target(parts.path or "/", _PATH) + (f"?{_target(parts.query, _QUERY)}" if parts.query else ""),
    )


def _target(text: str, safe: str) -> str:
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError:  # a lone surrogate
        raise BadAddress(NO_ADDRESS) from None


def _host(netloc: str) -> str:
    if netloc.startswith("["):
        literal, bracket, rest = netloc[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise BadAddress(NO_ADDRESS)
        return _ipv6(literal)
    name = netloc.partition(":")[0]
    if "%" in name:
        raise BadAddress("The host is written with escapes, which no name of a host needs.")
    name = _ascii(name).removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(name)
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise BadAddress(NO_ADDRESS)
    if len(labels) == 1 or any(name == own or name.endswith(f".{own}") for own in _OWN):
        raise BadAddress("That host is not on the open internet: its name means something near.")
    return name


def _ascii(name: str) -> str:
    """A name as it is looked up. Other letters are written as the domain name system knows them."""
    if name.isascii():
        return name.lower()
    import idna

    try:
        return idna.encode(name, uts46=True, std3_rules=True).decode().lower()
    except (idna.IDNAError, UnicodeError):
        raise BadAddress(NO_ADDRESS) from None


def _ipv4(name: str) -> str:
    try:
        return str(ipaddress.IPv4Address(name))
    except ValueError:
        raise BadAddress(_DISGUISED) from None


def _ipv6(literal: str) -> str:
    if "%" in literal:
        raise BadAddress("That host may not be reached from here: its address belongs to the local link.")
    try:
        return str(ipaddress.IPv6Address(literal))
    except ValueError:
        raise BadAddress(NO_ADDRESS) from None
