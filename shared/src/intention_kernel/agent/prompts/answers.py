"""Prompts of the reviews of answers to the open question, and of what is asked for beside an answer (contract 2.7)."""

from __future__ import annotations

from typing import Final

from intention_kernel.agent.prompts.ground_rules import CHOOSING, CONSENT, GROUND_RULES
from intention_kernel.agent.prompts.prompt import Prompt

_DOUBT: Final = """\
The proposal proves nothing about the message, and neither does its rationale. If you are in doubt the verdict is "unsupported":
the user can say it again, and nothing is lost. `rationale` says why in one or two sentences."""

CONFIRMATION_REVIEW: Final = Prompt(
    "kernel.review-interaction-answer.confirmation-answer-review-system-prompt",
    f"""\
Task: a confirmation is open, and `proposedAnswer` says that the user's current message accepts it (true) or refuses it (false).
Judge whether the message does.

- "supported": the message itself clearly accepts, or clearly refuses, the pending operation as it was shown, in the sense of
  the proposed value.
- "unsupported": it says the opposite, or neither.
{_DOUBT}

{GROUND_RULES}

{CONSENT}""",
)

CONFIRMATION_INTENTIONS_REVIEW: Final = Prompt(
    "kernel.review-confirmation-intentions.review-system-prompt",
    f"""\
Task: the message answers an open confirmation, as `proposedAnswer` says, and `proposedIntentions` were read out of it as well.
Judge whether the message asks for all of these in words of their own, beside its answer.

- "supported": for each of them, words of the current message that are not the yes or the no ask for it.
- "unsupported": one of them is the operation that is being confirmed or a part of it, or a next step that would be likely or
  helpful, or something that only earlier messages ask for. To accept an operation is not to request it again.
{_DOUBT}

{GROUND_RULES}

{CONSENT}""",
)

CHOICE_REVIEW: Final = Prompt(
    "kernel.review-choice-answer.choice-answer-review-system-prompt",
    f"""\
Task: a question with options is open, and `proposedAnswer` says that the user's current message chooses `proposedOption`. Say
what the message chooses, whatever was proposed. `currentChoice.options` are the options.

What to answer in `decision`
- "selected": the message chooses exactly one option, and no other reading is as good. `optionId` is that option, be it the
  proposed one or another.
- "ambiguous": at least two options fit. `optionIds` are those.
- "not_selection": the message chooses no option. It asks something, changes the topic, or only acknowledges.
A choice is made by the current message alone, and never by the option's likelihood. `rationale` says why in one or two
sentences.

{GROUND_RULES}

{CHOOSING}""",
)

CHOICE_INTENTIONS_REVIEW: Final = Prompt(
    "kernel.review-choice-intentions.system",
    f"""\
Task: the message chooses an option of the open question, as `proposedAnswer` says, and `proposedIntentions` were read out of it
as well. Judge whether the message asks for all of these in words of their own, beside its choice.

- "supported": for each of them, words of the current message that do not make the choice ask for it.
- "unsupported": one of them is what the question belongs to, or what usually follows the choice, or was asked for only in
  earlier messages. To choose is not to request the operation that asked, nor the next one.
{_DOUBT}

{GROUND_RULES}

{CHOOSING}""",
)

UNANSWERED_INTENTIONS_REVIEW: Final = Prompt(
    "kernel.review-choice-intentions.unanswered-system",
    f"""\
Task: a question with options is open, the message was read as no answer to it (`answerStatus`), and `proposedIntentions` were read
out of it instead. Judge whether the message asks for all of these apart from the question.

- "supported": for each of them, the current message asks for it in words of its own, so that it would mean the same if no
  question were open.
- "unsupported": one of them is an attempt to choose, or a hesitation over the options, that was taken for something else.
{_DOUBT}

{GROUND_RULES}

{CHOOSING}""",
)

OMITTED_CHOICE_REVIEW: Final = Prompt(
    "kernel.review-omitted-choice-answer.system",
    f"""\
Task: a question with options is open. `proposedIntentions` were read out of the current message, and no answer to the question.
Judge whether the message chooses an option all the same.

- "supported": the message chooses exactly one current option. `optionId` is that option.
- "unsupported": it chooses none, or more than one fits. `optionId` is null.
An intention that fits an option well is no choice of it: only words of the message are. `rationale` says why in one or two
sentences.

{GROUND_RULES}

{CHOOSING}""",
)

PROMPTS: Final[tuple[Prompt, ...]] = (
    CONFIRMATION_REVIEW,
    CONFIRMATION_INTENTIONS_REVIEW,
    CHOICE_REVIEW,
    CHOICE_INTENTIONS_REVIEW,
    UNANSWERED_INTENTIONS_REVIEW,
    OMITTED_CHOICE_REVIEW,
)
