"""Which sandbox there is, by the configuration. One rule: a sandbox that is not chosen is not even imported."""

import hashlib

from tools.sandbox import Sandbox

from ..config import Config


def sandbox_of(config: Config) -> Sandbox | None:
    """The sandbox that was chosen; None: there is to be none."""
    match config.sandbox:
        case "vercel":
            from .vercel import Vercel

            assert config.vercel is not None
            mark = hashlib.sha256(bytes(config.home.resolve())).hexdigest()[:12]
            return Vercel(config.vercel, f"dreamwalker-{mark}-", config.limits)
        case "bubblewrap":
            from .bubblewrap import Bubblewrap
            from .folders import base_folder

            return Bubblewrap(base_folder(config.home), config.limits)
    return None
