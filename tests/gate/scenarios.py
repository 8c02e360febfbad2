"""The list of scenarios: every public function of these modules is one, and its name says what it shows.

One rule: a scenario raises Slip when something was done without a yes, or was asked about without need.
"""

import inspect
from collections.abc import Awaitable, Callable
from types import ModuleType

from tests.gate import agents, fresh, long, private, questions
from tests.gate.world import Stage

Scenario = Callable[[Stage], Awaitable[None]]


def _scenarios(module: ModuleType) -> dict[str, Scenario]:
    functions = inspect.getmembers(module, inspect.iscoroutinefunction)
    return {name: f for name, f in functions if f.__module__ == module.__name__ and not name.startswith("_")}


SCENARIOS = _scenarios(agents) | _scenarios(fresh) | _scenarios(long) | _scenarios(private) | _scenarios(questions)
