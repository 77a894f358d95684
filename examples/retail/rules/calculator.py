"""Arithmetic, and nothing else: an expression is read as a tree of numbers, signs and the four operations."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from math import isfinite
from typing import TypeAlias

from examples.retail.records import Records
from examples.retail.rules.arguments import Expression
from examples.retail.rules.money import cents
from examples.retail.rules.outcomes import Answer, Refusal

LONGEST_EXPRESSION = 500
"""Characters. Short enough that no tree is too deep and no product too long."""

_Number: TypeAlias = int | float
_CHARACTERS = frozenset("0123456789+-*/(). ")
_BINARY: Mapping[type[ast.operator], Callable[[_Number, _Number], _Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[_Number], _Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


def calculate(_: Records, wanted: Expression) -> Answer | Refusal:
    """The value at two decimals; refused where the expression is no arithmetic or has no finite value."""
    try:
        value = float(_value_of(_tree(wanted.expression)))
    except (ValueError, ArithmeticError, SyntaxError) as error:
        return Refusal("expression_not_valid", f"Only numbers, + - * / and brackets can be calculated ({error}).")
    if not isfinite(value):
        return Refusal("expression_not_valid", "The value is too large.")
    return Answer(cents(value))


def _tree(expression: str) -> ast.expr:
    if len(expression) > LONGEST_EXPRESSION:
        raise ValueError(f"longer than {LONGEST_EXPRESSION} characters")
    if not _CHARACTERS.issuperset(expression):
        raise ValueError("another character")
    return ast.parse(expression.strip(), mode="eval").body


def _value_of(node: ast.expr) -> _Number:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            return _UNARY[type(sign)](_value_of(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value_of(left), _value_of(right))
    raise ValueError("another operation")
