"""The features that the simulation exercises. To add one: a module here with a Feature, and its name in FEATURES.

A feature brings three things: a workload (what the owner does, what the model calls), its judge, and the names of the
operations that injections are aimed at besides those that they meet by chance.
"""

from tests.simulate.features.answers import ANSWERS
from tests.simulate.features.delegates import DELEGATES
from tests.simulate.features.feature import Feature
from tests.simulate.features.jobs import JOBS
from tests.simulate.features.letters import LETTERS
from tests.simulate.features.messages import MESSAGES
from tests.simulate.features.money import MONEY
from tests.simulate.features.notes import NOTES
from tests.simulate.features.pushes import PUSHES
from tests.simulate.features.questions import QUESTIONS
from tests.simulate.features.reminders import REMINDERS
from tests.simulate.features.summaries import SUMMARIES

FEATURES: tuple[Feature, ...] = (
    ANSWERS,
    NOTES,
    LETTERS,
    MONEY,
    QUESTIONS,
    REMINDERS,
    JOBS,
    PUSHES,
    DELEGATES,
    MESSAGES,
    SUMMARIES,
)

__all__ = ["FEATURES", "Feature"]
