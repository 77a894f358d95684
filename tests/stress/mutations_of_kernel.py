"""Invariants of a compiled agent's turn broken one by one: what is understood, planned, known and consented to."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation

_LIBRARY = "shared/src/intention_kernel"
_STAGES = f"{_LIBRARY}/runtime/stages"
_KERNEL = "tests/kernel"
_SEEDS = f"{_KERNEL}/test_seed_statements.py"
_DOCUMENTS = "tests/contract/test_agent_seeds.py::TestOverMemory"


def _broken(name: str, rule: str, without: str, edit: Edit, *tests: str) -> Mutation:
    return Mutation(name, rule, without, (edit,), tests)


KERNEL: tuple[Mutation, ...] = (
    _broken(
        "any-capability-proposed",
        "I-71",
        "a model may propose a capability that was not selected for the message",
        Edit(
            f"{_STAGES}/interpreting/interpret_checks.py",
            "proposed is None or proposed not in selected or proposed not in frame.view.agent.capabilities",
            "proposed is None",
        ),
        f"{_KERNEL}/test_interpret_boundary.py::test_what_a_batch_may_not_say_is_repaired_once",
    ),
    _broken(
        "requirement-without-provider",
        "I-72",
        "an agent may require a fact that nobody provides",
        Edit(
            f"{_LIBRARY}/agent/checks/facts.py",
            'yield from _unknown("MISSING_FACT_PROVIDER", f"{place}: requires", fact, providers)',
            "pass",
        ),
        f"{_KERNEL}/test_compile_facts.py::test_a_requirement_without_a_provider_is_refused_whenever_it_is_resolved",
    ),
    _broken(
        "first-policy-alone",
        "I-73",
        "only the first policy is asked",
        Edit(f"{_STAGES}/planning/plan_checks.py", "    for policy in policies:", "    for policy in policies[:1]:"),
        f"{_KERNEL}/test_plan.py::test_policies_are_asked_in_order_and_the_first_that_does_not_allow_decides",
    ),
    _broken(
        "first-question-shown",
        "I-73",
        "the first question of a plan is shown, however urgent the others are",
        Edit(
            f"{_STAGES}/planning/questions.py",
            "key=lambda step: _PRIORITIES.get(step.reason.code, 0)",
            "key=lambda step: 0",
        ),
        f"{_KERNEL}/test_plan.py::test_of_several_questions_the_most_urgent_is_shown_and_the_others_wait",
    ),
    _broken(
        "item-gone-without-word",
        "I-74",
        "an item that ends leaves no reason",
        Edit(
            f"{_STAGES}/reducing/agenda_changes.py", "            self.gone.append((item, reason))", "            pass"
        ),
        f"{_KERNEL}/test_agenda_properties.py::test_whatever_happens_agenda_questions_consent_and_facts_keep_their_rules",
    ),
    _broken(
        "host-context-projected",
        "I-75",
        "the host context is shown to models",
        Edit(
            f"{_STAGES}/context/projection.py",
            "    fixed: Data = {",
            '    fixed: Data = {\n        "hostContext": dict(view.host_context),',
        ),
        f"{_KERNEL}/test_projection.py::test_what_the_host_says_and_which_models_are_asked_is_never_shown",
        f"{_DOCUMENTS}::test_ports_and_host_context_reach_capabilities_and_nothing_that_is_kept_or_asked",
    ),
    _broken(
        "models-in-fingerprint",
        "I-76",
        "the models of an agent are part of its fingerprint",
        Edit(
            f"{_LIBRARY}/agent/fingerprint.py",
            '        "identity": definition.identity,',
            '        "identity": definition.identity,\n        "modelPolicy": {str(task): alias for task, alias in definition.model_policy.items()},',
        ),
        f"{_KERNEL}/test_fingerprint.py::test_code_models_prompts_and_limits_do_not_matter",
        f"{_KERNEL}/test_fingerprint.py::test_the_fingerprint_of_a_definition_is_the_same_for_ever",
    ),
    _broken(
        "another-context-to-interpret",
        "I-77",
        "interpretation sees another context than selection",
        Edit(
            f"{_STAGES}/interpreting/interpret.py",
            'input={"context": dict(frame.snapshot.projection), **shortlist}',
            'input={"context": dict(frame.snapshot.projection) | {"omissions": ["none"]}, **shortlist}',
        ),
        f"{_SEEDS}::test_all_models_that_understand_a_message_see_the_same_context",
    ),
    _broken(
        "cut-without-word",
        "I-78",
        "models are not told that earlier messages are left out",
        Edit(f"{_STAGES}/context/projection.py", "    if left_out:", "    if left_out < 0:"),
        f"{_KERNEL}/test_projection.py::test_only_the_recent_messages_are_shown_and_the_others_are_counted",
    ),
    _broken(
        "bare-number-selects",
        "I-79",
        "a bare number that nothing asked for may select an operation",
        Edit(
            f"{_STAGES}/selecting/selection_checks.py",
            "    if answer.mode in SELECTED_MODES and is_unbound_scalar(snapshot):",
            "    if False:",
        ),
        f"{_KERNEL}/test_select.py::test_a_bare_number_that_nothing_asked_for_selects_nothing",
    ),
    _broken(
        "small-talk-selects",
        "I-80",
        "a mode without operations may name some",
        Edit(
            f"{_STAGES}/selecting/selection_proposal.py",
            "        if bool(self.capability_ids) != (self.mode in SELECTED_MODES):",
            "        if False:",
        ),
        f"{_KERNEL}/test_select.py::test_an_invalid_proposal_is_repaired_once_with_what_is_wrong",
    ),
    _broken(
        "said-again-done-twice",
        "I-81",
        "an operation that is said again with its yes is a second request",
        Edit(
            f"{_STAGES}/planning/restatement.py",
            "        left = [one for one in left if one is not said_again]",
            "        assert said_again is None or said_again in left",
        ),
        f"{_KERNEL}/test_confirmation.py::test_an_operation_that_is_said_again_with_its_yes_is_carried_out_once",
    ),
    _broken(
        "supported-answer-reviewed-again",
        "I-82",
        "a repair puts a supported answer in doubt again",
        Edit(
            f"{_STAGES}/interpreting/interpret_repair.py",
            "return self.batch.answer_to_interaction if self.batch is not None and self._codes & _DOUBTED_EXTRAS else None",
            "return None",
        ),
        f"{_KERNEL}/test_interpret_repair.py::test_a_supported_answer_is_not_put_in_doubt_again_by_its_repair",
    ),
    _broken(
        "absent-input-is-null",
        "I-83",
        "an input that was not given is null",
        Edit(
            f"{_STAGES}/interpreting/interpret_proposal.py",
            '        if "input" in self.model_fields_set:',
            "        if True:",
        ),
        f"{_KERNEL}/test_interpret_boundary.py::test_absent_null_and_given_inputs_stay_distinct",
    ),
    _broken(
        "options-alike-chosen-from",
        "I-84",
        "an option is chosen although redaction makes two of them the same",
        Edit(
            f"{_STAGES}/interpreting/choice_reviews.py",
            "    if option is None or not options.distinct:",
            "    if option is None:",
        ),
        f"{_KERNEL}/test_answer_reviews.py::test_options_that_redaction_makes_the_same_are_no_answer_and_no_review_is_asked",
    ),
    _broken(
        "long-examples",
        "I-85",
        "a reference example may have any length",
        Edit(
            f"{_LIBRARY}/contracts/interactions.py",
            "    if len(value) > MAX_REFERENCE_EXAMPLE_LENGTH:",
            "    if len(value) < 0:",
        ),
        f"{_SEEDS}::test_reference_examples_are_few_short_and_not_blank",
    ),
    _broken(
        "example-over-position",
        "I-86",
        "a text that is one option's example and another's position is left to models",
        Edit(
            f"{_STAGES}/interpreting/interpret_options.py",
            "        index != at and any(",
            "        index == at and any(",
        ),
        f"{_KERNEL}/test_answer_reviews.py::test_an_example_that_is_another_options_position_forces_clarification",
        f"{_KERNEL}/test_select.py::test_an_example_that_competes_with_a_position_forces_clarification_without_asking_a_reviewer",
    ),
    _broken(
        "late-click-answers",
        "I-87",
        "a click on an earlier question answers the open one",
        Edit(
            f"{_STAGES}/context/clicks.py",
            "    if interaction is None or interaction.id != selection.interaction_id:",
            "    if interaction is None:",
        ),
        f"{_KERNEL}/test_clicks.py::test_a_click_that_does_not_fit_the_open_question_is_refused",
        f"{_KERNEL}/test_context.py::test_a_click_on_a_question_that_is_not_open_is_refused_before_any_model",
    ),
    _broken(
        "unsupported-giving-up",
        "I-88",
        "work is given up although its review does not support that",
        Edit(
            f"{_STAGES}/interpreting/lifecycle_review.py",
            ' for review in verdicts.reviews if review.verdict == "supported")',
            " for review in verdicts.reviews)",
        ),
        f"{_KERNEL}/test_answer_reviews.py::test_each_action_has_to_be_supported",
    ),
    _broken(
        "outputs-unchecked",
        "I-89",
        "an output is not held against its schema",
        Edit(
            f"{_LIBRARY}/runtime/calling.py",
            "    checked = capability.output.validate(document)",
            "    return document\n    checked = capability.output.validate(document)",
        ),
        f"{_SEEDS}::test_an_output_that_does_not_fit_its_schema_is_a_mistake_of_its_capability",
    ),
    _broken(
        "any-version-satisfies",
        "I-90",
        "every version of a fact is the same fact",
        Edit(f"{_LIBRARY}/contracts/facts.py", 'return f"{self.type}@{self.version}"', 'return f"{self.type}@1"'),
        f"{_KERNEL}/test_dependencies.py::test_another_version_of_a_fact_does_not_satisfy",
    ),
    _broken(
        "uncited-evidence-kept",
        "I-91",
        "a fact holds all evidence of its result",
        Edit(
            f"{_STAGES}/reducing/publish.py",
            "for evidence in completed.evidence if evidence.id in cited)",
            "for evidence in completed.evidence if evidence.id in cited or True)",
        ),
        f"{_KERNEL}/test_reduce.py::test_a_fact_holds_only_the_evidence_that_it_cites",
    ),
    _broken(
        "descendants-stay",
        "I-92",
        "what was made from a fact that is replaced stays valid",
        Edit(
            f"{_STAGES}/reducing/publish.py",
            "        if key not in gone and any(parent.key in gone for parent in record.depends_on)",
            "        if key not in gone and record is None",
        ),
        f"{_KERNEL}/test_reduce.py::test_replacing_a_fact_makes_all_that_was_made_from_it_invalid_and_nothing_else",
    ),
    _broken(
        "reads-one-after-another",
        "I-93",
        "independent reads run one after another",
        Edit(
            f"{_LIBRARY}/runtime/execute.py",
            "        if len(steps) == 1:",
            "        if len(steps) > 1:\n            return tuple([await self._run(step, facts, branches[step.id]) for step in steps])\n        if len(steps) == 1:",
        ),
        f"{_SEEDS}::test_independent_reads_run_side_by_side",
    ),
    _broken(
        "resumed-provider-waited-for",
        "I-94",
        "a requirement of runtime waits for a provider that an answer merely resumes",
        Edit(
            f"{_STAGES}/planning/dependencies.py",
            '(requirement.resolution == "planning" or other.item_id is None or has_consent(other))',
            '(requirement.resolution == "planning" or has_consent(other) or True)',
        ),
        f"{_KERNEL}/test_dependencies.py::test_a_runtime_requirement_does_not_wait_for_a_provider_that_an_answer_merely_resumes",
    ),
    _broken(
        "pausing-is-failing",
        "I-95",
        "a provider that pauses counts as failed",
        Edit(
            f"{_STAGES}/planning/schedule.py",
            "    return isinstance(result, NeedsInput | NeedsDependency | NeedsConfirmation | BlockedResult)",
            "    return False",
        ),
        f"{_KERNEL}/test_dependencies.py::test_a_consumer_of_a_provider_that_asks_first_waits_for_its_fact",
    ),
    _broken(
        "kept-choice-forgotten",
        "I-96",
        "a choice whose owner has not run yet is forgotten",
        Edit(
            f"{_STAGES}/reducing/agenda_items.py",
            '        if interaction is None or answer is None or interaction.kind != "choice":',
            "        if True:",
        ),
        f"{_KERNEL}/test_agenda.py::test_a_choice_for_a_capability_that_cannot_run_yet_is_kept_for_its_intention",
    ),
    _broken(
        "write-without-confirmation",
        "I-97",
        "a write may have no confirmation",
        Edit(f"{_LIBRARY}/agent/checks/effects.py", '    if capability.confirmation == "none":', "    if False:"),
        f"{_KERNEL}/test_compile_capability.py::test_a_write_that_cannot_work_is_refused_with_code_and_place",
    ),
    _broken(
        "unconfirmed-write",
        "I-98",
        "a write that needs confirmation is carried out at once",
        Edit(
            f"{_STAGES}/planning/plan_checks.py",
            'required = capability.definition.confirmation == "required"',
            "required = False",
        ),
        f"{_KERNEL}/test_confirmation.py::test_a_write_is_never_carried_out_in_the_turn_that_proposes_it",
        f"{_DOCUMENTS}::test_a_write_that_needs_confirmation_is_not_executed_in_the_turn_that_proposes_it",
    ),
    _broken(
        "payload-is-carried-out",
        "I-99",
        "what is shown beside a question is carried out, not what was planned",
        Edit(
            f"{_STAGES}/planning/confirmation.py",
            "        input=frozen.input,\n        item_id=item.id,\n        continuation=frozen.continuation,",
            '        input=item.interaction.payload["input"] if item.interaction else None,  # type: ignore[index,call-overload]\n        item_id=item.id,\n        continuation=frozen.continuation,',
        ),
        f"{_KERNEL}/test_confirmation.py::test_what_is_shown_beside_a_question_does_not_decide_what_is_carried_out",
    ),
    _broken(
        "questions-close-by-themselves",
        "I-100",
        "an open question is over with the next message",
        Edit(
            f"{_STAGES}/reducing/showing.py",
            "        return open_one or next((question for question in waiting.values() if not expired(question, at)), None)",
            "        return None",
        ),
        f"{_KERNEL}/test_confirmation.py::test_an_unrelated_question_is_answered_while_the_confirmation_stays_open",
        f"{_DOCUMENTS}::test_an_unrelated_question_is_answered_and_the_checkpoint_holds_both",
    ),
    _broken(
        "any-answer-is-a-yes",
        "I-101",
        "whatever is not false is a yes",
        Edit(
            f"{_STAGES}/planning/consent.py",
            '    if interaction.kind == "confirmation" and not isinstance(answer.value, bool):',
            "    if False:",
        ),
        f"{_KERNEL}/test_confirmation.py::test_an_answer_that_is_neither_yes_nor_no_leaves_the_confirmation_open",
        f"{_KERNEL}/test_confirmation.py::test_an_answer_of_the_wrong_type_beside_other_work_leaves_the_confirmation_open",
    ),
    _broken(
        "second-confirmation-takes-over",
        "I-102",
        "a second confirmation takes the place of the one that is shown",
        Edit(
            f"{_STAGES}/reducing/showing.py",
            'if stays or both_confirm or candidate.mode == "optional"',
            'if stays or (both_confirm and stays) or candidate.mode == "optional"',
        ),
        f"{_KERNEL}/test_confirmation.py::test_a_second_confirmation_waits_behind_the_one_that_is_shown",
    ),
    _broken(
        "never-expires",
        "I-103",
        "a confirmation never expires",
        Edit(
            f"{_STAGES}/planning/questions.py",
            "    return datetime.fromisoformat(interaction.expires_at) <= at",
            "    return datetime.fromisoformat(interaction.expires_at) is None",
        ),
        f"{_KERNEL}/test_confirmation.py::test_an_expired_confirmation_takes_no_yes_and_says_so",
    ),
    _broken(
        "outdated-consent",
        "I-103",
        "a yes to another version of the capability counts",
        Edit(
            f"{_STAGES}/planning/confirmation.py",
            "capability is None or capability.definition.version != frozen.capability_version",
            "capability is None",
        ),
        f"{_KERNEL}/test_confirmation.py::test_a_yes_after_the_definition_changed_is_not_carried_out",
    ),
    _broken(
        "consent-outlives-its-facts",
        "I-104",
        "a step that goes on by itself needs no confirmation",
        Edit(
            f"{_STAGES}/planning/plan_checks.py",
            "    if has_consent(valid):\n        return Assessed(valid)",
            '    if has_consent(valid) or valid.trigger == "resume":\n        return Assessed(valid)',
        ),
        f"{_KERNEL}/test_confirmation.py::test_a_yes_whose_fact_is_gone_waits_and_asks_again_when_it_is_back",
        f"{_KERNEL}/test_confirmation.py::test_a_write_that_waits_for_a_fact_after_its_yes_asks_again",
    ),
    _broken(
        "no-reaches-the-capability",
        "I-105",
        "a capability that asks itself is run with a no",
        Edit(
            f"{_STAGES}/planning/consent.py",
            "        if answer.value is False:",
            "        if answer.value is False and item.frozen is not None:",
        ),
        f"{_KERNEL}/test_confirmation.py::test_a_no_to_the_capabilitys_own_question_ends_it_and_does_not_run_it",
    ),
    _broken(
        "write-without-effect",
        "I-106",
        "a completed write needs no effect",
        Edit(f"{_LIBRARY}/runtime/execute.py", "context.completed_effects == 0", "context.completed_effects < 0"),
        f"{_SEEDS}::test_a_completed_write_without_an_effect_is_a_mistake_of_its_capability",
    ),
    _broken(
        "keys-without-capability",
        "I-107",
        "the key of an effect does not hold its capability",
        Edit(f"{_LIBRARY}/durability/turn_scope.py", '    effect_key = f"{effect.id}:{key}"', "    effect_key = key"),
        f"{_SEEDS}::test_an_effect_has_its_key_under_its_capability_and_is_made_once_for_the_thread",
    ),
    _broken(
        "blocked-step-forgotten",
        "I-108",
        "a blocked step does not keep what a continuation needs",
        Edit(
            f"{_STAGES}/reducing/agenda_items.py",
            'return self._item("blocked").model_copy(update={"blocked": self._blocked(blocked)})',
            'return self._item("blocked")',
        ),
        f"{_KERNEL}/test_agenda.py::test_a_step_that_met_an_uncertain_receipt_is_kept_with_all_that_a_continuation_needs",
        "tests/contract/test_memory_agents.py::TestContinuations::test_a_step_that_does_not_know_waits_and_is_told_when_it_is_settled",
    ),
    _broken(
        "earlier-writes-forgotten",
        "I-108 (R15)",
        "a continuation does not meet the writes that its turn had finished before",
        Edit(
            f"{_STAGES}/planning/resumption.py",
            "        for frozen in blocked.earlier:\n            found",
            "        for frozen in blocked.earlier[:0]:\n            found",
        ),
        "tests/contract/test_memory_agents.py::TestContinuations::test_writes_that_were_finished_before_are_met_again_and_not_repeated",
    ),
    _broken(
        "models-asked-again",
        "I-109 (R16)",
        "answers of models are not journalled",
        Edit(
            f"{_LIBRARY}/runtime/models.py",
            'document = await self._scope.recorded(f"model:{request.task}", known_by, lambda: self._call.end(request))',
            "document = await self._call.end(request) if known_by else None",
        ),
        f"{_KERNEL}/test_models.py::test_a_retry_replays_the_answers_makes_the_same_events_and_asks_nobody",
        "tests/contract/test_memory_agents.py::TestRetries::test_a_retry_asks_no_model_again_and_blocks_on_what_it_cannot_know",
    ),
    _broken(
        "agenda-grows",
        "I-110",
        "the agenda takes any number of items",
        Edit(f"{_STAGES}/planning/plan.py", "        if number >= room:", "        if number >= room + 10_000:"),
        f"{_KERNEL}/test_plan.py::test_a_request_beyond_the_agendas_bound_is_refused_and_told",
    ),
)
