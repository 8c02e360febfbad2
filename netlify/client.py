"""A client of Netlify's API that can only read, and only what one team owns.

One rule: a token acts on every team of its user, so nothing is asked before the list of teams is exactly the one that
is expected, and nothing is given out that does not say that it belongs to it. It has no method that writes, what goes
into a request is a number or an id of a fixed pattern, and of an answer only the fields that are named here come out;
what a server says in its own words when it fails goes nowhere.

The API gives no log of a deploy, only why it failed (as of version 2.60.0 of its description).
"""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import trio

if TYPE_CHECKING:
    import httpx2

ANSWER_BYTES = 4_000_000
"""A longer answer is not read to its end, and not used."""
SECONDS = 20.0
"""How long all that one question takes may take together."""
PAGE = 100
"""Things asked for at a time."""
PAGES = 10
"""Pages that are asked for; what follows is said to be there."""
FIELD_CHARACTERS = 1_000

_SITE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OBJECT = re.compile(r"[0-9a-f]{24}")
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")

Json = Mapping[str, Any]


class NetlifyError(Exception):
    """It can't be told. The message is one of a few fixed sentences, none of them the server's."""


class BadId(NetlifyError):
    """That can't be an id of such a thing."""


@attrs.frozen(kw_only=True)
class Team:
    """The one team of the token."""

    id: str
    slug: str


@attrs.frozen(kw_only=True)
class Site:
    """A site. `published` is the id of the deploy that visitors see."""

    id: str
    name: str
    state: str
    url: str
    domains: tuple[str, ...]
    published: str
    created_at: str
    updated_at: str


@attrs.frozen(kw_only=True)
class Deploy:
    """A deploy of a site, and why it failed if it did."""

    id: str
    site: str
    state: str
    context: str
    branch: str
    commit: str
    title: str
    error: str
    created_at: str
    published_at: str


@attrs.frozen(kw_only=True)
class Zone:
    """A DNS zone."""

    id: str
    name: str
    domain: str
    servers: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Record:
    """A DNS record."""

    host: str
    type: str
    value: str
    ttl_seconds: int
    managed: bool


@attrs.frozen(kw_only=True)
class Form:
    """A form of a site, without what was sent by it."""

    name: str
    paths: tuple[str, ...]
    submissions: int
    created_at: str


@attrs.frozen(kw_only=True)
class Variable:
    """The name of an environment variable, and where it is set: never its value."""

    name: str
    scopes: tuple[str, ...]
    contexts: tuple[str, ...]
    secret: bool


@attrs.frozen(kw_only=True)
class Listed:
    """A list, and whether there is more of it than was asked for."""

    items: tuple[Any, ...]
    more: bool = False


_REFUSALS = {
    401: "Netlify does not accept the token (401). The owner has to correct DREAMWALKER_NETLIFY_TOKEN.",
    403: "Netlify does not let the token see this (403).",
    404: "Netlify knows no such thing (404).",
    422: "Netlify does not take the question as it is (422).",
    429: "Netlify has had enough of us for now (429). Ask again in some minutes.",
}
FOREIGN = "Netlify's answer held something that does not belong to the owner's team, so nothing of it is shown."
NOT_ONE_TEAM = (
    "The token acts on another team than the owner's alone, so nothing was asked. The owner needs a token of a Netlify "
    "user who belongs to this one team only."
)
_STRANGE = "What answered was not Netlify's API: it sent something else than JSON of the kind that was asked for."
_REDIRECT = "What answered pointed elsewhere, and is not followed."
_TOO_LONG = "Netlify's answer was too long to be read."
_BROKEN = "Netlify can't be reached, or broke the connection off."
_SLOW = f"Netlify did not answer within {SECONDS:g} seconds."


