"""Pure: which decisions need a second person, whether there is one, and what a hash binds (design 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intention_kernel.contracts.json_codec import dumps
from intention_kernel.contracts.receipt import Receipt, Summary
from intention_kernel.ports.approvals import ApprovalRule, Proposal
from intention_kernel.ports.identity import Permission, Scope, User
from intention_kernel.ports.operator_queue import ReceiptCase
from intention_kernel.ports.queue_work import Work
from intention_kernel.ports.receipt_ledger import AttemptFacts, OpenReceipt, Settlement
from intention_kernel.reconciliation.admissible import WINDOW_MARGIN_SECONDS, Terms
from intention_kernel.reconciliation.key_window import key_window
from intention_kernel.reconciliation.proposing import decision_hash
from intention_kernel.reconciliation.rules import (
    Question,
    approvers_of,
    asked,
    asks,
    class_of,
    rule_problem,
    unsatisfiable,
)

START = datetime(2026, 11, 1, tzinfo=UTC)
EFFECTS, TENANTS = ("charge", "mail"), ("acme", "dent")
SEED = ApprovalRule(
    "key-window-closed",
    classes=frozenset({"keyed"}),
    resolutions=frozenset({"not_applied"}),
    window_closed=True,
)


def some(*words: str) -> st.SearchStrategy[frozenset[str] | None]:
    return st.none() | st.frozensets(st.sampled_from(words), min_size=1)


AMOUNTS = st.none() | st.sampled_from([Decimal(n) for n in ("-1", "0", "99.99", "100", "100.00", "1E+30", "NaN")])
MONEY = st.none() | st.tuples(st.sampled_from([Decimal(0), Decimal(100)]), st.sampled_from(["EUR", "USD"]))
RULES = st.builds(
    lambda money, **more: ApprovalRule(
        "rule", least_amount=None if money is None else money[0], currency=None if money is None else money[1], **more
    ),
    MONEY,
    effects=some(*EFFECTS),
    tenants=some(*TENANTS),
    classes=some("keyed", "single"),
    resolutions=some("applied", "not_applied"),
    window_closed=st.booleans(),
    enabled=st.booleans(),
)
QUESTIONS = st.builds(
    Question,
    effect_id=st.sampled_from(EFFECTS),
    tenant_id=st.none() | st.sampled_from(TENANTS),
    effect_class=st.sampled_from(["keyed", "single"]),
    resolution=st.sampled_from(["applied", "not_applied"]),
    amount=AMOUNTS,
    currency=st.none() | st.sampled_from(["EUR", "USD"]),
    window_closed=st.booleans(),
)


@given(RULES, QUESTIONS)
def test_a_rule_asks_exactly_where_no_condition_speaks_against_it(rule: ApprovalRule, question: Question) -> None:
    """I-337: what is not known meets no condition on it, and no rule that is disabled asks."""
    against = [
        not rule.enabled,
        rule.effects is not None and question.effect_id not in rule.effects,
        rule.tenants is not None and question.tenant_id not in rule.tenants,
        rule.classes is not None and question.effect_class not in rule.classes,
        rule.resolutions is not None and question.resolution not in rule.resolutions,
        rule.window_closed and not question.window_closed,
    ]
    if rule.least_amount is not None:
        amount = question.amount
        known = amount is not None and not amount.is_nan() and question.currency == rule.currency
        against.append(not known or amount < rule.least_amount)  # type: ignore[operator]  # it is known
    assert asks(rule, question) == (not any(against))


@given(RULES, QUESTIONS)
def test_a_rule_with_a_condition_less_asks_for_no_less(rule: ApprovalRule, question: Question) -> None:
    wider = [replace(rule, **{name: None}) for name in ("effects", "tenants", "classes", "resolutions")]  # type: ignore[arg-type]
    wider += [replace(rule, least_amount=None, currency=None), replace(rule, window_closed=False)]
    assert all(asks(one, question) >= asks(rule, question) for one in wider)


def facts(window: float | None, *, deduplicates: bool = True) -> AttemptFacts:
    """An attempt of START with 30 seconds for its call."""
    end = START + timedelta(seconds=30)
    return AttemptFacts(START, START, end, None, "runner", None, deduplicates, window, retry_unfinished=False)


def case_of(attempts: AttemptFacts, looked_at: datetime) -> ReceiptCase:
    """An uncertain receipt with these attempts, as it is read then."""
    receipt = Receipt(
        receipt_id="r",
        thread_id="t",
        effect_key="charge:1",
        effect_id="charge",
        turn_id="turn",
        agent_id="shop",
        tenant_id="acme",
        state="uncertain",
        attempt=1,
        version=2,
        settlements=0,
        contradicted=False,
        summary=Summary("Charge", "bank", Decimal(100), "EUR"),
        payload=None,
        value=None,
        reference=None,
        prepared_at=attempts.prepared_at,
        call_deadline=attempts.call_deadline,
    )
    return ReceiptCase(OpenReceipt(receipt, None, attempts, 1, 0, looked_at), None, (), (), (), (), (), Work(), (), ())


@given(
    st.floats(0.1, 1e6),
    st.floats(-10, 2e6),
    st.none() | st.floats(0.1, 100.0),
    st.sampled_from(["applied", "not_applied"]),
)
def test_the_key_windows_rule_asks_from_the_moment_at_which_a_repeat_may_be_another_effect(
    window: float, at: float, timeout: float | None, resolution: str
) -> None:
    """I-337: open, closing, closed by the store's clock; while it is open the answer says when the rule begins to ask."""
    now = START + timedelta(seconds=at)
    case = case_of(facts(window), now)
    terms = Terms(call_timeout_seconds=timeout)
    seen = key_window(case.open, terms)
    closes = START + timedelta(seconds=window)
    relied = closes - timedelta(seconds=WINDOW_MARGIN_SECONDS + (30.0 if timeout is None else timeout))
    assert seen.closes_at == closes
    assert seen.relied_until is not None
    assert abs(seen.relied_until - relied) <= timedelta(microseconds=2)
    expected = "open" if now <= seen.relied_until else "closing" if now < closes else "closed"
    assert seen.state == expected
    answer = asked([SEED], case, resolution, terms)  # type: ignore[arg-type]
    if resolution == "applied":
        assert (answer.rules, answer.free_until) == ((), None)
    elif expected == "open":
        assert (answer.rules, answer.free_until) == ((), seen.relied_until)
    else:
        assert (answer.rules, answer.free_until) == ((SEED,), None)


