"""What must hold of every tool and every line of the code, whoever adds one."""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio

from dreamwalker.equipment import Equipment
from tools.contract import Arguments, Result, Tool, ToolContext
from tools.limits import Limits
from tools.netlify import NETLIFY
from tools.plainly import SAID
from tools.redact import Redactor

ROOT = Path(__file__).parent.parent.parent
ROOMS = ("actors", "dreamwalker", "netlify", "storage", "tools")


class _Usable:
    """A sandbox that is there."""

    offline = None

    async def unavailable(self) -> None:
        return None


EQUIPMENT = Equipment(
    workers=None,  # type: ignore[arg-type]
    cast=SimpleNamespace(  # type: ignore[arg-type]
        others=lambda name: (SimpleNamespace(name="gardener", job="the garden"),),
        records={"dreamwalker": SimpleNamespace(grants=f'["{NETLIFY}"]')},
    ),
    searches=None,  # type: ignore[arg-type]
    web=SimpleNamespace(),  # type: ignore[arg-type]
    sandbox=_Usable(),  # type: ignore[arg-type]
    netlify=SimpleNamespace(),  # type: ignore[arg-type]
    more=(),
    redactor=lambda: Redactor({}),
    limits=Limits(),
)
trio.run(EQUIPMENT.equip_workers)
KINDS = ("home", "ask", "job", "worker")

DECLARED = {
    # name: (exit, private, outside)
    "write_note": (True, False, False),
    "read_note": (False, True, True),
    "search_notes": (False, True, True),
    "list_notes": (False, True, True),
    "search_history": (False, True, True),
    "set_reminder": (False, False, False),
    "list_reminders": (False, True, True),
    "change_reminder": (True, False, False),
    "cancel_reminder": (True, False, False),
    "make_job": (True, False, False),
    "list_jobs": (False, True, True),
    "pause_job": (True, False, False),
    "resume_job": (True, False, False),
    "change_job": (True, False, False),
    "remove_job": (True, False, False),
    "delegate": (True, False, True),
    "message_agent": (True, False, True),
    **{
        f"netlify_{name}": (False, False, True)
        for name in (
            "sites",
            "site",
            "deploys",
            "deploy",
            "dns_zones",
            "dns_records",
            "functions",
            "forms",
            "variables",
        )
    },
    "ask_owner": (False, True, False),
    "web_search": (True, False, True),
    "fetch_url": (True, False, True),
    "shell": (True, False, True),
    "read_file": (False, False, True),
    "write_file": (False, False, True),
}
"""Every tool, and what it was decided to be: can it carry text away, can it bring in the owner's, or others' text?"""


class Nothing(Arguments, frozen=True):
    """No arguments."""


async def _nothing(context: ToolContext, arguments: Nothing) -> Result:
    return Result(parts=())


def test_a_tool_that_says_nothing_of_itself_counts_as_the_most_dangerous_one() -> None:
    tool = Tool(name="new", description="New.", arguments=Nothing, run=_nothing)
    assert tool.exit and tool.private and tool.outside and not tool.repeatable and not tool.asks


@pytest.mark.parametrize("kind", KINDS)
def test_every_tool_of_the_house_is_what_it_was_decided_to_be(kind: str) -> None:
    tools = EQUIPMENT.tools(kind, "dreamwalker")
    assert {tool.name: (tool.exit, tool.private, tool.outside) for tool in tools}.items() <= DECLARED.items()


def test_no_tool_is_decided_about_that_the_house_does_not_have() -> None:
    there = {tool.name for kind in KINDS for tool in EQUIPMENT.tools(kind, "dreamwalker")}
    assert there == set(DECLARED)


def test_whatever_changes_something_that_has_versions_says_so() -> None:
    exits = [tool for tool in EQUIPMENT.tools("home", "dreamwalker") if tool.exit]
    assert {tool.name for tool in exits if tool.target is None} == {
        "make_job",
        "delegate",
        "message_agent",
    }  # new each time


def test_whatever_may_be_asked_about_is_said_in_the_owners_words_first() -> None:
    exits = {tool.name for tool in EQUIPMENT.tools("home", "dreamwalker") if tool.exit}
    assert exits == set(SAID)


def test_whatever_depends_on_when_it_is_read_is_settled_before_the_owner_is_asked() -> None:
    exits = [tool for tool in EQUIPMENT.tools("home", "dreamwalker") if tool.exit]
    timed = [tool for tool in exits if "when" in tool.arguments.__struct_fields__]
    assert timed and all(tool.settle is not None for tool in timed)


def _calls(*rooms: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call in the code of some rooms, and the module that makes it."""
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    yield str(path.relative_to(ROOT)), node


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _given(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _strings(*rooms: str) -> Iterator[tuple[str, str]]:
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield str(path.relative_to(ROOT)), node.value


def test_the_owners_words_are_taken_in_in_one_place_only() -> None:
    accepts = [(module, _given(call, "outside")) for module, call in _calls(*ROOMS) if _name(call) == "accept"]
    clean = [
        (m, outside) for m, outside in accepts if not isinstance(outside, ast.Constant) or outside.value is not True
    ]
    assert [module for module, outside in clean if isinstance(outside, ast.Constant)] == ["dreamwalker/api/messages.py"]
    # everything else is as clean as what it derives from: a reminder, a job, its report, a question's outcome
    derived = {(module, ast.unparse(outside)) for module, outside in clean if not isinstance(outside, ast.Constant)}  # type: ignore[arg-type]
    assert derived == {
        ("actors/firing.py", "thing.label > 0"),
        ("actors/firing.py", "ended.label > 0"),
        ("actors/worker.py", "not answer.clean"),
        ("actors/workers.py", "context.label > 0"),
        ("storage/answers.py", "question.label > 0"),
    }


def test_only_the_api_makes_a_message_of_the_owners_kind_and_only_placing_it_makes_an_entry_of_his() -> None:
    said = {module for module, text in _strings(*ROOMS) if text == "owner"}
    assert {module for module in said if not module.startswith("dreamwalker/cli/")} == {
        "dreamwalker/api/messages.py",  # takes his words in
        "actors/request.py",  # shows them to the model
        "actors/transcript.py",  # asks which they are
        "dreamwalker/api/views.py",  # shows them to him
        "dreamwalker/api/addressed.py",  # shows them without the time, which is for the model
        "dreamwalker/api/accounts.py",  # says that they opened a run
        "dreamwalker/api/why.py",  # tells who said what
        "dreamwalker/api/search.py",  # finds them for him
        "tools/history.py",  # finds them
    }


def test_text_from_outside_is_made_by_its_constructor_only() -> None:
    assert {module for module, call in _calls(*ROOMS) if _name(call) == "Outside"} == {"tools/outside.py"}


def test_labels_are_compared_by_the_gate_alone() -> None:
    asked = {"freshly_tainted", "gate"}
    assert {module for module, call in _calls(*ROOMS) if _name(call) in asked} == {"tools/taint.py"}
