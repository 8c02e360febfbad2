"""Who is let through the app's own site to dreamwalker, and with what.

One rule: whoever is refused is refused before dreamwalker is asked anything, and the token is in nothing that a browser
or the function's log gets to see.
"""

import itertools
from collections.abc import AsyncIterator, Mapping

import h11
import trio

from tests.instance import Instance
from tests.netlify.app_site import OWNER, AppSite, code, info, signed_in
from tests.netlify.identity import Identity, jwt
from tests.netlify.loopback import loopback
from tests.netlify.upstream import Upstream, answer
from tests.world import PATIENCE_SECONDS, TOKEN

SECRETS = {
    "Cookie": "other=1; theme=dark",
    "X-Nf-Site-Id": "a-site-id",
    "X-Nf-Purge-Api-Token": "a-purge-token",
    "X-Forwarded-For": "203.0.113.7",
    "X-Dreamwalker-Visit": "forged",
    "Authorization": "Bearer of-the-visitor",
    "Referer": "https://app.example/notes/dreamwalker/7",
}
PASSED_ON = {"accept", "content-type", "authorization", "host", "content-length", "transfer-encoding", "connection"}
OF_FETCH = {"user-agent", "accept-language", "accept-encoding", "sec-fetch-mode"}
"""What Node's fetch says of itself: always the same."""
PASSED_BACK = {"content-type", "retry-after", "allow", "cache-control", "x-content-type-options"}
OF_THE_PLATFORM = {"date", "connection", "keep-alive", "transfer-encoding", "content-length", "server-timing"}


