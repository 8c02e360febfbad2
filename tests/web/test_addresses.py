"""Addresses that lead astray: spellings, redirects and tricks with names, each refused with the reason.

Nothing but looking up and dialling is ours here: were the judge to let one pass, our own server would answer it.
"""

import pytest

from tests.web.internet import OPEN, Internet, http, to
from tools.egress import EgressFailed, EgressRefused
from tools.fetch_url import FetchFailed
from tools.web_address import BadAddress, read_address

NONE = "no address of the web"
NEAR = "its name means something near"
DISGUISED = "hides where it leads"
USER = "a user name or a password"
SCHEME = "Only http and https"
OWN = "its address belongs to this machine"

SPELLINGS = [
    # plain numbers
    ("http://127.0.0.1/", OWN),
    ("http://127.255.255.254:8080/", OWN),
    ("http://0.0.0.0/", "this network"),
    ("http://10.1.2.3/", "a private network"),
    ("http://172.31.0.1/", "a private network"),
    ("http://192.168.1.1/", "a private network"),
    ("http://100.64.0.1/", "a provider's shared network"),
    ("http://169.254.169.254/latest/meta-data/", "the local link, where platforms keep their metadata"),
    ("http://168.63.129.16/", "a platform's metadata"),
    ("http://192.0.0.192/", "protocol assignments"),
    ("http://198.18.0.1/", "benchmarks"),
    ("http://224.0.0.251/", "multicast"),
    ("http://255.255.255.255/", "reserved"),
    ("http://127.0.0.1./", OWN),
    # numbers in disguise
    ("http://127.1/", DISGUISED),
    ("http://127.0.1/", DISGUISED),
    ("http://2130706433/", DISGUISED),
    ("http://017700000001/", DISGUISED),
    ("http://0x7f000001/", DISGUISED),
    ("http://0x7f.0x0.0x0.0x1/", DISGUISED),
    ("http://0177.0.0.1/", DISGUISED),
    ("http://127.0.0.01/", DISGUISED),
    ("http://127.0.0.0x1/", DISGUISED),
    ("http://4294967295/", DISGUISED),
    ("http://0/", DISGUISED),
    ("http://0x/", DISGUISED),
    ("http://1.1.1.1.1/", DISGUISED),
    ("http://256.1.1.1/", DISGUISED),
    ("http://a.1/", DISGUISED),
    # other characters
    ("http://１２７.０.０.１/", OWN),
    ("http://①②⑦.⓪.⓪.①/", OWN),
    ("http://127。0。0。1/", OWN),
    ("http://127｡0｡0｡1/", OWN),
    ("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", NEAR),
    ("http://LOCALHOST/", NEAR),
    ("http://loc\u00adalhost/", NEAR),
    ("http://localhost\u3002/", NEAR),
    ("http://%31%32%37.0.0.1/", "written with escapes"),
    ("http://127.0.0.1%00.example/", "written with escapes"),
    ("http://local\thost/", NONE),
    ("http://127.0.0.1\r\nHost: good.example/", NONE),
    ("http://\u200b127.0.0.1/", NONE),
    ("http://good.example\\@127.0.0.1/", NONE),
    ("http:\\\\127.0.0.1/", NONE),
    # IPv6
    ("http://[::1]/", OWN),
    ("http://[::]/", OWN),
    ("http://[0:0:0:0:0:0:0:1]:8080/", OWN),
    ("http://[::ffff:127.0.0.1]/", OWN),
    ("http://[::ffff:7f00:1]/", OWN),
    ("http://[::ffff:169.254.169.254]/", "the local link"),
    ("http://[::127.0.0.1]/", "IPv4 in the clothes of IPv6"),
    ("http://[::ffff:0:127.0.0.1]/", "a translation of IPv4"),
    ("http://[64:ff9b::127.0.0.1]/", OWN),
    ("http://[64:ff9b::a9fe:a9fe]/", "the local link"),
    ("http://[64:ff9b::10.0.0.1]/", "a private network"),
    ("http://[64:ff9b:1::10.0.0.1]/", "a translation of IPv4 of this very network"),
    ("http://[2002:7f00:1::]/", "a tunnel, 6to4"),
    ("http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "a tunnel, Teredo"),
    ("http://[fe80::1]/", "not on the open internet"),
    ("http://[fe80::1%25eth0]/", "the local link"),
    ("http://[fe80::1%eth0]/", "the local link"),
    ("http://[fc00::1]/", "not on the open internet"),
    ("http://[fd00:ec2::254]/", "not on the open internet"),
    ("http://[fec0::1]/", "not on the open internet"),
    ("http://[ff02::1]/", "not on the open internet"),
    ("http://[2001:db8::1]/", "documentation"),
    ("http://[::1/", NONE),
    ("http://[v1.a]/", NONE),
    ("http://[127.0.0.1]/", NONE),
    # names
    ("http://localhost/", NEAR),
    ("http://localhost./", NEAR),
    ("http://a.localhost/", NEAR),
    ("http://metadata/", NEAR),
    ("http://metadata.google.internal/computeMetadata/v1/", NEAR),
    ("http://printer.local/", NEAR),
    ("http://router.home.arpa/", NEAR),
    ("http://intranet/", NEAR),
    ("http://hidden.onion/", NEAR),
    ("http://.example/", NONE),
    ("http://a..example/", NONE),
    ("http://-a.example/", NONE),
    (f"http://{'a' * 64}.example/", NONE),
    ("http:///etc/passwd", NONE),
    # the rest of an address
    ("http://good.example@127.0.0.1/", USER),
    ("http://127.0.0.1@good.example/", USER),
    ("http://user:password@good.example/", USER),
    ("http://good.example:22/", "Port 22"),
    ("http://good.example:25/", "Port 25"),
    ("http://good.example:0/", "Port 0"),
    ("http://good.example:99999/", NONE),
    ("http://good.example:http/", NONE),
    ("file:///etc/passwd", SCHEME),
    ("ftp://good.example/", SCHEME),
    ("gopher://good.example/_x", SCHEME),
    ("data:text/html,hello", SCHEME),
    ("javascript:alert(1)", SCHEME),
    ("jar:http://good.example!/", SCHEME),
    ("unix:/run/docker.sock", SCHEME),
    ("good.example/", "begins with https"),
    ("//127.0.0.1/", "begins with https"),
    ("", NONE),
    ("http://", NONE),
    (f"http://good.example/{'x' * 5_000}", "longer than"),
    ("http://good.example/\ud800", NONE),
]


async def why_not(net: Internet, url: str) -> str:
    """Why an address is refused."""
    with pytest.raises((BadAddress, EgressRefused)) as refused:
        await net.fetch(url)
    return str(refused.value)


@pytest.mark.parametrize(("url", "why"), SPELLINGS)
async def test_a_spelling_that_leads_astray_is_refused_with_the_reason(net: Internet, url: str, why: str) -> None:
    assert why in await why_not(net, url)
    assert net.dialled == []


def test_there_are_enough_of_them() -> None:
    assert len(dict(SPELLINGS)) >= 80


REDIRECTS = [
    ("http://127.0.0.1/", OWN),
    ("//127.0.0.1/", OWN),
    ("http://2130706433/", DISGUISED),
    ("http://[::ffff:127.0.0.1]/", OWN),
    ("http://169.254.169.254/latest/", "the local link"),
    ("file:///etc/passwd", SCHEME),
    ("gopher://a.example/", SCHEME),
    ("http://a.example@127.0.0.1/", USER),
    ("http://localhost:8765/api/status", NEAR),
    ("\\\\127.0.0.1/", NONE),
    ("http://inside.example/", "a private network"),
    ("https:127.0.0.1", NONE),
]


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"])
@pytest.mark.parametrize(("location", "why"), REDIRECTS)
async def test_a_redirect_leads_nowhere_else(net: Internet, location: str, why: str, status: str) -> None:
    net.names["inside.example"] = [("10.0.0.1",)]
    net.pages["a.example/"] = to("http://b.example/", status)
    net.pages["b.example/"] = to(location, status)
    with pytest.raises((FetchFailed, EgressRefused), match=why):
        await net.fetch("http://a.example/")
    assert set(net.dialled) == {f"{OPEN}:80"} and len(net.asked) == 2


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (("127.0.0.1",), "this machine"),
        (("10.0.0.1",), "a private network"),
        (("::1",), "this machine"),
        (("::ffff:10.0.0.1",), "a private network"),
        (("64:ff9b::7f00:1",), "this machine"),
        (("fe80::1%eth0",), "the local link"),
        (("169.254.169.254",), "the local link"),
        ((OPEN, "127.0.0.1"), "this machine"),
        ((OPEN, "2606:4700::1111", "fd00::1"), "not on the open internet"),
        (("not an address",), "no address"),
    ],
)
async def test_a_name_is_refused_by_any_address_that_it_gives(net: Internet, answer: tuple[str, ...], why: str) -> None:
    net.names["bad.example"] = [answer]
    assert why in await why_not(net, "http://bad.example/")
    assert net.dialled == []


