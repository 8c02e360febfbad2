"""The judge of addresses: nothing but the open internet passes, however it is written."""

from collections.abc import Sequence

import pytest
import trio

from tools.egress import Egress, EgressFailed, EgressRefused, judge

CLOSED = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.1.2.3 168.63.129.16 169.254.169.254
169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1
192.168.1.1 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 ::8.8.8.8 ::ffff:0:808:808
64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::c0a8:101 64:ff9b:1::1 64:ff9b:1::808:808 2001:0:808:808::1
100::1 2001::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 2002:808:808::1 2620:4f:8000::1 3fff::1
5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 4000::1
"""
OPEN = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.215.14 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
172.15.255.255 172.32.0.0 192.0.1.1 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 2001:200::1
2001:4860:4860::8888 2606:4700::1111 2a00:1450:4001::1 2003::1 ::ffff:8.8.8.8 64:ff9b::808:808
"""


@pytest.mark.parametrize("address", CLOSED.split())
def test_what_is_not_on_the_open_internet_is_refused(address: str) -> None:
    assert judge(address) is not None


@pytest.mark.parametrize("address", OPEN.split())
def test_what_is_on_the_open_internet_passes(address: str) -> None:
    assert judge(address) is None


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "1.1.1.1.", "1.1.1.1/0"]
)
def test_what_is_no_plain_address_is_refused(text: str) -> None:
    assert judge(text) is not None


@pytest.mark.parametrize("name", ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "0"])
async def test_a_name_is_judged_by_what_it_means(name: str) -> None:
    with pytest.raises((EgressRefused, EgressFailed)):
        await Egress(seconds=5).connect(name, 80)


async def test_one_bad_address_among_good_ones_is_enough() -> None:
    async def look_up(host: str, port: int) -> Sequence[str]:
        return ("93.184.215.14", "10.0.0.1")

    with pytest.raises(EgressRefused, match="a private network"):
        await Egress(seconds=5, look_up=look_up).connect("example.org", 80)


async def test_the_connection_goes_to_the_address_that_was_judged_and_a_name_is_looked_up_anew_each_time() -> None:
    answers, dialled = [["93.184.215.14"], ["127.0.0.1"]], []

    async def look_up(host: str, port: int) -> Sequence[str]:
        return answers.pop(0)

    async def dial(address: str, port: int) -> trio.SocketStream:
        dialled.append(address)
        raise OSError

    egress = Egress(seconds=5, look_up=look_up, dial=dial)
    with pytest.raises(EgressFailed):
        await egress.connect("changes-its-mind.example", 443)
    with pytest.raises(EgressRefused):
        await egress.connect("changes-its-mind.example", 443)
    assert dialled == ["93.184.215.14"]
