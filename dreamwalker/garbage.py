"""How Python looks for garbage in this program.

One rule: it looks where there may be some. What is imported stays, and most of what a run makes lives until its next
commit: looked for every 700 objects, as by default, little is found, and the more runs are under way the less.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 25_000
"""So many new objects are looked through at once: a few megabytes, and a tenth of the time of a hundred runs less."""


@contextmanager
def importing() -> Iterator[None]:
    """Import without looking: that is a seventh of the start of a server."""
    gc.disable()
    try:
        yield
    finally:
        settle()
        gc.enable()


def settle() -> None:
    """Keep all that is there for good, and look less often from now on."""
    gc.freeze()
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])
