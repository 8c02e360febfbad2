"""What can go wrong with storage. Each docstring draws the border to its neighbours."""


class StorageError(Exception):
    """Base of everything that storage raises of its own."""


class Unavailable(StorageError):
    """The database could not be reached within the bound, and nothing of the operation took effect."""


class CommitUnknown(StorageError):
    """The connection broke during a commit and the lease row could not be read within the bound.

    The commit may or may not have landed. Whoever holds this must forget what it holds in memory and open anew:
    a new opening has a new holder id, so a late copy can no longer land.
    """


class LeaseLost(StorageError):
    """Another process writes now. This one commits nothing more until it opens again.

    Nothing of this commit happened, unless the connection broke while it was under way and the other took over
    before we could look: then it may have landed just before.
    """


class LeaseHeld(StorageError):
    """Opening found a living holder that this process may not replace. `seconds` until it would run out."""

    def __init__(self, message: str, *, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class NotAsExpected(StorageError):
    """A row was not as a composed commit expected it, so nothing of that commit happened.

    For instance the run was stopped meanwhile. The message names the part.
    """


class OverBudget(StorageError):
    """A reservation did not fit under the limit of its day or month, so nothing of its commit happened."""


class Duplicate(StorageError):
    """A unique key was met again, so nothing of this commit happened. `constraint` is the key's name."""

    def __init__(self, message: str, *, constraint: str) -> None:
        super().__init__(message)
        self.constraint = constraint


class TookTooLong(StorageError):
    """The database ended a statement of a transaction for its time-out, so nothing of that commit happened.

    It was tried twice: a time-out also passes while this process is paused.
    """


class RollbackFailed(StorageError):
    """A callback failed, and the server did not say that its transaction is undone. `__cause__` is the callback's.

    The connection was thrown away, with which a transaction that is still open ends undone.
    """


class StoreClosed(StorageError):
    """Asked after the end: the storage is closed or about to close, and nothing was started."""


class StoreBusy(StorageError):
    """The caller's own bound passed while it waited. What it asked may still be carried out."""


class SchemaChangeRefused(StorageError):
    """A statement would change the schema, which only the files in `migrations/` may do."""
