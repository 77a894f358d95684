"""Prompts of the select stage: the shortlist of capabilities, its one repair, and the reviews of it (contract 2.5)."""

from __future__ import annotations

from typing import Final

from intention_kernel.agent.prompts.ground_rules import CHOOSING, CONSENT, GIVING_UP, GROUND_RULES
from intention_kernel.agent.prompts.prompt import Prompt

SELECT: Final = Prompt(
    "kernel.capability.select",
    f"""\
Task: say which of the listed capabilities the user's current message is about, so that only those are looked at closely next.

{GROUND_RULES}

{CONSENT}

{CHOOSING}

{GIVING_UP}

What to answer in `mode`
- "selected": the message asks for work of one or more capabilities, or answers the open question, which goes on with the work
  of the capability that asks it, or of the one that the chosen option leads to. List all of them in `capabilityIds`, and none
  that the message has no need of.
- "selected_with_control": as above, and the message also gives up work that the agenda tracks.
- "control": the message only gives up work that the agenda tracks.
- "no_match": the message asks for something that no listed capability does.
- "conversational": the message asks for nothing and answers nothing: a greeting, thanks, small talk, a question about the
  conversation itself.
With the last three, `capabilityIds` is empty.

- Go by what a capability's description says that it does. A capability whose `availability` is "blocked" may be selected: what
  it waits for is found out later.
- A bare value, with no open question and nothing on the agenda, asks for nothing.
- `rationale` says in one or two sentences why. `evidence` quotes the words of the message that you rely on, with their meaning
  and the `index` of the message as `messageIndex`.""",
)

SELECT_REPAIR: Final = Prompt(
    "kernel.capability.select.repair",
    f"""\
Task: your shortlist of capabilities was not accepted. Make it anew, once.

`invalidOutput` is what was answered, `validationIssues` says what is wrong with it, and `context` is the same as before. Read
the message again in the light of the issues, keep what they do not touch, and change what they do. Do not get round an issue by
listing more capabilities, and select nothing to please it: where the message supports no selection, the right answer is
"conversational" or "no_match" with no capabilities.

{GROUND_RULES}

{CONSENT}

{CHOOSING}

{GIVING_UP}

The modes are "selected", "selected_with_control" (both with at least one capability), "control", "no_match" and
"conversational" (all with none). "control" and "selected_with_control" need words that abandon tracked work.""",
)

CHOICE_REVIEW: Final = Prompt(
    "kernel.review-capability-selection.choice-selection-review-system-prompt",
    f"""\
Task: a menu is open and a shortlist names a capability that the menu leads to. Say what the current message really means.

`currentChoice` is the open menu; its options are in the order in which the user sees them, with their `position`.
`proposedSelection` is the shortlist; do not trust it. The capabilities are those of the shortlist.

{GROUND_RULES}

{CONSENT}

{CHOOSING}

What to answer in `meaning`
- "unique_option": the message picks exactly one option, and no other reading is as good. Give its `position`, `label` and
  `optionId`, which have to belong to that one option.
- "operation_request": the message does not choose from the menu but asks for work in words of its own. Give the ids of all
  capabilities that it asks for in `operationCapabilityIds`, whether or not the shortlist has them.
- "ambiguous_or_unrelated": everything else. It could be several options, it is no more than an acknowledgement, its number
  fits one option as a position and another one as a value, or it has nothing to do with the menu.
When in doubt it is the last one: then the user is asked again, and nothing is lost. `rationale` says why in one or two
sentences.""",
)

DIVERSION_REVIEW: Final = Prompt(
    "kernel.review-capability-selection.active-interaction-diversion-review-system-prompt",
    f"""\
Task: a question is open (`context.interaction`), and a shortlist leads away from everything that the question is about. Say
whether the current message supports that.

{GROUND_RULES}

{CONSENT}

{CHOOSING}

- "supported": the message, in its own words, asks for what the capabilities of `proposedSelection` do, beside or instead of
  an answer to the open question.
- "unsupported": the message answers the open question, adds to it or hesitates over it, so that the shortlist takes it for
  something else; or it asks for none of those capabilities. A short value right after a question is most likely its answer.
`rationale` says why in one or two sentences.""",
)

LIFECYCLE_SELECTION_REVIEW: Final = Prompt(
    "kernel.review-lifecycle-actions.lifecycle-selection-review-system-prompt",
    f"""\
Task: a shortlist claims that the user gives up work that is tracked. Say whether the current message does.

`controlContract.actions` are all that can be given up, and `context.agenda` is the work that is tracked.
`controlContract.interactionAnswersAreLifecycleActions` is false: a no to a question, a declined confirmation or another choice
from a menu is an answer, and gives up nothing.

{GROUND_RULES}

{GIVING_UP}

- "supported": the message abandons tracked work in so many words ("forget the booking", "cancel my request").
- "unsupported": it corrects, postpones or refines work ("no, better on Friday"), answers a question, complains, or asks to
  undo something that was completed; that is a request for work and no abandonment. Silence about the work abandons nothing.
`rationale` says why in one or two sentences.""",
)

PROMPTS: Final[tuple[Prompt, ...]] = (
    SELECT,
    SELECT_REPAIR,
    CHOICE_REVIEW,
    DIVERSION_REVIEW,
    LIFECYCLE_SELECTION_REVIEW,
)