async def test_a_name_that_changes_its_mind_is_judged_for_each_request(net: Internet) -> None:
    net.names["fickle.example"] = [(OPEN,), ("127.0.0.1",)]
    net.pages["fickle.example/"] = to("http://fickle.example/again")
    with pytest.raises(EgressRefused, match="this machine"):
        await net.fetch("http://fickle.example/")
    assert net.dialled == [f"{OPEN}:80"]


async def test_the_connection_goes_to_the_address_that_was_judged_and_the_name_stands_in_the_request(
    net: Internet,
) -> None:
    net.names["open.example"] = [("1.1.1.1",)]
    net.pages["open.example:8080/"] = http(b"there", kind="text/plain")
    assert (await net.fetch("http://OPEN.example:8080")).text == "there"
    assert net.dialled == ["1.1.1.1:8080"] and b"Host: open.example:8080\r\n" in net.asked[0]


async def test_a_translated_address_passes_if_what_it_stands_for_does(net: Internet) -> None:
    net.names["six.example"] = [("64:ff9b::5db8:d70e",)]
    net.pages["six.example/"] = http(b"there", kind="text/plain")
    assert (await net.fetch("http://six.example/")).text == "there"


async def test_a_name_that_nobody_has_and_a_host_that_does_not_answer_are_told(net: Internet) -> None:
    net.names["none.example"] = [()]
    with pytest.raises(EgressFailed, match="There is no such host"):
        await net.fetch("http://none.example/")
    net.port = 1
    with pytest.raises(EgressFailed, match="does not answer"):
        await net.fetch("http://a.example/")


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("HTTPS://Example.ORG", "https://example.org/"),
        (" https://example.org:443/a?b=c#d ", "https://example.org/a?b=c"),
        ("http://example.org:80", "http://example.org/"),
        ("http://example.org:8080/ü?q=ä&r=%20", "http://example.org:8080/%C3%BC?q=%C3%A4&r=%20"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://straße.example/", "https://xn--strae-oqa.example/"),
        ("http://[2606:4700:0:0::1111]/", "http://[2606:4700::1111]/"),
        ("http://93.184.215.14/", "http://93.184.215.14/"),
        ("https://example.org./", "https://example.org/"),
        ("https://example.org?q", "https://example.org/?q"),
    ],
)
def test_one_address_is_written_in_one_way(text: str, means: str) -> None:
    assert str(read_address(text)) == means
    assert str(read_address(means)) == means
