"""A scripted ntfy over real HTTP for tests, as strict as the real one, with the phone that it shows things on.

For example::

    async with serve_ntfy() as ntfy:
        ntfy.script(Status(500), Drop(), Publish())
        ...                                         # the product publishes to ntfy.url
        notification = await ntfy.shown(1)
        await ntfy.press("Done")                    # as a thumb does it
"""

from tests.ntfy.server import Drop, Hang, Notice, Ntfy, Publish, Status, serve_ntfy

__all__ = ["Drop", "Hang", "Notice", "Ntfy", "Publish", "Status", "serve_ntfy"]