class Netlify:
    """Reads what the team of this slug owns, at the API's address. Use as `async with Netlify(…) as netlify`."""

    def __init__(self, *, token: str, team: str, url: str, seconds: float = SECONDS) -> None:
        self._token, self._team, self._url, self._seconds = token, team, url.rstrip("/"), seconds
        self._client: httpx2.AsyncClient | None = None

    def __repr__(self) -> str:
        return f"<Netlify of {self._team}>"

    async def __aenter__(self) -> "Netlify":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            with trio.CancelScope(shield=True):
                await self._client.aclose()

    # -- what can be asked; all raise NetlifyError

    async def sites(self) -> Listed:
        """The team's sites."""
        with self._deadline():
            return await self._sites(await self._only_team())

    async def site(self, id: str) -> Site:
        """One site."""
        with self._deadline():
            return await self._site(await self._only_team(), id)

    async def deploys(self, site: str) -> Listed:
        """The newest deploys of a site."""
        with self._deadline():
            await self._site(await self._only_team(), site)
            rows = _objects(await self._get(f"/sites/{site}/deploys", page=1, per_page=PAGE // 4))
            return Listed(items=tuple(_deploy(row, site) for row in rows), more=len(rows) >= PAGE // 4)

    async def deploy(self, id: str) -> Deploy:
        """One deploy."""
        with self._deadline():
            team = await self._only_team()
            row = _object(await self._get(f"/deploys/{_checked(_OBJECT, id, 'a deploy')}"))
            if row.get("id") != id:
                raise NetlifyError(FOREIGN)
            return _deploy(row, (await self._site(team, _matching(_SITE, row.get("site_id")))).id)

    async def zones(self) -> Listed:
        """The team's DNS zones."""
        with self._deadline():
            team = await self._only_team()
            rows = _objects(await self._get("/dns_zones", account_slug=team.slug))
            return Listed(items=tuple(_zone(row, team) for row in rows))

    async def records(self, zone: str) -> Listed:
        """The records of a DNS zone."""
        with self._deadline():
            team = await self._only_team()
            row = _object(await self._get(f"/dns_zones/{_checked(_OBJECT, zone, 'a DNS zone')}"))
            if _zone(row, team).id != zone:
                raise NetlifyError(FOREIGN)
            rows = _objects(await self._get(f"/dns_zones/{zone}/dns_records"))
            return Listed(items=tuple(_record(row, zone) for row in rows))

    async def functions(self, site: str) -> Listed:
        """The names of a site's functions."""
        with self._deadline():
            await self._site(await self._only_team(), site)
            answer = await self._get(f"/sites/{site}/functions")
            rows = _objects(answer) if isinstance(answer, list) else [_object(answer)]
            made = [_object(one) for row in rows for one in _list(row.get("functions"))]
            return Listed(items=tuple(name for one in made if (name := _text(one, "n") or _text(one, "name"))))

    async def forms(self, site: str) -> Listed:
        """The forms of a site."""
        with self._deadline():
            await self._site(await self._only_team(), site)
            rows = _objects(await self._get(f"/sites/{site}/forms"))
            return Listed(items=tuple(_form(row, site) for row in rows))

    async def variables(self, site: str | None) -> Listed:
        """The names of the environment variables of the team, or of a site."""
        with self._deadline():
            team = await self._only_team()
            query = {} if site is None else {"site_id": (await self._site(team, site)).id}
            rows = _objects(await self._get(f"/accounts/{team.id}/env", **query))
            return Listed(items=tuple(_variable(row) for row in rows))

    # -- how it is asked

    async def _only_team(self) -> Team:
        """The team, if it is the one that is expected and the only one."""
        rows = _objects(await self._get("/accounts"))
        if len(rows) != 1 or rows[0].get("slug") != self._team:
            raise NetlifyError(NOT_ONE_TEAM)
        return Team(id=_matching(_OBJECT, rows[0].get("id")), slug=_matching(_SLUG, self._team))

    async def _sites(self, team: Team) -> Listed:
        found: list[Site] = []
        for page in range(1, PAGES + 1):
            rows = _objects(await self._get(f"/{team.slug}/sites", page=page, per_page=PAGE))
            found += [_site(row, team) for row in rows]
            if not rows:
                return Listed(items=tuple(found))
        return Listed(items=tuple(found), more=True)

    async def _site(self, team: Team, id: str) -> Site:
        row = _object(await self._get(f"/sites/{_checked(_SITE, id, 'a site')}"))
        site = _site(row, team)
        if site.id != id:
            raise NetlifyError(FOREIGN)
        return site

    def _deadline(self) -> "_Deadline":
        return _Deadline(self._seconds)

    async def _get(self, path: str, **query: str | int) -> Any:
        """The JSON of an answer. Raises NetlifyError."""
        import httpx2

        if self._client is None:
            timeout = httpx2.Timeout(self._seconds)
            self._client = httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=timeout)
        headers = {"authorization": f"Bearer {self._token}", "accept": "application/json"}
        try:
            async with self._client.stream("GET", self._url + path, params=query, headers=headers) as answer:
                return await _read(answer)
        except httpx2.TimeoutException:
            raise NetlifyError(_SLOW) from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise NetlifyError(_BROKEN) from None


class _Deadline:
    """A bound on all that is awaited in it; past it NetlifyError is raised."""

    def __init__(self, seconds: float) -> None:
        self._scope = trio.CancelScope(relative_deadline=seconds)

    def __enter__(self) -> None:
        self._scope.__enter__()

    def __exit__(self, *raised: Any) -> None:
        self._scope.__exit__(*raised)
        if self._scope.cancelled_caught:
            raise NetlifyError(_SLOW)


async def _read(answer: "httpx2.Response") -> Any:
    status = answer.status_code
    if 300 <= status < 400:
        raise NetlifyError(_REDIRECT)
    if status != 200:
        raise NetlifyError(_REFUSALS.get(status, f"Netlify failed ({status}). Ask again later."))
    body = bytearray()
    with trio.CancelScope() as reading:  # cancelled rather than left, so that what is under the loop ends too
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > ANSWER_BYTES:
                reading.cancel()
    if len(body) > ANSWER_BYTES:
        raise NetlifyError(_TOO_LONG)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise NetlifyError(_STRANGE) from None


# -- what comes out of an answer


def _site(row: Json, team: Team) -> Site:
    if row.get("account_id") != team.id or row.get("account_slug", team.slug) != team.slug:
        raise NetlifyError(FOREIGN)
    published = row.get("published_deploy")
    return Site(
        id=_matching(_SITE, row.get("id")),
        name=_text(row, "name"),
        state=_text(row, "state"),
        url=_text(row, "ssl_url") or _text(row, "url"),
        domains=tuple(name for name in (_text(row, "custom_domain"), *_texts(row, "domain_aliases")) if name),
        published=_like(_OBJECT, published.get("id")) if isinstance(published, dict) else "",
        created_at=_like(_MOMENT, row.get("created_at")),
        updated_at=_like(_MOMENT, row.get("updated_at")),
    )


def _deploy(row: Json, site: str) -> Deploy:
    if row.get("site_id") != site:
        raise NetlifyError(FOREIGN)
    return Deploy(
        id=_matching(_OBJECT, row.get("id")),
        site=site,
        state=_text(row, "state"),
        context=_text(row, "context"),
        branch=_text(row, "branch"),
        commit=_like(_COMMIT, row.get("commit_ref")),
        title=_text(row, "title"),
        error=_text(row, "error_message"),
        created_at=_like(_MOMENT, row.get("created_at")),
        published_at=_like(_MOMENT, row.get("published_at")),
    )


def _zone(row: Json, team: Team) -> Zone:
    if row.get("account_id") != team.id or row.get("account_slug", team.slug) != team.slug:
        raise NetlifyError(FOREIGN)
    return Zone(
        id=_matching(_OBJECT, row.get("id")),
        name=_text(row, "name"),
        domain=_text(row, "domain"),
        servers=_texts(row, "dns_servers"),
    )


def _record(row: Json, zone: str) -> Record:
    if row.get("dns_zone_id") != zone:
        raise NetlifyError(FOREIGN)
    return Record(
        host=_text(row, "hostname"),
        type=_text(row, "type"),
        value=_text(row, "value"),
        ttl_seconds=_number(row, "ttl"),
        managed=row.get("managed") is True,
    )


def _form(row: Json, site: str) -> Form:
    if row.get("site_id") != site:
        raise NetlifyError(FOREIGN)
    return Form(
        name=_text(row, "name"),
        paths=_texts(row, "paths"),
        submissions=_number(row, "submission_count"),
        created_at=_like(_MOMENT, row.get("created_at")),
    )


def _variable(row: Json) -> Variable:
    values = [value for value in _list(row.get("values")) if isinstance(value, dict)]
    return Variable(
        name=_matching(_KEY, row.get("key")),
        scopes=tuple(scope for scope in _texts(row, "scopes") if scope in _SCOPES),
        contexts=tuple(context for value in values if (context := _text(value, "context")) in _CONTEXTS),
        secret=row.get("is_secret") is True,
    )


_SCOPES = ("builds", "functions", "runtime", "post-processing")
_CONTEXTS = ("all", "dev", "dev-server", "branch-deploy", "deploy-preview", "production", "branch")


def _checked(pattern: re.Pattern[str], id: str, what: str) -> str:
    """An id as it may stand in a request."""
    if pattern.fullmatch(id) is None:
        raise BadId(f"That is no id of {what}.")
    return id


def _matching(pattern: re.Pattern[str], value: object) -> str:
    """A value of an answer that has to look like this."""
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise NetlifyError(_STRANGE)
    return value


def _like(pattern: re.Pattern[str], value: object) -> str:
    """A value of an answer if it looks like this, else nothing."""
    return value if isinstance(value, str) and pattern.fullmatch(value) is not None else ""


def _text(row: Json, name: str) -> str:
    value = row.get(name)
    return value[:FIELD_CHARACTERS] if isinstance(value, str) else ""


def _texts(row: Json, name: str) -> tuple[str, ...]:
    return tuple(value[:FIELD_CHARACTERS] for value in _list(row.get(name)) if isinstance(value, str))


def _number(row: Json, name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[Json]:
    """An answer that has to be a list of objects."""
    if not isinstance(value, list):
        raise NetlifyError(_STRANGE)
    return [_object(each) for each in value]


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise NetlifyError(_STRANGE)
    return value
