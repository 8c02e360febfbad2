"""A scripted Messages API over real HTTP for tests, as strict as the real one.

For example::

    async with serve_messages_api() as api:
        api.script(answer(use("write_note", {"title": "Keys"})), say("Done."))
        ...                                 # the product asks api.url
        assert api.asked[1]["messages"][-1]["content"][0]["type"] == "tool_result"
"""

from tests.messages_api.refusals import Limits, refuse
from tests.messages_api.replies import (
    Answer,
    Failure,
    Gate,
    HangUp,
    Json,
    Plain,
    Reply,
    Search,
    Silence,
    Thinking,
    answer,
    empty,
    fail,
    paused,
    say,
    text,
    use,
)
from tests.messages_api.server import Bill, MessagesApi, Request, serve_messages_api

__all__ = [
    "Answer",
    "Bill",
    "Failure",
    "Gate",
    "HangUp",
    "Json",
    "Limits",
    "MessagesApi",
    "Plain",
    "Reply",
    "Request",
    "Search",
    "Silence",
    "Thinking",
    "answer",
    "empty",
    "fail",
    "paused",
    "refuse",
    "say",
    "serve_messages_api",
    "text",
    "use",
]
