"""Money on gift cards. Balances stay rounded to cents; sums of prices are not rounded, so cents decide what is covered."""

from __future__ import annotations

from examples.retail.records import Payment, PaymentMethod, User
from examples.retail.rules.outcomes import Refusal


def cents(amount: float) -> float:
    """The amount at two decimals."""
    return round(amount, 2)


def uncovered(method: PaymentMethod, amount: float) -> Refusal | None:
    """The refusal if `method` is a gift card with less than `amount` on it; other methods cover everything."""
    balance = method.get("balance")
    # In cents, because a sum of prices may lie a hair above the balance that pays it exactly.
    if balance is None or cents(balance) >= cents(amount):
        return None
    return Refusal("insufficient_balance", f"{method['id']} holds {balance:.2f} and {amount:.2f} are needed.")


def charged(user: User, method_id: str, amount: float) -> User:
    """The user after `amount` left the method (came back, if negative): only the balance of a gift card follows."""
    method = user["payment_methods"].get(method_id)
    if method is None or "balance" not in method:
        return user
    paid = method.copy()
    paid["balance"] = cents(method["balance"] - amount)
    changed = user.copy()
    changed["payment_methods"] = {**user["payment_methods"], method_id: paid}
    return changed


def refund(payment: Payment) -> Payment:
    """The entry that gives the same amount back to the same method."""
    return Payment(transaction_type="refund", amount=payment["amount"], payment_method_id=payment["payment_method_id"])