@pytest.mark.parametrize(
    ("attempts", "effect_class"),
    [
        (facts(60.0), "keyed"),
        (facts(None), "single"),
        (facts(60.0, deduplicates=False), "single"),
    ],
)
def test_an_effects_class_is_the_certificate_that_it_was_sent_under(attempts: AttemptFacts, effect_class: str) -> None:
    assert class_of(attempts) == effect_class
    window = key_window(case_of(attempts, START).open, Terms())
    assert (window.state == "none") == (effect_class == "single")
    later = asked([SEED], case_of(attempts, START + timedelta(days=1)), "not_applied", Terms())
    assert bool(later.rules) == (effect_class == "keyed")


def test_of_several_rules_the_strictest_says_how_long_it_waits() -> None:
    rules = [ApprovalRule("a", expires_seconds=600), ApprovalRule("b", expires_seconds=60), SEED]
    answer = asked(rules, case_of(facts(None), START), "applied", Terms())
    assert (answer.names, answer.expires_seconds) == (("a", "b"), 60)


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (SEED, None),
        (ApprovalRule("r", least_amount=Decimal(5), currency="EUR", effects=frozenset({"e"})), None),
        (ApprovalRule(" "), "a rule has a name"),
        (ApprovalRule("r", least_amount=Decimal(5)), "say both or none"),
        (ApprovalRule("r", currency="EUR"), "say both or none"),
        (ApprovalRule("r", least_amount=Decimal("NaN"), currency="EUR"), "is a number"),
        (ApprovalRule("r", least_amount=Decimal("-Infinity"), currency="EUR"), "is a number"),
        (ApprovalRule("r", least_amount=Decimal("1E+19"), currency="EUR"), None),
        (ApprovalRule("r", least_amount=Decimal("1E+20"), currency="EUR"), "at most 20 digits"),
        (ApprovalRule("r", least_amount=Decimal("1E+400000"), currency="EUR"), "at most 20 digits"),
        (ApprovalRule("r", least_amount=Decimal("-0.0000000001"), currency="EUR"), None),
        (ApprovalRule("r", least_amount=Decimal("1E-11"), currency="EUR"), "10 after the point"),
        (ApprovalRule("r" * 200), None),
        (ApprovalRule("r" * 201), "at most 200 printable"),
        (ApprovalRule("r\0"), "at most 200 printable"),
        (ApprovalRule("r", expires_seconds=0), "waits from 1 second to 30 days"),
        (ApprovalRule("r", expires_seconds=float("nan")), "waits from 1 second to 30 days"),
        (ApprovalRule("r", expires_seconds=1e9), "waits from 1 second to 30 days"),
        (ApprovalRule("r", tenants=frozenset()), "tenants: say which"),
    ],
)
def test_what_can_be_no_rule_is_told(rule: ApprovalRule, problem: str | None) -> None:
    said = rule_problem(rule)
    assert said is None if problem is None else problem in (said or "")


SCOPES = st.builds(Scope, tenants=some(*TENANTS), effects=some(*EFFECTS))
PERMISSIONS: tuple[Permission, ...] = ("receipts:resolve", "receipts:approve", "receipts:read")


