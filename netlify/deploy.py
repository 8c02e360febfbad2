"""Which deploy of the site this is, and whether it may work.

One rule: only the published production deploy works on the owner's database; others answer for themselves or not at
all.
"""

import re

import msgspec

_ID = re.compile(r"[0-9a-f]{24}")

DEV = "0"
"""The generation under `netlify dev`, and on a machine of one's own."""


class Deploy(msgspec.Struct, frozen=True, kw_only=True):
    """A deploy, as one request has it. `context` is Netlify's word: production, deploy-preview, branch-deploy or dev;
    `published` says whether the site shows this deploy now."""

    id: str = ""
    context: str = ""
    published: bool = False

    @property
    def generation(self) -> str:
        """What the lease compares: ids begin with their time of creation in hex, so that newer ones sort later."""
        return self.id if _ID.fullmatch(self.id) else DEV

    @property
    def withdrawn(self) -> bool:
        """Whether the site shows another deploy, so that this one must not work any more."""
        return self.context == "production" and not self.published

    @property
    def preview(self) -> bool:
        """Whether it works on a branch of the database, which is gone with it."""
        return self.context not in ("production", "dev", "")
