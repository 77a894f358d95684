"""References of intentions to the options of the active question: exact ids, and as many as the capability requires."""

from __future__ import annotations

import re
from collections.abc import Iterator

from intention_kernel.contracts.intentions import IntentionBatch, IntentionRequest
from intention_kernel.runtime.stages.interpreting.interpret_frame import Frame, Issue, Issues, resolved
from intention_kernel.runtime.stages.interpreting.interpret_options import Options


def reference_issues(frame: Frame, batch: IntentionBatch) -> Issues:
    """Targets that hold an option's id and more, and references that do not meet their capability's requirements.

    Looked at are intentions of the active question's capabilities, and of those that require references.
    """
    interaction = frame.interaction
    options = Options.of(interaction.options if interaction is not None else (), frame.snapshot.redactions)
    return tuple(
        issue
        for at, intention in resolved(batch)
        for issue in (*_inexact(frame, options, at, intention), *_unmet(frame, options, at, intention))
    )


def _inexact(frame: Frame, options: Options, at: int, intention: IntentionRequest) -> Iterator[Issue]:
    if frame.choice is None or intention.proposed_capability not in frame.active_ids:
        return
    for index, reference in enumerate(intention.references):
        target = reference.target
        if target not in options.shown_ids and options.by_id(target) is None and _embeds(options, target):
            yield Issue(
                "INVALID_REFERENCE",
                f"/intentions/{at}/references/{index}/target",
                "holds an option's id and more: a reference to an option is exactly its id, each option in one of its own",
            )


def _embeds(options: Options, target: str) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(shown)}(?!\w)", target) for shown in options.shown_ids)


def _unmet(frame: Frame, options: Options, at: int, intention: IntentionRequest) -> Iterator[Issue]:
    capability = frame.view.agent.capabilities.get(intention.proposed_capability or "")
    required = capability.definition.reference_requirements if capability is not None else None
    if required is None:
        return
    place = f"/intentions/{at}/references"
    named = [options.by_id(reference.target) for reference in intention.references]
    ids = [option.id for option in named if option is not None]
    if len(ids) < len(named):
        yield Issue(
            "REFERENCE_REQUIREMENTS", place, "every reference has to be the id of one option of the active question"
        )
    if len(set(ids)) < len(ids):
        yield Issue("REFERENCE_REQUIREMENTS", place, "every reference has to name another option")
    if not required.minimum <= len(set(ids)) <= required.maximum:
        words = f"{required.minimum} to {required.maximum}"
        yield Issue("REFERENCE_REQUIREMENTS", place, f"{words} options of the active question have to be referred to")
