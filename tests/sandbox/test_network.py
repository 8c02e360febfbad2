"""The way out of a sandbox: the open internet, and nothing else, however it is asked for.

The internet is a server of our own: names and connections are ours, the judge of addresses is the real one.
"""

import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import attrs
import pytest
import trio

from dreamwalker.sandboxes.bubblewrap import Bubblewrap
from tools.egress import Egress
from tools.limits import Limits

pytestmark = pytest.mark.extra

OPEN = "93.184.215.14"
"""An address of the open internet, behind which our own server stands."""


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder; `/to/URL` redirects."""

    server: "Server"

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.headers['Host']}{self.path}")
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A web server on this machine's loopback; `asked` is what it was asked for."""

    asked: list[str]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "page").write_text("the page\n")
    made = Server(("127.0.0.1", 0), lambda *args: Handler(*args, directory=str(tmp_path)))
    made.asked = []
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@attrs.define
class Internet:
    """What names give, in turn, and where connections go."""

    port: int
    names: dict[str, list[str]] = attrs.Factory(dict)
    dialled: list[str] = attrs.Factory(list)

    async def look_up(self, host: str, port: int) -> Sequence[str]:
        if host not in self.names:
            found = await trio.socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            return [str(address[0]) for *_, address in found]
        answers = self.names[host]
        return [answers.pop(0) if len(answers) > 1 else answers[0]]

    async def dial(self, address: str, port: int) -> trio.SocketStream:
        self.dialled.append(address)
        return await trio.open_tcp_stream("127.0.0.1", self.port)


@pytest.fixture
def internet(server: Server) -> Internet:
    return Internet(server.server_port, {"open.example": [OPEN]})


@pytest.fixture
async def sandbox(base: Path, internet: Internet) -> AsyncIterator[Bubblewrap]:
    made = Bubblewrap(base, Limits(), Egress(seconds=5, look_up=internet.look_up, dial=internet.dial))
    assert await made.unavailable() is None and made.offline is None
    yield made
    await made.clean(1)


async def says(sandbox: Bubblewrap, command: str) -> str:
    return (await sandbox.run(1, ("bash", "-c", command))).output.decode()


@pytest.mark.parametrize("how", ["", "--proxytunnel"])
async def test_the_open_internet_is_reached(sandbox: Bubblewrap, server: Server, how: str) -> None:
    assert await says(sandbox, f"curl -sS {how} http://open.example/page") == "the page\n"
    assert server.asked == ["open.example/page"]


async def test_git_and_pip_find_their_way(sandbox: Bubblewrap, server: Server, tmp_path: Path) -> None:
    made = tmp_path / "made"
    run = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(made)]
    subprocess.run(["git", "init", "-q", str(made)], check=True)
    subprocess.run([*run, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*run, "update-server-info"], check=True)
    assert "first" in await says(sandbox, "git clone -q http://open.example/made/.git it && git -C it log --oneline")
    (tmp_path / "simple" / "thing").mkdir(parents=True)
    (tmp_path / "simple" / "thing" / "index.html").write_text("<a href='thing-1.tar.gz'>thing-1.tar.gz</a>")
    pip = "python3 -m pip --disable-pip-version-check"
    found = await says(sandbox, f"{pip} --version >/dev/null 2>&1 || exit; {pip} index versions thing "
                       "--index-url http://open.example/simple --trusted-host open.example 2>&1")  # fmt: skip
    assert "thing (1)" in found or not found


async def test_nothing_of_this_machine_or_its_networks_is_reached_by_any_spelling(
    sandbox: Bubblewrap, server: Server, internet: Internet
) -> None:
    port = server.server_port
    own = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()
    internet.names |= {"inside.example": ["10.1.2.3"], "mapped.example": ["::ffff:127.0.0.1"], "six.example": ["::1"]}
    hosts = [
        "localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "[::1]", "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "169.254.169.254", "[fe80::1]", "10.0.0.1", "192.168.0.1", "172.16.0.1",
        "100.64.0.1", "inside.example", "mapped.example", "six.example", socket.gethostname(),
        *(f"[{address}]" if ":" in address else address for address in own),
    ]  # fmt: skip
    for host in hosts:
        for how in ("", "--proxytunnel"):
            said = await says(sandbox, f"curl -sS -m 10 {how} 'http://{host}:{port}/page' 2>&1")
            assert "the page" not in said
        said = await says(sandbox, f"curl -sS -m 5 --noproxy '*' 'http://{host}:{port}/page' 2>&1")
        assert "the page" not in said and "curl: (" in said
    assert server.asked == [] and internet.dialled == []


async def test_a_redirect_leads_nowhere_else(sandbox: Bubblewrap, server: Server, internet: Internet) -> None:
    for target in (f"http://127.0.0.1:{server.server_port}/page", "http://[::1]/page", "http://169.254.169.254/"):
        said = await says(sandbox, f"curl -sS -L 'http://open.example/to/{target}' 2>&1")
        assert "may not be reached" in said and "the page" not in said
    assert len(server.asked) == 3 and set(internet.dialled) == {OPEN}


async def test_a_name_that_changes_its_mind_is_judged_each_time(
    sandbox: Bubblewrap, server: Server, internet: Internet
) -> None:
    internet.names["fickle.example"] = [OPEN, "127.0.0.1", OPEN, "10.0.0.1"]
    fetch = "curl -sS http://fickle.example/page;"
    said = await says(sandbox, fetch * 4)
    assert said.count("the page") == 2 and said.count("may not be reached") == 2
    assert internet.dialled == [OPEN, OPEN]


async def test_sockets_of_this_machine_are_not_there(sandbox: Bubblewrap, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract:
        named.bind(str(tmp_path / "socket"))
        abstract.bind("\0dreamwalker-tests")
        for listening in (named, abstract):
            listening.listen()
        tried = (
            "import socket\n"
            f"for address in ({str(tmp_path / 'socket')!r}, '\\0dreamwalker-tests'):\n"
            "    try: socket.socket(socket.AF_UNIX).connect(address); print('connected')\n"
            "    except OSError as error: print(type(error).__name__)\n"
        )
        ran = await sandbox.run(1, ("python3", "-"), given=tried.encode())
        assert ran.output.split() == [b"FileNotFoundError", b"ConnectionRefusedError"]
    assert await says(sandbox, "cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp | grep -c ' 0A '") in ("0\n", "1\n")


async def test_what_is_no_request_to_a_proxy_is_refused(sandbox: Bubblewrap, server: Server) -> None:
    for request in ("GET / HTTP/1.1", "CONNECT open.example HTTP/1.1", "GET ftp://open.example/ HTTP/1.1", "x", ""):
        said = await says(
            sandbox, f"exec 3<>/dev/tcp/127.0.0.1/3128; printf '{request}\\r\\nHost: a\\r\\n\\r\\n' >&3; head -1 <&3"
        )
        assert said == "HTTP/1.1 400 Bad Request\r\n"
    assert server.asked == []


async def test_many_connections_at_once_are_served_in_turn(sandbox: Bubblewrap, server: Server) -> None:
    fetch = "for n in $(seq 150); do curl -sS http://open.example/page & done; wait"
    assert (await says(sandbox, fetch)).count("the page") == 150
