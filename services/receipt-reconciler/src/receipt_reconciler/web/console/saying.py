"""What a page says after a form was sent: a closed list, so that no link can put words on a page."""

from __future__ import annotations

_SENTENCES = {
    "claimed": "You have claimed it: nobody else decides it meanwhile.",
    "taken": "You have taken it over.",
    "released": "It is given back.",
    "snoozed": "It is out of sight until then, or until something contradicts the record.",
    "woken": "It is back in sight.",
    "probed": "The reconciler looks at its next round; what it finds shows up here.",
    "noted": "It is kept.",
    "decided": "Decided. The conversation goes on by itself; it stays in the queue until it has.",
    "proposed": "Proposed. It is decided once another person has approved it.",
    "approved": "Approved and decided. The conversation goes on by itself; it stays in the queue until it has.",
    "rejected": "The proposal is rejected; nothing was decided.",
    "withdrawn": "The proposal is withdrawn; nothing was decided.",
    "contested": "It is contested: no attempt is made and its value is not handed out until another person decides.",
    "redriven": "Its request is on its way again.",
    "dropped": "It is given up for ever.",
    "signed_out": "You are signed out.",
    "password": "The password is changed, and every session of that user has ended.",
    "revoked": "The token is revoked and answers nothing any more.",
    "user_added": "The user is added.",
    "access": "It counts from their next request on.",
    "disabled": "The user is disabled, and every session of theirs has ended.",
    "enabled": "The user may sign in again.",
    "rule": "The rule counts from the next decision on.",
    "theme": "",
}


def saying(code: str) -> str:
    """A sentence; empty for what is no code."""
    return _SENTENCES.get(code, "")