class Doors(AppSite):
    """The steps of those who come."""

    async def let_in(self, it: Instance) -> None:
        """However the platform tells who is there, and however he writes his address."""
        for email in (OWNER, OWNER.lower(), OWNER.upper(), "other@home.example"):
            jwt = self.identity.issue(email)
            for headers in (
                signed_in(jwt),
                signed_in(jwt) | info(self.url),
                signed_in(jwt) | info(self.url, token=jwt),
                info(self.url, user=self.identity.claims(jwt)),
                signed_in(jwt) | info(self.url, token=self.identity.operator()),
            ):
                got = await it.client.get("/api/status", headers=headers)
                assert got.status_code == 200, (email, headers, got.text)
        self.step("the owner is let in, by cookie and by what the platform tells, however his address is written")

    async def refuse(self, it: Instance) -> None:
        identity, before = self.identity, len(self.upstream.came)
        good, gone = identity.issue(OWNER), identity.issue(OWNER)
        stranger = identity.issue("stranger@home.example")
        identity.remove(gone)
        claims = identity.claims(good)
        nobody = {
            "no token": {},
            "a made-up one": signed_in("made.up.token"),
            "no JWT": signed_in("%00%ff"),
            "an expired one": signed_in(identity.issue(OWNER, seconds=-1)),
            "an unsigned one": signed_in(jwt({"alg": "none"}, claims, None)),
            "one of another site": signed_in(Identity().issue(OWNER)),
            "another site's with this site's issuer": signed_in(jwt({"alg": "HS256"}, claims, b"another key")),
            "a stranger's with the owner's address": signed_in(identity.forge(stranger, email=OWNER)),
            "one of a user who was removed": signed_in(gone),
            "dreamwalker's own": {"Authorization": f"Bearer {TOKEN}"} | signed_in(TOKEN),
        }
        lent = info(self.url, token=identity.operator())
        for what, headers in [*nobody.items(), *((f"{what}, operated", who | lent) for what, who in nobody.items())]:
            got = await it.client.get("/api/status", headers=headers)
            assert (got.status_code, code(got)) == (401, "unauthorized"), (what, got.text)
            assert got.headers["www-authenticate"] == "Identity"
        for email in (
            "stranger@home.example",
            "anna+notes@home.example",
            "an.na@home.example",
            "anna@home.example.evil.example",
            "x@evil.example, anna@home.example",
            "ann\u0430@home.example",
            "other@home.ex\u0300ample",
            "\u212aate@home.example",
            "",
        ):
            got = await it.client.get("/api/status", headers=signed_in(identity.issue(email)))
            assert (got.status_code, code(got)) == (403, "not_the_owner"), (email, got.text)
        async with self.site(self.upstream_url, DREAMWALKER_OWNERS="kate@home.example") as kates:
            for email, status in (("Kate@home.example", 200), ("\u212aate@home.example", 403)):
                got = await kates.client.get("/api/status", headers=signed_in(identity.issue(email)))
                assert got.status_code == status, email
        for provider in ("email", "github", ""):
            got = await it.client.get("/api/status", headers=signed_in(identity.issue(OWNER, provider=provider)))
            assert (got.status_code, code(got)) == (403, "not_the_owner"), provider
        assert len(self.upstream.came) == before + 1, "somebody who was refused reached dreamwalker"
        self.step(f"{len(nobody)} kinds of tokens that don't count, 9 addresses off the list and 3 other providers")

    async def origins(self, it: Instance) -> None:
        before, owner = len(self.upstream.came), self.owner()
        for site in ("cross-site", "same-site", "none", ""):
            got = await it.client.get("/api/status", headers=owner | {"Sec-Fetch-Site": site})
            assert (got.status_code, code(got)) == (403, "origin"), site
        secure = self.url.replace("http:", "https:")
        foreign = ("null", "https://evil.example", secure, f"{self.url}.evil.example", f"{self.url}0", "")
        for method, origin in itertools.product(("POST", "PATCH", "DELETE", "PUT", "OPTIONS"), (None, *foreign)):
            headers = owner | ({} if origin is None else {"Origin": origin})
            got = await it.client.request(method, "/api/messages/1", headers=headers)
            assert (got.status_code, code(got)) == (403, "origin"), (method, origin)
        assert len(self.upstream.came) == before, "a request from another site reached dreamwalker"
        got = await it.client.post("/api/wake", headers=owner | {"Origin": self.url})
        assert got.status_code == 200 and len(self.upstream.came) == before + 1
        self.step("what changes something comes from this very origin, or is refused")

    async def side_by_side(self, it: Instance) -> None:
        """While Identity thinks about the owner, a stranger asks: neither is taken for the other."""
        self.identity.slow = trio.Event()
        got: dict[str, int] = {}

        async def ask(who: str, headers: Mapping[str, str]) -> None:
            got[who] = (await it.client.get("/api/status", headers=headers)).status_code

        before = self.identity.asked
        async with trio.open_nursery() as nursery:
            for number in range(8):
                stranger = self.identity.issue("stranger@home.example")
                who = signed_in(stranger) | info(self.url, token=stranger) if number % 2 else self.owner()
                nursery.start_soon(ask, f"{'stranger' if number % 2 else 'owner'} {number}", who)
            with trio.fail_after(PATIENCE_SECONDS):
                while self.identity.asked < before + 8:
                    await trio.sleep(0.01)
            self.identity.slow.set()
        self.identity.slow = None
        assert all(status == (200 if who.startswith("owner") else 403) for who, status in got.items()), got
        self.step("eight at once in one function, and none is taken for another")

    async def headers(self, it: Instance) -> None:
        self.upstream.reply = answer(
            200,
            b'{"ok": true}',
            set_cookie="session=1",
            server="a-server",
            x_internal="1",
            access_control_allow_origin="*",
            content_security_policy="default-src *",
            retry_after="3",
        )
        got = await it.client.get("/api/status?a=1", headers=SECRETS | self.owner())
        came = self.upstream.came[-1]
        assert came.target == "/api/status?a=1" and came.headers["authorization"] == f"Bearer {TOKEN}"
        assert came.headers.keys() <= PASSED_ON | OF_FETCH, came.headers
        assert not any(secret in str(came.headers) for name, secret in SECRETS.items() if name != "Cookie")
        back = {name for name in got.headers if not name.startswith("x-nf-")}  # those the platform takes away
        assert back <= PASSED_BACK | OF_THE_PLATFORM, got.headers
        assert got.headers["cache-control"] == "no-store" and got.headers["retry-after"] == "3"
        assert got.json() == {"ok": True} and TOKEN not in str(got.headers)
        self.step("only the listed headers pass, on and back")

    async def paths(self, it: Instance) -> None:
        """Whatever a path is made to look like, it stays below /api/, and goes to dreamwalker."""
        self.upstream.reply = answer(200)
        async with loopback(other := Upstream()) as elsewhere:
            name = elsewhere.partition("//")[2]
            for target in (
                f"/api/..//{name}/api/status",
                f"/api/%2e%2e//{name}/api/status",
                f"//{name}/api/status",
                f"/\\{name}/api/status",
                f"/api/..\\\\{name}/api/status",
                "/",
                "/apis",
            ):
                assert await raw_get(it, target, self.here() | self.owner()) == 404, target
            for target in (f"/api/x@{name}", f"/api//{name}/status", f"/api/{elsewhere}", "/api/%2f%2e%2e%2fx"):
                before = len(self.upstream.came)
                assert await raw_get(it, target, self.here() | self.owner()) == 200, target
                assert self.upstream.came[before].target.startswith("/api/"), target
            assert other.came == [], "the token was sent elsewhere"
        self.step("no path leads anywhere else than to dreamwalker")

    async def bodies(self, it: Instance) -> None:
        self.upstream.reply, owner = (
            answer(202),
            self.owner() | {"Origin": self.url, "Content-Type": "application/json"},
        )
        before = len(self.upstream.came)

        async def chunks(count: int) -> AsyncIterator[bytes]:
            for _ in range(count):
                yield b"x" * 100_000

        for body in (b"x" * 4_000_001, chunks(41)):
            got = await it.client.post("/api/wake", headers=owner, content=body)
            assert (got.status_code, code(got)) == (413, "too_large")
        assert len(self.upstream.came) == before
        for body, size in ((b"x" * 4_000_000, 4_000_000), (chunks(40), 4_000_000), (b"", 0)):
            assert (await it.client.post("/api/wake", headers=owner, content=body)).status_code == 202
            came = self.upstream.came[-1]
            assert (len(came.body), came.headers["content-type"]) == (size, "application/json")
        self.step("a body of 4 MB passes whole, and not a byte more, whether its length is told or not")

    def hidden(self, it: Instance) -> None:
        said = it.log.read_text()
        assert TOKEN not in said and OWNER not in said and "eyJ" not in said, said
        self.step("the function's log holds no token and nobody's address")


async def raw_get(it: Instance, target: str, headers: Mapping[str, str]) -> int:
    """GET a target as it stands, which no client would send; the status."""
    http = h11.Connection(h11.CLIENT)
    async with await trio.open_tcp_stream("127.0.0.1", it.port) as wire:
        lines = [(name, value) for name, value in {**headers, "Connection": "close"}.items()]
        await wire.send_all(http.send(h11.Request(method="GET", target=target, headers=lines)) or b"")
        await wire.send_all(http.send(h11.EndOfMessage()) or b"")
        while (event := http.next_event()) is h11.NEED_DATA:
            http.receive_data(bytes(await wire.receive_some(65_536)))
    assert isinstance(event, h11.Response), event
    return event.status_code
