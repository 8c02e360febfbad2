"""The account that hosted sandboxes belong to. One rule: to name it takes nothing of what it takes to use it."""

import attrs

DEFAULT_URL = "https://vercel.com/api"


@attrs.frozen(kw_only=True)
class Account:
    """Whose sandboxes: the team and the project that they belong to and are billed to."""

    token: str = attrs.field(repr=False)
    team: str
    project: str
    url: str = DEFAULT_URL
