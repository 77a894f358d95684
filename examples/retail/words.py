"""What customers say in played conversations: our own templates. Each message ends with a marker such as `[train-17 · 3]`:
the conversation and the place of the operation in it. It is all that the scripted model goes by."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from intention_kernel.contracts.json_codec import JsonValue

YES = "Yes, please go ahead."
NO = "No, please leave it as it is."

_MARKER = re.compile(r"(?P<said>.*?)\s*\[(?P<conversation>\S(?:[^\[\]\n]*\S)?) · (?P<action>\d{1,6})\]\s*", re.DOTALL)
_Kwargs = Mapping[str, JsonValue]


class Marked(NamedTuple):
    """A message and what its marker says."""

    said: str
    conversation_id: str
    action_index: int


def marked(said: str, conversation_id: str, action_index: int) -> str:
    """The message with its marker."""
    return f"{said} [{conversation_id} · {action_index}]"


def read_marker(text: str) -> Marked | None:
    """The message and its marker; None where it has none."""
    found = _MARKER.fullmatch(text)
    return Marked(found["said"], found["conversation"], int(found["action"])) if found is not None else None


def request(operation: str, kwargs: _Kwargs) -> str:
    """What a customer says to have that operation done."""
    template = _TEMPLATES.get(operation)
    return template(kwargs) if template is not None else f"Please do this for me: {operation.replace('_', ' ')}."


def _cancel(k: _Kwargs) -> str:
    return f"Please cancel order {k.get('order_id')}: {k.get('reason')}."


def _order_address(k: _Kwargs) -> str:
    return f"Please send order {k.get('order_id')} to {_address(k)}."


def _order_payment(k: _Kwargs) -> str:
    return f"I would rather pay order {k.get('order_id')} with {k.get('payment_method_id')}."


def _items(k: _Kwargs) -> str:
    swaps = f"{_list(k.get('item_ids'))} by {_list(k.get('new_item_ids'))}"
    return f"In order {k.get('order_id')}, please replace {swaps}, and settle the difference with {k.get('payment_method_id')}."


def _exchange(k: _Kwargs) -> str:
    swaps = f"{_list(k.get('item_ids'))} of order {k.get('order_id')} for {_list(k.get('new_item_ids'))}"
    return f"I want to exchange {swaps}; use {k.get('payment_method_id')} for the difference."


def _return(k: _Kwargs) -> str:
    items = _list(k.get("item_ids"))
    return (
        f"I want to return {items} of order {k.get('order_id')}; the money should go to {k.get('payment_method_id')}."
    )


def _address(k: _Kwargs) -> str:
    members = ("address1", "address2", "city", "state", "country", "zip")
    return ", ".join(str(k[member]) for member in members if k.get(member))


def _list(value: JsonValue) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)


_TEMPLATES: Mapping[str, Callable[[_Kwargs], str]] = {
    "cancel_pending_order": _cancel,
    "modify_pending_order_address": _order_address,
    "modify_pending_order_payment": _order_payment,
    "modify_pending_order_items": _items,
    "exchange_delivered_order_items": _exchange,
    "return_delivered_order_items": _return,
    "modify_user_address": lambda k: f"I have moved to {_address(k)}.",
    "find_user_id_by_email": lambda k: f"My e-mail address is {k.get('email')}.",
    "find_user_id_by_name_zip": lambda k: f"I am {k.get('first_name')} {k.get('last_name')}, zip code {k.get('zip')}.",
    "get_user_details": lambda k: f"What do you know of my account, {k.get('user_id')}?",
    "get_order_details": lambda k: f"What is in order {k.get('order_id')}?",
    "get_product_details": lambda k: f"Which variants of product {k.get('product_id')} do you have?",
    "list_all_product_types": lambda _: "What do you sell?",
    "calculate": lambda k: f"How much is {k.get('expression')}?",
    "transfer_to_human_agents": lambda k: f"I want to talk to a person. {k.get('summary')}",
}
