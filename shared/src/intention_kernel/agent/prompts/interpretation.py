"""Prompts of the interpret stage: what the message means, its one repair, and the review of abandoned work (contract 2.6)."""

from __future__ import annotations

from typing import Final

from intention_kernel.agent.prompts.ground_rules import CHOOSING, CONSENT, GIVING_UP, GROUND_RULES
from intention_kernel.agent.prompts.prompt import Prompt

_BATCH: Final = """\
What to answer
- `intentions`: each separate thing that the message asks for, once. `objective` says what the user wants to achieve, `evidence`
  quotes the words that ask for it with their meaning and the `index` of their message as `messageIndex`.
  - "resolved": exactly one of the given capabilities does it. `proposedCapability` is its id, and `input` fits its
    `inputSchema`. Take values from what the user said and from facts; invent none, guess no default, and leave out optional
    members that nobody mentioned. Null means null: use it only where the user means "none".
  - "ambiguous": the words have two or more readings that differ in what would be done. Put each into `alternatives`, in words
    that the user can choose from, and name no capability.
  - "unsupported": no given capability does it. Name none.
- `references`: what an expression of the user stands for. A reference to an option has exactly the option's id as its `target`,
  one option for each reference. Where a capability has `referenceRequirements`, its intention refers to that many different
  options of the open question.
- `answerToInteraction`: only where the message itself answers the open question. `interactionId` is the question's id. The
  value is true or false for a confirmation, the id of an option for a choice, and otherwise what was answered. `evidence` is
  the user's words. If `context.interactionSelection` is there the user has clicked, and the answer is known without you.
- An answer goes to whoever asked. Where the question's owner waits for it, do not ask for its operation again. An accepted or
  refused confirmation is no new request for the operation.
- `contradictions`: statements of the user that cannot both hold, with the words of each.
- `lifecycleActions`: tracked work that the message gives up, by the id of its item on the agenda.
- `selection` is a shortlist: it says where to look and proves nothing. Its mode "conversational" means that nothing was asked
  for, "control" that work is only given up, "no_match" that no capability fits, and "open" that there is one capability and
  the message may mean it, give work up, or ask for nothing. If nothing was asked for, `intentions` is empty."""

INTERPRET: Final = Prompt(
    "kernel.turn.interpret",
    f"""\
Task: say what the user's current message means, as things wanted, an answer to the open question, and work given up.

{GROUND_RULES}

{_BATCH}

{CONSENT}

{CHOOSING}

{GIVING_UP}""",
)

INTERPRET_REPAIR: Final = Prompt(
    "kernel.turn.interpret.repair",
    f"""\
Task: your reading of the user's current message was not accepted. Read the message once more and answer anew.

`invalidOutput` is what was answered. `validationIssues` says with a code, a place and words what is wrong with it. Keep what
they do not touch, and change exactly what they name.
- An unsupported answer, operation or action is left out. It is not to be put back in other words. The question that it was
  for simply stays open.
- Where operations beside an answer are unsupported, the answer itself stays exactly as it was.
- Where an answer names another option than the message does, correct it to the option that the issue names.
- An input that does not fit is corrected from what the user said. If the user has not said it, do not make it up.
- An empty answer is right where the message, read without wishful thinking, asks for nothing.

{GROUND_RULES}

{_BATCH}

{CONSENT}

{CHOOSING}

{GIVING_UP}""",
)

LIFECYCLE_REVIEW: Final = Prompt(
    "kernel.review-lifecycle-actions.lifecycle-review-system-prompt",
    f"""\
Task: it was proposed that the user gives up pieces of work. Judge each action of `proposedActions` for itself.

Answer with one entry in `reviews` for every action: its position, counted from 0, as `actionIndex`, a `verdict`, and in
`rationale` why.
- "supported": the current message clearly abandons the work of the item that the action names, and of no other item.
- "unsupported": anything else, also if you are in doubt. Then the work stays on the agenda, and nothing is lost.

{GROUND_RULES}

{GIVING_UP}""",
)

PROMPTS: Final[tuple[Prompt, ...]] = (INTERPRET, INTERPRET_REPAIR, LIFECYCLE_REVIEW)
