"""A client of Netlify's API that can only read, and only what one team owns.

One rule: a token acts on every team of its user, so nothing is asked before the list of teams is exactly the one that
is expected, and nothing is given out that does not say that it belongs to it. It has no method that writes, what goes
into a request is a number or an id of a fixed pattern, of an answer only what `netlify.answers` names comes out, and
what a server says in its own words when it fails goes nowhere.

The API gives no log of a deploy, only why it failed (as of version 2.60.0 of its description).
"""

import json
from typing import TYPE_CHECKING, Any

import trio

from .answers import (
    FOREIGN,
    OBJECT,
    SITE,
    SLUG,
    STRANGE,
    Deploy,
    Listed,
    NetlifyError,
    Site,
    Team,
    a_list,
    an_object,
    checked,
    deploy_of,
    form_of,
    matching,
    objects,
    record_of,
    site_of,
    text,
    variable_of,
    zone_of,
)

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
_REFUSALS = {
    401: "Netlify does not accept the token (401): DREAMWALKER_NETLIFY_TOKEN has to be corrected.",
    403: "Netlify does not let the token see this (403).",
    404: "Netlify knows no such thing (404).",
    422: "Netlify does not take the question as it is (422).",
    429: "Netlify has had enough of us for now (429). Ask again in some minutes.",
}
NOT_ONE_TEAM = (
    "The token acts on another team than the one that it is for, so nothing was asked. It has to be the token of a "
    "Netlify user who belongs to this one team only."
)
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
            rows = objects(await self._get(f"/sites/{site}/deploys", page=1, per_page=PAGE // 4))
            return Listed(items=tuple(deploy_of(row, site) for row in rows), more=len(rows) >= PAGE // 4)

    async def deploy(self, id: str) -> Deploy:
        """One deploy."""
        with self._deadline():
            team = await self._only_team()
            row = an_object(await self._get(f"/deploys/{checked(OBJECT, id, 'a deploy')}"))
            if row.get("id") != id:
                raise NetlifyError(FOREIGN)
            return deploy_of(row, (await self._site(team, matching(SITE, row.get("site_id")))).id)

    async def zones(self) -> Listed:
        """The team's DNS zones."""
        with self._deadline():
            team = await self._only_team()
            rows = objects(await self._get("/dns_zones", account_slug=team.slug))
            return Listed(items=tuple(zone_of(row, team) for row in rows))

    async def records(self, zone: str) -> Listed:
        """The records of a DNS zone."""
        with self._deadline():
            team = await self._only_team()
            row = an_object(await self._get(f"/dns_zones/{checked(OBJECT, zone, 'a DNS zone')}"))
            if zone_of(row, team).id != zone:
                raise NetlifyError(FOREIGN)
            rows = objects(await self._get(f"/dns_zones/{zone}/dns_records"))
            return Listed(items=tuple(record_of(row, zone) for row in rows))

    async def functions(self, site: str) -> Listed:
        """The names of a site's functions."""
        with self._deadline():
            await self._site(await self._only_team(), site)
            answer = await self._get(f"/sites/{site}/functions")
            rows = objects(answer) if isinstance(answer, list) else [an_object(answer)]
            made = [an_object(one) for row in rows for one in a_list(row.get("functions"))]
            return Listed(items=tuple(name for one in made if (name := text(one, "n") or text(one, "name"))))

    async def forms(self, site: str) -> Listed:
        """The forms of a site."""
        with self._deadline():
            await self._site(await self._only_team(), site)
            rows = objects(await self._get(f"/sites/{site}/forms"))
            return Listed(items=tuple(form_of(row, site) for row in rows))

    async def variables(self, site: str | None) -> Listed:
        """The names of the environment variables of the team, or of a site."""
        with self._deadline():
            team = await self._only_team()
            query = {} if site is None else {"site_id": (await self._site(team, site)).id}
            rows = objects(await self._get(f"/accounts/{team.id}/env", **query))
            return Listed(items=tuple(variable_of(row) for row in rows))

    # -- how it is asked

    async def _only_team(self) -> Team:
        """The team, if it is the one that is expected and the only one."""
        rows = objects(await self._get("/accounts"))
        if len(rows) != 1 or rows[0].get("slug") != self._team:
            raise NetlifyError(NOT_ONE_TEAM)
        return Team(id=matching(OBJECT, rows[0].get("id")), slug=matching(SLUG, self._team))

    async def _sites(self, team: Team) -> Listed:
        found: list[Site] = []
        for page in range(1, PAGES + 1):
            rows = objects(await self._get(f"/{team.slug}/sites", page=page, per_page=PAGE))
            found += [site_of(row, team) for row in rows]
            if not rows:
                return Listed(items=tuple(found))
        return Listed(items=tuple(found), more=True)

    async def _site(self, team: Team, id: str) -> Site:
        row = an_object(await self._get(f"/sites/{checked(SITE, id, 'a site')}"))
        site = site_of(row, team)
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
        raise NetlifyError(STRANGE) from None
