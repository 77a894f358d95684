"""What a process knows of an attempt, what a repeat says, and what a redelivery finds, broken one by one."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation, function

_LIBRARY = "shared/src/intention_kernel"
_RETRY = f"{_LIBRARY}/reconciliation/retry.py"
_LATE = "tests/reconciliation/test_late_answers.py"
_KEPT = (
    "tests/contract/test_postgres_programs.py::TestMisbehaviour"
    "::test_what_a_process_alone_knows_of_an_effect_is_recorded_once_the_store_is_back"
)

ANSWERS: tuple[Mutation, ...] = (
    Mutation(
        "refusal-speaks-for-repeats",
        "I-242 (R26)",
        "an attempt that did nothing settles or contradicts a repeat of its call",
        (function("end_effects", "a.said = 'failed' and (\n", "false and (\n"),),
        (
            f"{_LATE}::test_an_attempt_that_did_nothing_says_nothing_of_a_repeat_of_its_call[True-completed-no stock]",
            f"{_LATE}::test_an_attempt_that_did_nothing_says_nothing_of_a_repeat_of_its_call[False-uncertain-no stock]",
            f"{_LATE}::test_an_attempt_that_is_refused_while_its_call_is_repeated_settles_nothing",
        ),
    ),
    Mutation(
        "repeat-hides-proof",
        "I-242 (R25)",
        "an attempt that did it is ignored where its call was repeated",
        (function("end_effects", "a.said = 'failed' and (\n", "(\n"),),
        (f"{_LATE}::test_an_attempt_that_did_it_all_the_same_contradicts_a_refused_repeat",),
    ),
    Mutation(
        "refused-repeat-settles",
        "I-243 (R22, R26)",
        "a refused repeat settles while the attempt may still answer",
        (Edit(_RETRY, "    if isinstance(verdict, Admitted):", "    if True:"),),
        (
            "tests/reconciliation/test_resolvers.py"
            "::test_a_refused_repeat_settles_nothing_while_the_attempt_may_still_answer",
        ),
    ),
    Mutation(
        "answer-not-kept",
        "I-241 (R24)",
        "an end that the store does not take is given up",
        (
            Edit(
                f"{_LIBRARY}/durability/operations.py",
                "            await asyncio.sleep(jittered_seconds(_ASK_AGAIN_SECONDS))",
                "            return",
            ),
        ),
        (f"{_KEPT}[prepare]", f"{_KEPT}[end]"),
    ),
    Mutation(
        "unheard-prepare-left-open",
        "I-241 (R22)",
        "where a prepare was not answered nobody says that no call was made",
        (
            Edit(
                f"{_LIBRARY}/durability/effect_attempt.py",
                "        except (InfrastructureError, LeaseLostError):\n            self._disown(wanted, attempt_id)\n",
                "        except (InfrastructureError, LeaseLostError):\n",
            ),
        ),
        (f"{_KEPT}[prepare]",),
    ),
    Mutation(
        "late-copy-left-open",
        "I-241 (R11, R22)",
        "nobody says that no call was made of an attempt whose prepare comes after its end",
        (
            Edit(
                f"{_LIBRARY}/durability/effect_attempt.py",
                "            if self._clock.monotonic_seconds() < until_seconds:",
                "            if False:",
            ),
        ),
        (
            "tests/contract/test_postgres_programs.py::TestMisbehaviour"
            "::test_an_attempt_that_is_prepared_behind_its_back_is_said_to_be_over[late]",
        ),
    ),
    Mutation(
        "slow-store-is-a-failure",
        "I-10 (R6)",
        "a call whose time the store used up is the attempt's failure",
        (
            Edit(
                f"{_LIBRARY}/durability/effect_attempt.py",
                'return InfrastructureError(f"{said}, which',
                'return DeadlineError(f"{said}, which',
            ),
        ),
        (
            "tests/contract/test_postgres_programs.py::TestMisbehaviour"
            "::test_a_call_whose_time_the_store_used_up_is_made_by_the_same_attempt_later",
        ),
    ),
    Mutation(
        "rejected-again",
        "I-240 (R5, R11)",
        "a begun request that is rejected and delivered again gets another revision",
        (function("reject_begun", "elsif known.revision is not null then", "elsif false then"),),
        (
            "tests/contract/test_postgres_boundary.py::TestRejections"
            "::test_a_begun_request_that_is_redelivered_is_rejected_once",
        ),
    ),
    Mutation(
        "overtaken-poll-takes",
        "I-220 (R4)",
        "a poll keeps what it took of the assignment after it",
        (
            Edit(
                f"{_LIBRARY}/kafka/group.py",
                "        if not self._is_overtaken:\n            return raws\n",
                "        return raws\n",
            ),
        ),
        (
            "tests/integration/test_partition_progress.py"
            "::test_a_record_that_comes_before_the_databases_word_is_not_passed_over",
        ),
    ),
)