@st.composite
def people(draw: st.DrawFn) -> tuple[User, ...]:
    """Up to three of them."""
    return tuple(
        User(
            name,
            (),
            draw(st.frozensets(st.sampled_from(PERMISSIONS))),
            draw(SCOPES),
            draw(st.integers(0, 3)) == 0,
            has_password=True,
            created_at=START,
        )
        for name in draw(st.lists(st.sampled_from(["ana", "ben", "cy"]), unique=True))
    )


@given(RULES, people())
def test_a_rule_that_nobody_could_satisfy_is_found(rule: ApprovalRule, users: tuple[User, ...]) -> None:
    """I-338: looked for over every receipt that there can be, one by one."""

    def able(permission: Permission, tenant: str | None, effect: str) -> set[str]:
        return {
            user.name
            for user in users
            if not user.disabled and permission in user.permissions and user.scope.covers(tenant, effect)
        }

    satisfiable = False
    for approver in users:
        proposers: set[str] = set()
        reached = False
        for tenant, effect in product((None, *TENANTS), EFFECTS):
            within = (rule.tenants is None or tenant in rule.tenants) and (
                rule.effects is None or effect in rule.effects
            )
            if within and approver.name in able("receipts:approve", tenant, effect):
                reached = True
                proposers |= able("receipts:resolve", tenant, effect)
        satisfiable |= reached and proposers != {approver.name}
    assert unsatisfiable([rule], users) == ((rule,) if rule.enabled and not satisfiable else ())


@given(people(), st.sampled_from(["ana", "ben"]), st.none() | st.sampled_from(TENANTS), st.sampled_from(EFFECTS))
def test_who_may_approve_is_never_who_proposed(
    users: tuple[User, ...], proposer: str, tenant: str | None, effect: str
) -> None:
    proposal = Proposal(
        *("p", "r", SETTLEMENT, False, "h", ("rule",), proposer, START, START, "proposed", None, None, None),
        tenant_id=tenant,
        effect_id=effect,
        summary=Summary("Charge"),
    )
    able = approvers_of(proposal, users)
    assert proposer not in able
    for user in users:
        may = not user.disabled and "receipts:approve" in user.permissions and user.scope.covers(tenant, effect)
        assert (user.name in able) == (may and user.name != proposer)


SETTLEMENT = Settlement(
    thread_id="t",
    effect_key="charge:1",
    seen_version=2,
    resolution="applied",
    value=dumps({"a": 1, "b": [2]}),
    reference="ref",
    decision_id="d",
    reason_code="code",
    reason="reason",
    evidence="evidence",
    actor="ana",
)
CHANGES: dict[str, Callable[[Settlement], Settlement]] = {
    "version": lambda one: replace(one, seen_version=3),
    "resolution": lambda one: replace(one, resolution="not_applied"),
    "value": lambda one: replace(one, value=dumps({"a": 2, "b": [2]})),
    "no value": lambda one: replace(one, value=None),
    "null": lambda one: replace(one, value=b"null"),
    "reference": lambda one: replace(one, reference="other"),
    "no reference": lambda one: replace(one, reference=None),
    "reason": lambda one: replace(one, reason="other"),
    "reason code": lambda one: replace(one, reason_code=None),
    "evidence": lambda one: replace(one, evidence=""),
    "proposer": lambda one: replace(one, actor="ben"),
}


def test_the_hash_binds_everything_that_is_decided() -> None:
    """I-332: each of them makes another hash, and nothing else does."""
    hashes = {
        "as it is": decision_hash("r", SETTLEMENT, workers_stopped=False),
        "another receipt": decision_hash("s", SETTLEMENT, workers_stopped=False),
        "workers stopped": decision_hash("r", SETTLEMENT, workers_stopped=True),
        **{name: decision_hash("r", change(SETTLEMENT), workers_stopped=False) for name, change in CHANGES.items()},
    }
    assert len(set(hashes.values())) == len(hashes)
    same = replace(SETTLEMENT, decision_id="e", not_after=START, value=b'{"b": [2.0], "a": 1}')
    assert decision_hash("r", same, workers_stopped=False) == hashes["as it is"]


@given(st.text(st.characters(codec=None), max_size=5), st.text(st.characters(codec=None), max_size=5))
def test_any_words_have_a_hash_and_other_words_another(one: str, other: str) -> None:
    def plain(text: str) -> str:
        return "".join("\ufffd" if c == "\x00" or "\ud800" <= c <= "\udfff" else c for c in text)

    first, second = (
        decision_hash("r", replace(SETTLEMENT, reason=words), workers_stopped=False) for words in (one, other)
    )
    assert (first == second) == (plain(one) == plain(other))
