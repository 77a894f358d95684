"""What the user is told: the value that compose and review end in (contract 2.12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intention_kernel.agent.results import Artifact, ResponseClaim
from intention_kernel.contracts.interactions import Interaction
from intention_kernel.contracts.json_codec import JsonValue
from intention_kernel.contracts.result import Response
from intention_kernel.runtime.stages.redactions import REDACTED

ResponseSource = Literal["model", "canonical", "technical_fallback"]


@dataclass(frozen=True, slots=True)
class Composition:
    """A reviewed response. `grounded` says that every claim is supported by evidence that it cites.

    `failure_code` is set for the technical fallback alone: composing failed, and the turn commits all the same.
    """

    message: str
    source: ResponseSource
    grounded: bool
    claims: tuple[ResponseClaim, ...] = ()
    interaction: Interaction | None = None
    artifacts: tuple[Artifact, ...] = ()
    failure_code: str | None = None

    @property
    def model_text(self) -> str:
        """The message as later models may read it, `modelText` of the stored message: without the protected text."""
        protected = self.interaction.protected_canonical_message if self.interaction is not None else None
        return self.message.replace(protected, REDACTED) if protected else self.message

    def response(self, *, blocked: bool) -> Response:
        """The response as the outside sees it; a protected text is in the message and nowhere else."""
        shown: JsonValue = None
        if self.interaction is not None:
            shown = self.interaction.to_json()
            shown.pop("protectedCanonicalMessage", None)
        status = "failed" if self.failure_code else "blocked" if blocked else "completed"
        return Response(
            message=self.message,
            status=status,
            claims=tuple({"text": claim.text, "evidenceIds": list(claim.evidence_ids)} for claim in self.claims),
            interaction=shown,
            artifacts=tuple({"id": a.id, "kind": a.kind, "data": a.data} for a in self.artifacts),
        )
