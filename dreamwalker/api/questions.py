"""Questions: what only the owner may decide, and how he does.

One rule: what he is shown is made here, of the bytes that will run; the first answer counts.
"""

from typing import Annotated, Literal

from msgspec import Meta

from storage.questions import ListQuestions, ReadQuestion
from tools.limits import FIXED
from tools.questions import verdict

from . import views
from .endpoint import BIGINT_MAX, Asked, Endpoint, Given, Nothing, Shown, not_found
from .entries import PageLimit
from .errors import Refused

ANSWER_CHARACTERS = FIXED.answer_to_question_characters


class QuestionsQuery(Given, frozen=True):
    """Which questions: those that are open, or all; of one agent or of every one; below id `before`."""

    state: Literal["open", "all"] = "open"
    agent: str | None = None
    before: Annotated[int, Meta(ge=1, le=BIGINT_MAX)] | None = None
    limit: PageLimit | None = None


class QuestionPath(Given, frozen=True):
    """A path with a question's id."""

    id: Annotated[int, Meta(ge=1, le=BIGINT_MAX)]


class NewAnswer(Given, frozen=True):
    """An answer. To an act, "yes" means yes and everything else no; to a choice, an option or words of his own."""

    answer: Annotated[str, Meta(max_length=ANSWER_CHARACTERS)]


class Questions(Shown, frozen=True):
    """Questions, the newest first. `more`: there are older ones."""

    questions: tuple[views.Question, ...]
    more: bool


class OneQuestion(Shown, frozen=True):
    """One question as it stands now."""

    question: views.Question


class Decided(Shown, frozen=True):
    """The question as it stands now, and in words what became of the answer."""

    question: views.Question
    said: str


async def list_questions(asked: Asked[Nothing, QuestionsQuery, Nothing]) -> Questions:
    house, query = await asked.house(), asked.query
    if query.agent is not None and query.agent not in house.agents:
        raise not_found("agent of that name")
    limit = min(query.limit or house.limits.page_entries, house.limits.page_entries)
    found = await house.store.ask(
        ListQuestions(
            before=query.before or BIGINT_MAX, limit=limit + 1, only_open=query.state == "open", agent=query.agent
        )
    )
    now = house.clock.now()
    return Questions(
        questions=tuple(views.Question.of(row, house.zone, now) for row in found[:limit]), more=len(found) > limit
    )


async def read_question(asked: Asked[QuestionPath, Nothing, Nothing]) -> OneQuestion:
    house = await asked.house()
    found = await house.store.ask(ReadQuestion(asked.path.id))
    if found is None:
        raise not_found("question of that id")
    return OneQuestion(question=views.Question.of(found, house.zone, house.clock.now()))


async def answer_question(asked: Asked[QuestionPath, Nothing, NewAnswer]) -> Decided:
    house = await asked.house()
    words = house.redactor.text(asked.body.answer)
    answered = await house.decisions.answer(asked.path.id, words)
    if answered is None:
        raise not_found("question of that id")
    question, now = answered.question, house.clock.now()
    stands, said = verdict(question, words, first=answered.first, zone=house.zone, now=now)
    if not stands:
        raise Refused(409, said, code="decided" if question.state == "answered" else question.state)
    return Decided(question=views.Question.of(question, house.zone, now), said=said)


ENDPOINTS = (
    Endpoint(
        method="GET",
        route="/api/questions",
        says="Questions to the owner, the newest first.",
        handle=list_questions,
        query=QuestionsQuery,
        answer=Questions,
        refusals=(404,),
    ),
    Endpoint(
        method="GET",
        route="/api/questions/{id}",
        says="One question: all that the owner is shown of it, and what was decided.",
        handle=read_question,
        path=QuestionPath,
        answer=OneQuestion,
    ),
    Endpoint(
        method="POST",
        route="/api/questions/{id}/answer",
        says=(
            "Answer a question. The first answer counts: the same one again changes nothing, another is told what was "
            "decided (409 `decided`), and so is one that comes too late (409 `expired`, `stopped`, `changed`, "
            "`superseded`)."
        ),
        handle=answer_question,
        path=QuestionPath,
        body=NewAnswer,
        answer=Decided,
        refusals=(409,),
    ),
)
