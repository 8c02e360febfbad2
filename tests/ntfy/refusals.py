"""What a real ntfy server refuses: its limits, and what it says.

One rule: a text that a real one would turn into an attachment is refused too, since nobody would read it on a phone.
"""

import json
import re
from typing import Any

MESSAGE_BYTES = 4096
TITLE_BYTES = 1024
_NAME = re.compile(r"[-_A-Za-z0-9]{1,64}")


def refuse(raw: bytes) -> tuple[int, str] | dict[str, Any]:
    """The request as a value, or the status and the words of its refusal."""
    if len(raw) > 2 * MESSAGE_BYTES:
        return 413, "JSON body too large"
    try:
        value: dict[str, Any] = json.loads(raw.decode())
    except ValueError:
        return 400, "invalid request: request body must be message JSON"
    for name in ("topic", "sequence_id"):
        if not _NAME.fullmatch(value.get(name, "")):
            return 400, f"invalid request: {name} invalid"
    if len(value["message"].encode()) > MESSAGE_BYTES or len(value["title"].encode()) > TITLE_BYTES:
        return 400, "the message would be an attachment, or its title is too long"
    if "\n" in value["title"] or not value["message"]:
        return 400, "the title is more than a line, or the message is empty"
    actions = value.get("actions", [])
    if len(actions) > 3 or not all(action["label"] and action["url"] for action in actions):
        return 400, "invalid request: actions invalid"
    if not all(action["action"] in ("view", "http") for action in actions):
        return 400, "invalid request: actions invalid"
    return value
