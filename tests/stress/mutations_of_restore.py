"""Restore (R39) broken one by one."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation, function

_LIBRARY = "shared/src/intention_kernel"
_RUNNER = "services/turn-runner/src/turn_runner"
_UNIT = "tests/unit/test_progress.py"
_DATABASE = "tests/postgres/test_progress.py"
_KAFKA = "tests/integration/test_partition_progress.py"
_RESTORE = "tests/acceptance/test_restore.py::test_turns_of_a_lost_database_run_again_and_call_nobody_twice"

RESTORE: tuple[Mutation, ...] = (
    Mutation(
        "group-before-database",
        "R39",
        "the group is told of an offset before the database",
        (
            Edit(
                f"{_RUNNER}/progress.py",
                "        await self._store.store_progress(self._topic, offsets)\n"
                "        return await self._group.commit(offsets)",
                "        ours = await self._group.commit(offsets)\n"
                "        await self._store.store_progress(self._topic, offsets)\n"
                "        return ours",
            ),
        ),
        (
            f"{_UNIT}::test_the_database_knows_an_offset_before_the_group_does_by_one_statement",
            f"{_UNIT}::test_the_group_is_not_told_what_the_database_could_not_store",
        ),
    ),
    Mutation(
        "older-database-runs",
        "R39",
        "partitions run though the group is ahead of the database",
        (Edit(f"{_RUNNER}/progress.py", "if not ahead:", "if True:"),),
        (
            f"{_UNIT}::test_partitions_run_unless_the_group_has_passed_what_the_database_knows[ahead]",
            f"{_KAFKA}::test_nothing_runs_where_any_partition_shows_an_older_database",
        ),
    ),
    Mutation(
        "one-partition-is-refused",
        "R39",
        "a runner refuses only the partition that shows it",
        (
            Edit(
                f"{_RUNNER}/progress.py",
                "epoch.admit(progress.of(epoch.partition).restore_until, reason)",
                "epoch.admit(progress.of(epoch.partition).restore_until, reason if reason and offsets.get("
                "epoch.partition, 0) > progress.of(epoch.partition).done_offset else None)",
            ),
        ),
        (
            f"{_UNIT}::test_an_assignment_is_refused_for_any_partition_of_the_topic_that_shows_it[all]",
            f"{_KAFKA}::test_nothing_runs_where_any_partition_shows_an_older_database",
            _RESTORE,
        ),
    ),
    Mutation(
        "own-partitions-are-compared",
        "R39",
        "a runner compares only the partitions that it has",
        (
            Edit(
                f"{_RUNNER}/progress.py",
                "reason = refusal(self._topic, offsets, progress)",
                "mine = {epoch.partition for epoch in epochs}\n"
                "        reason = refusal(self._topic, {one: offsets[one] for one in mine if one in offsets}, progress)",
            ),
        ),
        (
            f"{_UNIT}::test_an_assignment_is_refused_for_any_partition_of_the_topic_that_shows_it[another's]",
            f"{_KAFKA}::test_nothing_runs_where_any_partition_shows_an_older_database",
        ),
    ),
    Mutation(
        "unfinished-recovery-runs",
        "R39",
        "partitions run while a recovery is unfinished",
        (Edit(f"{_RUNNER}/progress.py", "if progress.recovering:", "if False:"),),
        (f"{_UNIT}::test_nothing_runs_while_a_recovery_is_unfinished",),
    ),
    Mutation(
        "database-asked-first",
        "R39",
        "an assignment asks the database before the group",
        (
            Edit(
                f"{_RUNNER}/progress.py",
                "        progress = await self._store.progress(self._topic, partitions)\n",
                "        progress = await self._store.progress(self._topic, partitions)\n"
                "        offsets = await self._group.committed()\n",
            ),
        ),
        (f"{_UNIT}::test_an_assignment_waits_for_the_databases_word_and_takes_it",),
    ),
    Mutation(
        "runs-before-the-word",
        "R39",
        "an assignment does not wait for the database's word",
        (
            Edit(
                f"{_RUNNER}/offsets.py",
                "return self._admitted and not (self._ended or self.revoking)",
                "return not (self._ended or self.revoking)",
            ),
        ),
        (
            f"{_UNIT}::test_an_assignment_waits_for_the_databases_word_and_takes_it",
            f"{_KAFKA}::test_nothing_runs_where_any_partition_shows_an_older_database",
        ),
    ),
    Mutation(
        "restored-is-forgotten",
        "R39",
        "a consumer does not mark what may have run on a lost database",
        (Edit(f"{_RUNNER}/consumer.py", "if record.offset < epoch.restore_until:", "if False:"),),
        (f"{_KAFKA}::test_nothing_runs_where_any_partition_shows_an_older_database",),
    ),
    Mutation(
        "restored-effect-is-called",
        "R39",
        "an effect that a lost database may have had is called",
        (
            function(
                "prepare_effects",
                "array_agg(d.is_restored and (d.verdict = 'first' or d.verdict = 'again' and d.recovery < recoveries_now))",
                "array_agg(false)",
            ),
        ),
        (f"{_DATABASE}::test_an_effect_that_a_lost_database_may_have_had_is_uncertain_without_a_call",),
    ),
    Mutation(
        "restored-attempt-denies-the-call",
        "R39, R22",
        "that an attempt was never granted settles what a lost database may have called",
        (function("end_effects", "m.cause in ('retry', 'restore')", "m.cause = 'retry'"),),
        (
            "tests/contract/test_postgres_boundary.py::TestEffects"
            "::test_an_attempt_that_a_lost_database_may_have_had_is_left_to_the_resolvers",
            _RESTORE,
        ),
    ),
    Mutation(
        "old-failure-is-trusted",
        "R39",
        "what failed before the recovery may be called",
        (
            function(
                "prepare_effects",
                "(d.verdict = 'first' or d.verdict = 'again' and d.recovery < recoveries_now)",
                "d.verdict = 'first'",
            ),
        ),
        (f"{_DATABASE}::test_what_was_settled_after_the_recovery_may_be_called_and_what_failed_before_may_not",),
    ),
    Mutation(
        "restored-window-from-now",
        "R39, R26",
        "the provider's window of such an effect counts from when it is met again",
        (
            function(
                "prepare_effects",
                "first_prepared_at = least(r.first_prepared_at, to_timestamp(a.asked_ms / 1000.0)), ",
                "",
            ),
        ),
        (f"{_DATABASE}::test_an_effect_that_a_lost_database_may_have_had_is_uncertain_without_a_call",),
    ),
    Mutation(
        "continuation-forgets-restore",
        "R39",
        "a continuation does not know that the turn it resumes may have run on a lost database",
        (
            Edit(
                f"{_LIBRARY}/durability/durability.py",
                "return opened.delivery.restored or any(entry.entry == RESTORED.entry for entry in earlier)",
                "return opened.delivery.restored and bool(earlier or True)",
            ),
        ),
        (_RESTORE,),
    ),
    Mutation(
        "waiting-turns-unmarked",
        "R39",
        "turns that wait when a recovery begins are not marked",
        (
            function(
                "begin_recovery", "  group by w.thread_id, w.turn_id\n", "  and false group by w.thread_id, w.turn_id\n"
            ),
        ),
        (f"{_DATABASE}::test_a_recovery_marks_who_waits_and_puts_off_what_is_open",),
    ),
    Mutation(
        "open-receipts-as-they-were",
        "R39, R22, R23",
        "what was seen of an open receipt before the recovery may settle it",
        (function("begin_recovery", "set recovery = number, version = r.version + 1,", "set recovery = number,"),),
        (f"{_DATABASE}::test_a_recovery_marks_who_waits_and_puts_off_what_is_open",),
    ),
    Mutation(
        "fences-are-given-again",
        "R39, R3",
        "a recovery gives fences again that a lost database has given",
        (function("begin_turns", "select i.recoveries::bigint << 40", "select i.recoveries::bigint * 0"),),
        (f"{_DATABASE}::test_a_recovery_leaves_no_lease_and_no_fence_of_the_lost_database",),
    ),
    Mutation(
        "incarnation-stays",
        "R39",
        "events after a recovery have the incarnation of those before",
        (function("begin_recovery", "set incarnation = new_incarnation,", "set incarnation = i.incarnation,"),),
        (f"{_DATABASE}::test_a_recovery_leaves_no_lease_and_no_fence_of_the_lost_database",),
    ),
    Mutation(
        "sequences-stay",
        "R39, R36",
        "sequences of the topic are used again",
        (
            Edit(
                f"{_LIBRARY}/postgres/recovery.py",
                "[last[one] for one in threads]",
                "[0 for one in threads]",
            ),
        ),
        (f"{_DATABASE}::test_sequences_go_on_above_the_topics_and_published_rows_leave_the_outbox",),
    ),
    Mutation(
        "until-the-groups-offset",
        "R39",
        "requests that were under way beyond the group's offset are called again",
        (Edit(f"{_LIBRARY}/cli/recovering.py", "return max(self.ends, self.group or 0)", "return self.group or 0"),),
        (
            "tests/unit/test_recovering.py"
            "::test_requests_run_again_from_what_the_database_knows_and_without_calls_up_to_the_topics_end[ahead]",
        ),
    ),
    Mutation(
        "recover-beside-the-living",
        "R39",
        "a recovery begins while runners are alive",
        (
            Edit(
                f"{_LIBRARY}/cli/recovering.py",
                "return tuple(text for count, text in found if count)",
                "return tuple(text for count, text in found if count < 0)",
            ),
        ),
        (_RESTORE,),
    ),
    Mutation(
        "given-up-unmarked",
        "R39, R33",
        "a turn that is set aside or refused inside of the window keeps no mark",
        (function("mark_restored", "record_offset < p.restore_until", "record_offset < 0"),),
        (
            "tests/postgres/test_progress.py::test_what_is_given_up_or_refused_inside_of_the_window_keeps_the_mark_for_its_redrive",
        ),
    ),
)
