"""The buttons of notifications.

One rule: the token in the path is all that is asked for, and it opens this one door once; so nothing but a POST does
anything, and what is told is no more than what the button did.
"""

from storage.pushes import Declined
from tools.phone import hash_of

from .endpoint import Asked, Endpoint, Given, Nothing, Shown
from .errors import Refused


class ButtonPath(Given, frozen=True):
    """A path with a button's token."""

    token: str


class Pressed(Shown, frozen=True):
    """What pressing it did, or had done before."""

    said: str


async def press(asked: Asked[ButtonPath, Nothing, Nothing]) -> Pressed:
    token = asked.path.token
    try:
        said = None if hash_of(token) is None else await (await asked.house()).press(token)
    except Declined as declined:
        raise Refused(409, str(declined), code="decided") from None
    if said is None:
        raise Refused(404, "This button is not known, or has expired.")
    return Pressed(said=said)


ENDPOINTS = (
    Endpoint(
        method="POST",
        route="/api/buttons/{token}",
        says="Press a button of a notification. Needs no other token than the one in the path.",
        handle=press,
        path=ButtonPath,
        answer=Pressed,
        refusals=(409, 503),
        public=True,
    ),
)
