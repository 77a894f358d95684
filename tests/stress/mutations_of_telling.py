"""Invariants of a compiled agent broken one by one: what it keeps, answers, tells, and asks of models."""

from __future__ import annotations

from tests.stress.mutation import Edit, Mutation

_LIBRARY = "shared/src/intention_kernel"
_STAGES = f"{_LIBRARY}/runtime/stages"
_KERNEL = "tests/kernel"
_SEEDS = f"{_KERNEL}/test_seed_statements.py"
_DOCUMENTS = "tests/contract/test_agent_seeds.py::TestOverMemory"


def _broken(name: str, rule: str, without: str, edit: Edit, *tests: str) -> Mutation:
    return Mutation(name, rule, without, (edit,), tests)


TELLING: tuple[Mutation, ...] = (
    _broken(
        "blocked-receipts-dropped",
        "I-111",
        "a receipt that a blocked step waits for goes with its age",
        Edit(
            f"{_STAGES}/memory.py",
            '            references |= _ids(blocked.get("receipts"), "receiptId")',
            '            references |= _ids(blocked.get("nothing"), "receiptId")',
        ),
        "tests/unit/test_memory_stage.py::test_receipts_of_a_compiled_agents_blocked_steps_and_evidence_are_kept",
    ),
    _broken(
        "public-agenda-stored",
        "I-112",
        "the agenda is stored by a list of its public members",
        Edit(
            f"{_STAGES}/state.py",
            "agenda=tuple(written(item) for item in state.agenda)",
            "agenda=tuple(written(item.public()) for item in state.agenda)",
        ),
        f"{_DOCUMENTS}::test_what_is_private_on_the_agenda_survives_turns_that_do_not_touch_it",
        f"{_KERNEL}/test_privacy.py::test_a_memory_that_no_turn_changed_is_stored_byte_for_byte",
    ),
    _broken(
        "private-agenda-projected",
        "I-113",
        "models see private members of the agenda",
        Edit(
            f"{_STAGES}/context/projection.py",
            "_known(item, PUBLIC_MEMBERS) for item in view.state.agenda",
            "_known(item) for item in view.state.agenda",
        ),
        f"{_KERNEL}/test_projection.py::test_an_agenda_item_shows_its_public_members_and_nothing_else",
        f"{_KERNEL}/test_privacy.py::test_no_private_metadata_and_no_secret_reaches_the_projection_or_the_capabilities",
    ),
    _broken(
        "requests-unredacted",
        "I-113",
        "a request is not redacted on its way out",
        Edit(
            f"{_LIBRARY}/runtime/models.py",
            "            input=self._redactions.value(dict(ask.input)),",
            "            input=dict(ask.input),",
        ),
        f"{_KERNEL}/test_models.py::test_every_text_of_a_request_is_redacted_with_what_the_turn_learnt_since",
    ),
    _broken(
        "claims-without-evidence",
        "I-114",
        "parts that cite nothing are claims too",
        Edit(
            f"{_STAGES}/composing/claims.py", "                if part.evidence_ids\n", "                if part.text\n"
        ),
        f"{_KERNEL}/test_grounding.py::test_claims_are_derived_from_the_parts_that_cite",
        f"{_KERNEL}/test_compose.py::test_a_models_answer_has_its_parts_as_text_and_its_cited_parts_as_claims",
    ),
    _broken(
        "unapproved-claims",
        "I-115",
        "a claim that the review did not approve is told",
        Edit(
            f"{_STAGES}/composing/review.py",
            "            if index not in self.approved_claim_indexes:",
            "            if index < 0:",
        ),
        f"{_KERNEL}/test_grounding.py::test_a_review_approves_only_with_nothing_held_against_the_answer",
    ),
    _broken(
        "second-draft-unreviewed",
        "I-115",
        "the second draft is not reviewed",
        Edit(
            f"{_STAGES}/composing/compose.py",
            "return repaired, repaired if isinstance(repaired, Unusable) else await _objections(repaired, brief, models)",
            "return repaired, repaired if isinstance(repaired, Unusable) else ()",
        ),
        f"{_KERNEL}/test_compose.py::test_models_are_asked_as_often_as_a_turn_needs_and_no_more",
        f"{_KERNEL}/test_grounding.py::test_whatever_models_answer_a_models_words_are_grounded_and_nothing_private_was_asked",
    ),
    _broken(
        "decision-of-the-model",
        "I-116",
        "the decision that is told is the one that a model proposed",
        Edit(
            f"{_STAGES}/composing/decision.py",
            "    mode = _mode(turn, accepted)",
            "    mode = turn.selection.mode if turn.selection is not None else _mode(turn, accepted)  # type: ignore[assignment]",
        ),
        f"{_KERNEL}/test_brief.py::test_the_decision_comes_from_the_final_batch_and_plan",
    ),
    _broken(
        "partial-answers",
        "I-117",
        "words for a part of a turn count as words for all of it",
        Edit(
            f"{_STAGES}/composing/delivery.py",
            'if _wordless(turn) and turn.settled is None and path != "protected":',
            'if _wordless(turn) and turn.completed == () and path != "protected":',
        ),
        f"{_KERNEL}/test_canonical.py::test_other_turns_ask_a_model_and_fall_back_to_nothing_partial",
    ),
    _broken(
        "required-twice",
        "I-118",
        "a required text may appear more than once",
        Edit(
            f"{_STAGES}/composing/claims.py",
            "if (count := occurrences(message, text)) != 1:",
            "if (count := occurrences(message, text)) < 1:",
        ),
        f"{_KERNEL}/test_grounding.py::test_what_can_be_seen_without_a_model_is_checked",
    ),
    _broken(
        "words-through-models",
        "I-119",
        "a model is asked although there are words for everything",
        Edit(
            f"{_STAGES}/composing/delivery.py",
            'return "direct" if canonical is not None and not requirements.problems(canonical) else "model"',
            'return "model"',
        ),
        f"{_KERNEL}/test_canonical.py::test_turns_with_words_for_everything_ask_no_model",
    ),
    _broken(
        "one-capability-selected",
        "I-120",
        "a model selects from one capability",
        Edit(
            f"{_STAGES}/selecting/select.py",
            "    if len(snapshot.capabilities) <= 1:",
            "    if len(snapshot.capabilities) < 1:",
        ),
        f"{_KERNEL}/test_select.py::test_with_one_capability_nothing_is_selected_and_no_model_is_asked",
    ),
    _broken(
        "events-without-cause",
        "I-121",
        "events name no cause",
        Edit(f"{_LIBRARY}/runtime/event_chain.py", "causation_id=self.last_id, bounded", "causation_id=None, bounded"),
        f"{_SEEDS}::test_events_of_a_turn_share_a_correlation_and_each_names_an_earlier_one_as_its_cause",
    ),
    _broken(
        "answers-without-question",
        "I-121",
        "an answer of a model names no question",
        Edit(
            f"{_LIBRARY}/runtime/models.py",
            "told = EventChain(self._chain.recorder, invoked_id, self._chain.step_id)",
            "told = EventChain(self._chain.recorder, invoked_id and None, self._chain.step_id)",
        ),
        f"{_SEEDS}::test_every_answer_of_a_model_names_its_question",
        f"{_KERNEL}/test_models.py::test_invoked_and_completed_are_a_pair_and_the_next_event_follows_the_pair",
    ),
    _broken(
        "one-branch-for-all",
        "I-122",
        "steps that run side by side share a branch",
        Edit(
            f"{_LIBRARY}/runtime/execute.py",
            "        branch = self.chain.branch(step.id)",
            "        branch = self.chain\n        branch.step_id = step.id",
        ),
        f"{_SEEDS}::test_steps_that_run_side_by_side_keep_branches_of_their_own",
    ),
    _broken(
        "reports-without-step",
        "I-123",
        "what a capability emits stands beside its step",
        Edit(
            f"{_LIBRARY}/runtime/step_context.py",
            '        await self.chain.emit("capability.event", data, event.category, bounded=False)',
            '        await EventChain(self.chain.recorder).emit("capability.event", data, event.category, bounded=False)',
        ),
        f"{_KERNEL}/test_nested_graph.py::test_nodes_report_under_the_parent_step_each_event_caused_by_the_one_before",
        f"{_DOCUMENTS}::test_what_a_capability_emits_stands_under_its_step_in_causal_order",
    ),
    _broken(
        "reasoning-told",
        "I-124",
        "what a model thought to itself is in its event",
        Edit(
            f"{_LIBRARY}/runtime/model_audit.py",
            "for name, member in value.items() if name not in _REASONING}",
            "for name, member in value.items()}",
        ),
        f"{_SEEDS}::test_what_a_model_thought_to_itself_is_in_no_event",
    ),
    _broken(
        "facts-without-provenance",
        "I-125",
        "an invocation does not show who published a fact",
        Edit(
            f"{_LIBRARY}/runtime/model_audit.py",
            '_FACT = ("type", "version", "value", "producedBy")',
            '_FACT = ("type", "version", "value")',
        ),
        f"{_KERNEL}/test_models.py::test_an_invocation_shows_messages_facts_with_provenance_what_is_offered_and_what_its_stage_adds",
    ),
    _broken(
        "large-audit-told",
        "I-125",
        "an audit of any size is told",
        Edit(
            f"{_LIBRARY}/runtime/model_audit.py", "if len(encoded) <= MAX_AUDIT_BYTES else", "if len(encoded) >= 0 else"
        ),
        f"{_KERNEL}/test_models.py::test_an_audit_beyond_its_bound_is_cut_to_a_digest_and_fails_no_turn",
    ),
    _broken(
        "undocumented-member",
        "I-126",
        "an event has a member that the page does not know",
        Edit(
            f"{_STAGES}/event_data.py",
            '        "checkpointRevision": revision,',
            '        "checkpointRevision": revision,\n        "text": text,',
        ),
        f"{_KERNEL}/test_events_page.py::test_every_event_of_a_run_is_what_the_page_says_and_the_page_says_nothing_else",
    ),
    _broken(
        "sinks-fail-turns",
        "I-127",
        "an event sink that raises fails the turn",
        Edit(
            f"{_LIBRARY}/runtime/events.py",
            "        except Exception:\n            self._observers.sink_failures",
            "        except ZeroDivisionError:\n            self._observers.sink_failures",
        ),
        f"{_DOCUMENTS}::test_a_sink_that_raises_fails_no_turn_of_a_compiled_agent",
    ),
    _broken(
        "contracts-to-select",
        "I-128",
        "selection gets contracts",
        Edit(
            f"{_STAGES}/snapshot.py",
            '            ModelCapability("summary", c.id, c.description, c.availability, c.blocked_by) for c in self.capabilities',
            "            c for c in self.capabilities",
        ),
        f"{_SEEDS}::test_select_gets_summaries_interpretation_contracts_and_answers_nothing",
        f"{_KERNEL}/test_context.py::test_summaries_for_selection_hold_no_schema_and_no_guidance",
    ),
    _broken(
        "answers-unvalidated",
        "I-129",
        "an answer of another form is taken as it is",
        Edit(
            f"{_LIBRARY}/runtime/models.py",
            "return Answered(answer.model_validate(value))",
            "return Answered(answer.model_construct())",
        ),
        f"{_KERNEL}/test_models.py::test_an_answer_of_another_form_is_unusable_and_says_where",
    ),
    _broken(
        "refused-repairs-accepted",
        "I-130",
        "a batch that is still refused after its repair is accepted",
        Edit(
            f"{_STAGES}/interpreting/interpret.py",
            "    if second.batch is not None and not left:",
            "    if second.batch is not None:",
        ),
        f"{_KERNEL}/test_interpret_repair.py::test_a_repair_that_does_not_help_ends_the_attempt",
    ),
    _broken(
        "errors-tell-secrets",
        "I-131",
        "what a provider said is in the error",
        Edit(
            f"{_LIBRARY}/models/providers/failures.py",
            '    status = f" (HTTP {error.status_code})" if isinstance(error, ModelHTTPError) else ""',
            '    status = f" ({error})"',
        ),
        "tests/models/test_providers.py::test_a_failure_has_its_code_and_is_not_repeated[500-MODEL_PROVIDER_FAILURE-True-openai]",
    ),
    _broken(
        "aliases-ignored",
        "I-132",
        "the model policy of an agent is not heeded",
        Edit(
            f"{_LIBRARY}/runtime/models.py",
            "model=next((policy[key] for key in ask.model_keys if key in policy), None)",
            "model=next((policy[key] for key in () if key in policy), None)",
        ),
        f"{_KERNEL}/test_models.py::test_the_first_key_that_the_model_policy_has_gives_the_alias",
        f"{_SEEDS}::test_a_request_carries_the_alias_the_schema_and_the_time_for_its_task",
    ),
    _broken(
        "models-go-on",
        "I-133",
        "a model that was given up is not cancelled",
        Edit(
            f"{_LIBRARY}/runtime/model_call.py",
            "    task.cancel()\n    task.add_done_callback",
            "    task.add_done_callback",
        ),
        f"{_KERNEL}/test_models.py::test_a_cancelled_turn_cancels_its_model_and_does_not_wait_for_a_stubborn_one",
    ),
    _broken(
        "gateway-left-open",
        "I-133",
        "a turn-runner that stops leaves its gateway open",
        Edit(
            f"{_LIBRARY}/models/closing.py",
            "    try:\n        yield\n    finally:\n        await close_gateway(gateway)",
            "    yield\n    await close_gateway(gateway)",
        ),
        "tests/integration/test_runner_stop.py::test_a_runner_that_stops_closes_the_gateway_of_its_application",
    ),
    _broken(
        "issue-untold",
        "I-134",
        "an effect that did not happen has another code",
        Edit(f"{_LIBRARY}/runtime/execute.py", '"EFFECT_NOT_APPLIED"', '"EFFECT_FAILED"'),
        f"{_KERNEL}/test_testing_kit.py::test_an_issue_and_an_effect_that_did_not_happen_are_told",
    ),
    _broken(
        "machine-finds-unconfirmed",
        "I-135",
        "the kernel's question comes after the write",
        Edit(
            f"{_STAGES}/planning/dependencies.py",
            "    if one.confirm is not None:",
            "    if one.confirm is not None and has_consent(step):",
        ),
        "tests/contract/test_agent_machine.py::test_no_conversation_breaks_the_promises_over_memory",
    ),
)
