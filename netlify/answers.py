"""What comes out of Netlify's answers: values with the fields that are named here, and nothing else of them.

One rule: an answer that holds anything that does not say that it belongs to the team, or to what was asked about, gives
nothing at all.
"""

import re
from collections.abc import Mapping
from typing import Any

import attrs

FIELD_CHARACTERS = 1_000

SITE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OBJECT = re.compile(r"[0-9a-f]{24}")
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")

Json = Mapping[str, Any]


class NetlifyError(Exception):
    """It can't be told. The message is one of a few fixed sentences, none of them the server's."""


class BadId(NetlifyError):
    """That can't be an id of such a thing."""


FOREIGN = "Netlify's answer held something that does not belong to the team, so nothing of it is shown."
STRANGE = "What answered was not Netlify's API: it sent something else than JSON of the kind that was asked for."


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


def site_of(row: Json, team: Team) -> Site:
    if row.get("account_id") != team.id or row.get("account_slug", team.slug) != team.slug:
        raise NetlifyError(FOREIGN)
    published = row.get("published_deploy")
    return Site(
        id=matching(SITE, row.get("id")),
        name=text(row, "name"),
        state=text(row, "state"),
        url=text(row, "ssl_url") or text(row, "url"),
        domains=tuple(name for name in (text(row, "custom_domain"), *_texts(row, "domain_aliases")) if name),
        published=_like(OBJECT, published.get("id")) if isinstance(published, dict) else "",
        created_at=_like(_MOMENT, row.get("created_at")),
        updated_at=_like(_MOMENT, row.get("updated_at")),
    )


def deploy_of(row: Json, site: str) -> Deploy:
    if row.get("site_id") != site:
        raise NetlifyError(FOREIGN)
    return Deploy(
        id=matching(OBJECT, row.get("id")),
        site=site,
        state=text(row, "state"),
        context=text(row, "context"),
        branch=text(row, "branch"),
        commit=_like(_COMMIT, row.get("commit_ref")),
        title=text(row, "title"),
        error=text(row, "error_message"),
        created_at=_like(_MOMENT, row.get("created_at")),
        published_at=_like(_MOMENT, row.get("published_at")),
    )


def zone_of(row: Json, team: Team) -> Zone:
    if row.get("account_id") != team.id or row.get("account_slug", team.slug) != team.slug:
        raise NetlifyError(FOREIGN)
    return Zone(
        id=matching(OBJECT, row.get("id")),
        name=text(row, "name"),
        domain=text(row, "domain"),
        servers=_texts(row, "dns_servers"),
    )


def record_of(row: Json, zone: str) -> Record:
    if row.get("dns_zone_id") != zone:
        raise NetlifyError(FOREIGN)
    return Record(
        host=text(row, "hostname"),
        type=text(row, "type"),
        value=text(row, "value"),
        ttl_seconds=_number(row, "ttl"),
        managed=row.get("managed") is True,
    )


def form_of(row: Json, site: str) -> Form:
    if row.get("site_id") != site:
        raise NetlifyError(FOREIGN)
    return Form(
        name=text(row, "name"),
        paths=_texts(row, "paths"),
        submissions=_number(row, "submission_count"),
        created_at=_like(_MOMENT, row.get("created_at")),
    )


def variable_of(row: Json) -> Variable:
    values = [value for value in a_list(row.get("values")) if isinstance(value, dict)]
    return Variable(
        name=matching(_KEY, row.get("key")),
        scopes=tuple(scope for scope in _texts(row, "scopes") if scope in _SCOPES),
        contexts=tuple(context for value in values if (context := text(value, "context")) in _CONTEXTS),
        secret=row.get("is_secret") is True,
    )


_SCOPES = ("builds", "functions", "runtime", "post-processing")
_CONTEXTS = ("all", "dev", "dev-server", "branch-deploy", "deploy-preview", "production", "branch")


def checked(pattern: re.Pattern[str], id: str, what: str) -> str:
    """An id as it may stand in a request."""
    if pattern.fullmatch(id) is None:
        raise BadId(f"That is no id of {what}.")
    return id


def matching(pattern: re.Pattern[str], value: object) -> str:
    """A value of an answer that has to look like this."""
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise NetlifyError(STRANGE)
    return value


def _like(pattern: re.Pattern[str], value: object) -> str:
    """A value of an answer if it looks like this, else nothing."""
    return value if isinstance(value, str) and pattern.fullmatch(value) is not None else ""


def text(row: Json, name: str) -> str:
    value = row.get(name)
    return value[:FIELD_CHARACTERS] if isinstance(value, str) else ""


def _texts(row: Json, name: str) -> tuple[str, ...]:
    return tuple(value[:FIELD_CHARACTERS] for value in a_list(row.get(name)) if isinstance(value, str))


def _number(row: Json, name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def a_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def objects(value: object) -> list[Json]:
    """An answer that has to be a list of objects."""
    if not isinstance(value, list):
        raise NetlifyError(STRANGE)
    return [an_object(each) for each in value]


def an_object(value: object) -> Json:
    if not isinstance(value, dict):
        raise NetlifyError(STRANGE)
    return value
