"""The way out: judges every address that anything here would connect to on somebody's behalf.

One rule: a name is looked up once, every address it gives is judged, and the connection goes to a judged address.
Nothing but the open internet passes, and no setting changes that.

The tables follow IANA's special-purpose address registries (RFC 6890 and its updates); what these call globally
reachable but belongs to protocols that relay is refused too. In IPv6 only what is handed out to the open internet,
2000::/3, passes at all. An address that stands for one of IPv4 is judged by that one: where a network has nothing but
IPv6, 64:ff9b::/96 is the way to the rest of the internet, so it passes when what it stands for does. Tunnels (6to4,
Teredo) never do.
"""

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import cache

import attrs
import trio

_IPV4 = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "a private network",
    "100.64.0.0/10": "a provider's shared network",
    "127.0.0.0/8": "this machine",
    "168.63.129.16/32": "a platform's metadata",
    "169.254.0.0/16": "the local link, where platforms keep their metadata",
    "172.16.0.0/12": "a private network",
    "192.0.0.0/24": "protocol assignments",
    "192.0.2.0/24": "documentation",
    "192.31.196.0/24": "a relay of name servers",
    "192.52.193.0/24": "a relay of multicast",
    "192.88.99.0/24": "a relay to IPv6",
    "192.168.0.0/16": "a private network",
    "192.175.48.0/24": "a relay of name servers",
    "198.18.0.0/15": "benchmarks",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
_IPV6 = {
    "2001::/23": "protocol assignments",
    "2001:db8::/32": "documentation",
    "2620:4f:8000::/48": "a relay of name servers",
    "3fff::/20": "documentation",
}
_IPV6_OPEN = "2000::/3"
_MAPPED = {
    "::ffff:0:0/96": "IPv4 in the clothes of IPv6",
    "64:ff9b::/96": "a translation of IPv4",
}
"""Prefixes whose last four bytes are an IPv4 address, to which a connection really goes."""
_TUNNELS = {
    "::/96": "IPv4 in the clothes of IPv6",
    "::ffff:0:0:0/96": "a translation of IPv4",
    "64:ff9b:1::/48": "a translation of IPv4 of this very network",
    "2001::/32": "a tunnel, Teredo",
    "2002::/16": "a tunnel, 6to4",
}
"""Prefixes that stand for IPv4 addresses too, and never pass: who relays them is anybody's guess."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
Dial = Callable[[str, int], Awaitable[trio.SocketStream]]


class EgressRefused(Exception):
    """The address may not be connected to. The message says why, in fixed words."""


class EgressFailed(Exception):
    """There is no such name, or nobody answers there."""


@cache
def _nets(table: str) -> tuple[tuple[Network, str], ...]:
    tables = {"closed": _IPV4 | _IPV6, "mapped": _MAPPED, "tunnels": _TUNNELS}
    return tuple((ipaddress.ip_network(net), what) for net, what in tables[table].items())


def judge(text: str) -> str | None:
    """Why an address, written as numbers, may not be connected to; None if it may."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "no address"
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return "the local link"
        if (what := _within(address, "mapped")) is not None:
            inside = judge(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
            return None if inside is None else f"{inside}, as {what}"
        if address.is_loopback or address.is_unspecified:
            return "this machine"
        if (what := _within(address, "tunnels")) is not None:
            return what
        if address not in ipaddress.ip_network(_IPV6_OPEN):
            return "not on the open internet"
    if (what := _within(address, "closed")) is not None:
        return what
    return "this machine" if _is_own(address) else None


def _within(address: Address, table: str) -> str | None:
    """What the table says of the first network that holds an address; None if none does."""
    nets = _nets(table)
    return next((what for net, what in nets if net.version == address.version and address in net), None)


def _is_own(address: Address) -> bool:
    """Whether it is an address of this very machine: only then can it be bound to."""
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


async def look_up(host: str, port: int) -> Sequence[str]:
    """Every address that a name gives. Raises OSError."""
    found = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


async def dial(address: str, port: int) -> trio.SocketStream:
    """Connect to an address written as numbers. Raises OSError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    connecting = trio.socket.socket(family, socket.SOCK_STREAM)
    try:
        await connecting.connect((address, port))
    except BaseException:
        connecting.close()
        raise
    return trio.SocketStream(connecting)


@attrs.frozen(kw_only=True)
class Egress:
    """The way out. Tests put their own network in the place of `dial` and `look_up`; the judge is always the same."""

    seconds: float
    """How long looking up, and each try to connect, may take."""
    look_up: Lookup = look_up
    dial: Dial = dial

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """The addresses that a name gives, all of them judged. Raises EgressRefused, EgressFailed."""
        try:
            with trio.fail_after(self.seconds):
                found = await self.look_up(host, port)
        except (OSError, UnicodeError, trio.TooSlowError):
            raise EgressFailed("There is no such host.") from None
        for address in found:
            if (why := judge(address)) is not None:
                raise EgressRefused(f"That host may not be reached from here: its address belongs to {why}.")
        if not found:
            raise EgressFailed("There is no such host.")
        return found

    async def connect(self, host: str, port: int) -> trio.SocketStream:
        """Connect to a host, at an address that was judged just now. Raises EgressRefused, EgressFailed."""
        for address in await self.addresses(host, port):
            try:
                with trio.fail_after(self.seconds):
                    return await self.dial(address, port)
            except (OSError, trio.TooSlowError):
                continue
        raise EgressFailed("The host does not answer.")
