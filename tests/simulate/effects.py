"""What tools do to the world outside the database, in the fast variant: letters that are posted, things looked up.

One rule: an effect is remembered here, outside of every process, as the world would remember it.
"""

from typing import TYPE_CHECKING, Annotated

import attrs
import trio
from msgspec import Meta

from tools.contract import Arguments, Result, Tool, ToolContext
from tools.toolbox import canonical

if TYPE_CHECKING:
    from tests.simulate.life import Life
    from tests.simulate.stage import Stage

_BEGUN = """
SELECT c.result IS NULL AND r.state NOT IN ('done', 'failed', 'stopped') AS open, h.app,
    c.question IS NULL OR q.state = 'answered' AND q.answer = 'yes' AS allowed
FROM calls c JOIN runs r ON r.id = c.run LEFT JOIN questions q ON q.id = c.question,
    (SELECT app FROM audit.leases ORDER BY at DESC LIMIT 1) h
WHERE c.run = $1 AND c.turn = $2 AND c.position = $3
"""


@attrs.frozen(kw_only=True)
class Effect:
    """Something that happened outside: by which tool, under which key of the plan, for which call."""

    tool: str
    key: str
    call: str
    life: int
    arguments: str
    """As they ran: JSON text."""


class Keyed(Arguments, frozen=True):
    """Arguments of every tool here."""

    key: Annotated[str, Meta(description="What it is about.")]
    words: Annotated[str, Meta(description="What is written on it.")] = ""


def tools_of(stage: "Stage", life: "Life") -> tuple[Tool, ...]:
    """The tools of one process. What they do, they do to the stage."""

    def tool(name: str, *, repeatable: bool, stoppable: bool, exit: bool = False) -> Tool:
        async def run(context: ToolContext, arguments: Keyed) -> Result:
            await _effect(stage, life, name, context, arguments)
            return Result(parts=(f"Done: {name} {arguments.key}.",))

        return Tool(
            name=name,
            description=f"Does something outside ({name}).",
            arguments=Keyed,
            run=run,
            exit=exit,
            private=False,
            outside=False,
            repeatable=repeatable,
            stoppable=stoppable,
        )

    return (
        tool("post_letter", repeatable=False, stoppable=False),
        tool("dig_hole", repeatable=False, stoppable=True),
        tool("look_up", repeatable=True, stoppable=True),
        tool("send_parcel", repeatable=False, stoppable=False, exit=True),
        tool("hang_sign", repeatable=True, stoppable=False, exit=True),
    )


async def _effect(stage: "Stage", life: "Life", tool: str, context: ToolContext, arguments: Keyed) -> None:
    key = arguments.key
    await life.awake()
    blow = stage.meet("tool", tool, life)
    await stage.hold(life)
    if blow is not None:
        await blow.before(stage, life)
    await life.awake()
    call = context.call
    begun = await stage.outsider.rows(_BEGUN, call.run, call.turn, call.position)
    if not begun:
        stage.violations.append(f"{tool} {key} took effect before its call had begun")
    elif not begun[0]["open"] and begun[0]["app"] == life.app:
        stage.violations.append(f"{tool} {key} took effect after its call or its run had ended")
    elif not begun[0]["allowed"]:
        stage.violations.append(f"{tool} {key} took effect without the yes that it needs")
    await life.awake()
    effect = Effect(tool=tool, key=arguments.key, call=call.key, life=life.number, arguments=canonical(arguments))
    stage.effects.append(effect)
    if blow is not None:
        await blow.after(stage, life)
    await trio.lowlevel.checkpoint()
