"""What a house is built from: everything that outlives it.

One rule: the shell makes it once for the whole process, and a house only takes from it.
"""

from collections.abc import Callable
from zoneinfo import ZoneInfo

import attrs

from actors.clock import Clock
from actors.spend import Prices
from actors.store import StoreSettings
from netlify.client import Netlify
from tools.contract import Tool
from tools.fetch_url import Web
from tools.limits import Limits
from tools.model import Model
from tools.phone import Phone
from tools.redact import Redactor
from tools.sandbox import Sandbox


@attrs.frozen(kw_only=True)
class Furnishing:
    """What a house is built from, made by the shell once for the whole process.

    `more_tools` are given to every conversation beside the house's own.
    """

    store: StoreSettings
    model: Model
    prices: Prices
    clock: Clock
    limits: Limits
    redactor: Callable[[], Redactor]
    zone: ZoneInfo
    default_model: str
    phone: Phone | None
    """None: nothing can be pushed."""
    sandbox: Sandbox | None = None
    """Where workers run commands; None: nowhere."""
    web: Web | None = None
    """What workers fetch pages with; None: they have neither pages nor searches."""
    netlify: Netlify | None = None
    """What an agent is granted with `netlify`; None: there is nothing to grant."""
    more_tools: tuple[Tool, ...] = ()
    visited: Callable[[], bool]
    """Whether a published request came lately, so that the lease is kept up."""
