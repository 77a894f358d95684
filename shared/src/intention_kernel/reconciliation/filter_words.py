"""The words of a filter, each with what it means: the parser's table, and the one that the docs show."""

from __future__ import annotations

FILTER_WORDS: dict[str, tuple[str, str]] = {
    "status": (
        "status:uncertain",
        "where it stands: open, decided, failed, done; uncertain and contradicted are open ones",
    ),
    "kind": ("kind:orphaned", "effect: an outcome that nobody knows; orphaned: held by a turn that was set aside"),
    "cause": ("cause:late_answer", "what moved the receipt last"),
    "snoozed": ("snoozed:yes", "out of sight for a while: yes, no, any"),
    "owner": ("owner:none", "who has claimed it: me, none or a name"),
    "provider": ("provider:stripe", "the effect's provider"),
    "effect": ("effect:bank.charge", "the effect's id"),
    "agent": ("agent:shop", "the agent's id"),
    "thread": ("thread:thread-42", "the conversation"),
    "turn": ("turn:turn-7", "the turn that made the first attempt"),
    "tenant": ("tenant:acme", "the tenant"),
    "currency": ("currency:EUR", "the amount's currency"),
    "receipt": ("receipt:3f0c2b9d1e5a4c7f8a6b5d4e3f2a1b0c", "the receipt's id"),
    "age": ("age>2h", "how long the item has been open, in s, m, h or d"),
    "window": ("window<1h", "how long the provider still knows the key, in s, m, h or d"),
    "amount": ("amount>=100", "the effect's amount, in its currency"),
    "blocks": ("blocks>0", "how many turns wait for it"),
}
"""Word -> an example, and its meaning."""
