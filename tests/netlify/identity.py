"""An Identity endpoint, as Netlify's is one: it issues tokens, says whose each is, and refuses all others.

One rule: a token counts if this endpoint signed it, its time is not over and its user is still there. So it is
Identity, and not what is tested, that knows an expired, a forged and a foreign token.
"""

import base64
import hashlib
import hmac
import itertools
import json
import secrets
import time
from typing import Any

import attrs
import trio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Json = dict[str, Any]

_HEAD = {"alg": "HS256", "typ": "JWT"}
_numbers = itertools.count(1)


def _part(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def jwt(head: Json, claims: Json, key: bytes | None) -> str:
    """A token of these claims; `key` None: it is not signed."""
    said = f"{_part(json.dumps(head).encode())}.{_part(json.dumps(claims).encode())}"
    return f"{said}.{'' if key is None else _part(hmac.new(key, said.encode(), hashlib.sha256).digest())}"


@attrs.define(eq=False)
class Identity:
    """One site's. `asked` counts how often it was asked who it is. While `slow` is an event, it answers after it."""

    key: bytes = attrs.Factory(lambda: secrets.token_bytes(32))
    users: dict[str, Json] = attrs.Factory(dict)
    asked: int = 0
    broken: bool = False
    slow: trio.Event | None = None

    def issue(self, email: str, *, provider: str = "google", seconds: float = 3_600) -> str:
        """Sign somebody in; his token, which lasts so long."""
        number = str(next(_numbers))
        self.users[number] = {
            "id": number,
            "email": email,
            "confirmed_at": "2026-01-01T00:00:00Z",
            "created_at": "2026-01-01T00:00:00Z",
            "app_metadata": {"provider": provider},
            "user_metadata": {"full_name": "Somebody"},
        }
        claims = {
            "sub": number,
            "email": email,
            "exp": int(time.time() + seconds),
            "app_metadata": {"provider": provider},
        }
        return jwt(_HEAD, claims, self.key)

    def operator(self) -> str:
        """A token that the platform lends to a function: it may manage users, and is nobody's."""
        return jwt(_HEAD, {"sub": "", "exp": int(time.time() + 60), "app_metadata": {"roles": ["admin"]}}, self.key)

    def forge(self, token: str, **claims: Any) -> str:
        """The same token with other claims and the old signature."""
        head, body, signature = token.split(".")
        said = json.loads(base64.urlsafe_b64decode(body + "=="))
        return f"{head}.{_part(json.dumps(said | claims).encode())}.{signature}"

    def remove(self, token: str) -> None:
        """Its user is removed from the site."""
        del self.users[self.claims(token)["sub"]]

    def claims(self, token: str) -> Json:
        """What a token says."""
        said: Json = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
        return said

    def user_of(self, token: str) -> Json | None:
        """Whose token it is; None if it does not count."""
        try:
            head, body, signature = token.split(".")
            signed = hmac.new(self.key, f"{head}.{body}".encode(), hashlib.sha256).digest()
            if not hmac.compare_digest(_part(signed), signature) or self.claims(token)["exp"] <= time.time():
                return None
            return self.users.get(self.claims(token)["sub"])
        except (ValueError, KeyError):
            return None

    async def user(self, request: Request) -> Response:
        self.asked += 1
        if self.slow is not None:
            await self.slow.wait()
        if self.broken:
            return JSONResponse({"msg": "it is broken"}, 500)
        user = self.user_of(request.headers.get("authorization", "").removeprefix("Bearer "))
        return JSONResponse({"code": 401, "msg": "invalid JWT"}, 401) if user is None else JSONResponse(user)

    @property
    def app(self) -> Starlette:
        """It, as what serves it takes it."""
        return Starlette(routes=[Route("/.netlify/identity/user", self.user)])
