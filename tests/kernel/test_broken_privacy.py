"""Strings that a result names are private at once, also where nothing of its step is left to say so."""

from __future__ import annotations

import pytest
from intention_kernel.agent import CanonicalResponse, CapabilityExecutionContext, CapabilityResult, Completed
from intention_kernel.contracts.json_codec import dumps
from intention_kernel.errors import CapabilityContractError
from intention_kernel.testing import ConversationScript, Talk

from tests.support.kernel import Anything, agent, capability

IBAN = "DE4911110000"


def _talk(*, words: bool) -> tuple[Talk, ConversationScript]:
    async def find(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        said = CanonicalResponse(f"Your account is {IBAN}.") if words else None
        return Completed(Anything(note=IBAN), canonical_response=said, model_redactions=(IBAN,))

    script = ConversationScript()
    script.when("find").proposes("account.find").says("Here it is.")
    script.when("thanks").says("Gladly.")
    return Talk(agent(capability("account.find", execute=find)), script), script


async def test_no_model_that_puts_the_turn_into_words_reads_what_a_finished_step_has_named() -> None:
    talk, script = _talk(words=False)
    await talk.says("find")
    tasks = [request.task for request in script.requests]
    assert "response.compose" in tasks
    assert not [request.task for request in script.requests if IBAN.encode() in dumps(request.to_json())]


async def test_no_later_model_reads_it_in_the_message_that_the_user_got() -> None:
    talk, script = _talk(words=True)
    turn = await talk.says("find")
    turn.says_exactly(f"Your account is {IBAN}.")
    await talk.says("thanks")
    assert not [request.task for request in script.requests if IBAN.encode() in dumps(request.to_json())]


@pytest.mark.parametrize("given", [IBAN, (1,), {IBAN: 1}, None])
async def test_redactions_that_are_no_tuple_of_strings_are_refused_and_not_ignored(given: object) -> None:
    async def find(context: CapabilityExecutionContext, value: Anything) -> CapabilityResult:
        return Completed(Anything(note=IBAN), model_redactions=given)  # type: ignore[arg-type]

    script = ConversationScript()
    script.when("find").proposes("account.find").says("Here it is.")
    talk = Talk(agent(capability("account.find", execute=find)), script)
    with pytest.raises(CapabilityContractError, match="INVALID_MODEL_REDACTIONS"):
        await talk.says("find")
