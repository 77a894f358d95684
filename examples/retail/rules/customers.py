"""Customers: who they are and where they live."""

from __future__ import annotations

from collections.abc import Iterable

from examples.retail.records import Records
from examples.retail.rules.arguments import ByEmail, ByNameAndZip, OfUser, UserAddress
from examples.retail.rules.finding import find_user
from examples.retail.rules.outcomes import Answer, Change, Refusal


def modify_user_address(records: Records, wanted: UserAddress) -> Change | Refusal:
    """The user lives elsewhere; the addresses of the orders stay."""
    user = find_user(records, wanted.user_id)
    if isinstance(user, Refusal):
        return user
    changed = user.copy()
    changed["address"] = wanted.address()
    return Change(changed, users={wanted.user_id: changed})


def find_user_id_by_email(records: Records, wanted: ByEmail) -> Answer | Refusal:
    """The id of the user with that address, in capitals or not."""
    email = wanted.email.lower()
    return _first(id for id, user in records.users.items() if user["email"].lower() == email)


def find_user_id_by_name_zip(records: Records, wanted: ByNameAndZip) -> Answer | Refusal:
    """The id of the user with that name, in capitals or not, who lives in that zip code now."""
    name = (wanted.first_name.lower(), wanted.last_name.lower())
    return _first(
        id
        for id, user in records.users.items()
        if user["address"]["zip"] == wanted.zip
        and (user["name"]["first_name"].lower(), user["name"]["last_name"].lower()) == name
    )


def get_user_details(records: Records, wanted: OfUser) -> Answer | Refusal:
    """The user's record."""
    user = find_user(records, wanted.user_id)
    return user if isinstance(user, Refusal) else Answer(user)


def _first(found: Iterable[str]) -> Answer | Refusal:
    user_id = next(iter(found), None)
    return Refusal("user_not_found", "There is no such user.") if user_id is None else Answer(user_id)
