"""Why the storage can't be opened now, in the owner's words.

One rule: whatever the reason, the next request tries again, and is told when.
"""

import logging

from storage.embedded import EmbeddedError
from storage.errors import CommitUnknown, LeaseHeld, LeaseLost, StorageError, StoreClosed, Unavailable

log = logging.getLogger("dreamwalker.system")


class NotReady(Exception):
    """The storage can't be opened now. The message says why, in the owner's words."""

    def __init__(self, message: str, *, retry_after_seconds: float) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


def stopping() -> NotReady:
    """This process is about to end."""
    return NotReady("dreamwalker is stopping.", retry_after_seconds=2.0)


def why_not(error: BaseException, look_seconds: float) -> NotReady:
    """What a failure to open comes to; another instance is looked for every `look_seconds`."""
    match error:
        case LeaseHeld():  # soon: whoever asks again may meet the other instance, or find that it has gone
            return NotReady(
                "Another instance of dreamwalker is at work on this database.",
                retry_after_seconds=max(min(error.seconds, look_seconds), 1.0),
            )
        case Unavailable() | CommitUnknown() | LeaseLost() | StoreClosed() | EmbeddedError():
            return NotReady(str(error), retry_after_seconds=5.0)
        case StorageError():
            return NotReady(str(error), retry_after_seconds=30.0)
    log.error("house.not_opened", exc_info=error)
    return NotReady(f"The storage could not be opened ({type(error).__name__}: {error}).", retry_after_seconds=30.0)
