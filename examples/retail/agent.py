"""The agent `retail`: every operation of the shop as a capability, and the questions that lead to one."""

from __future__ import annotations

from intention_kernel.agent import (
    AgentDefinition,
    Allow,
    CompiledAgent,
    Deny,
    PolicyContext,
    PolicyDefinition,
    ResponseFallbacks,
    Verdict,
    compile_agent,
    fact_value,
)

from examples.retail.capabilities.choices import CHOICES
from examples.retail.capabilities.reads import READS
from examples.retail.capabilities.results import CUSTOMER, ORDER
from examples.retail.capabilities.writes import WRITES
from examples.retail.customer import NOT_SIGNED_IN, signed_in

_IDENTITY = (
    "You are the support of an online shop and talk to one customer, whom the host has signed in. You tell what the "
    "customer's orders, account and the shop's products are, and change orders and addresses only as the customer wants "
    "and after a clear yes. Money, ids and dates are said exactly as the shop has them. What the shop's operations "
    "cannot do, a person of the shop does: transfer the customer then."
)
_ELSEWHERE = "I can look after your orders, your address and our products; for anything else I can call a person."
_ANOTHER_CUSTOMER = "This conversation is another customer's. Please begin a new one."


def only_customers(context: PolicyContext) -> Verdict:
    """Nothing is planned for somebody whom the host has not signed in; capabilities check the same for themselves."""
    return Allow() if signed_in(context.host_context) is not None else Deny(NOT_SIGNED_IN.message)


def one_customer(context: PolicyContext) -> Verdict:
    """A thread that knows something of one customer is of no use to another."""
    found = signed_in(context.host_context)
    known = (fact_value(context.facts, fact.type) for fact in (CUSTOMER, ORDER))
    owners = {value.get("user_id") for value in known if isinstance(value, dict)}
    return Deny(_ANOTHER_CUSTOMER) if found is None or owners - {found[0]} else Allow()


def retail_agent() -> CompiledAgent:
    """The agent; the port `shop` is a ShopClient, the host context holds `userId` and `world`."""
    return compile_agent(
        AgentDefinition(
            id="retail",
            identity=_IDENTITY,
            capabilities=(*READS, *CHOICES, *WRITES),
            policies=(
                PolicyDefinition("only-customers", only_customers),
                PolicyDefinition("one-customer", one_customer),
            ),
            response_fallbacks=ResponseFallbacks(unsupported_intention=_ELSEWHERE),
        )
    )
