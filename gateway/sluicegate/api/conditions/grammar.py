"""The grammar of conditions (Delta Sharing protocol, "SQL Expressions for Filtering").

Supported: comparisons between a column and a constant in either order, `IS [NOT] NULL`, `[NOT] IN`,
`[NOT] BETWEEN`, `AND`, `OR`, `NOT`, parentheses, `CAST(column AS type)` and typed constants, as Spark's
client writes them (`CAST(partitionValues.day AS DATE) >= DATE '2021-04-28'`).
"""

from __future__ import annotations

from enum import Enum

from sluicegate.api.conditions.expressions import (
    FALSE,
    MAX_DEPTH,
    NULL,
    TRUE,
    Column,
    Comparison,
    Expression,
    IsNull,
    Literal,
    Not,
    Operator,
    all_of,
    any_of,
    compared,
)
from sluicegate.api.conditions.tokens import NotUnderstood, SqlToken, tokens

_OPERATORS = {operator.value: operator for operator in Operator} | {"==": Operator.EQUAL}
_UNEQUAL = ("<>", "!=")
_TYPES = {
    "BOOLEAN": "bool",
    "TINYINT": "byte",
    "BYTE": "byte",
    "SMALLINT": "short",
    "SHORT": "short",
    "INT": "int",
    "INTEGER": "int",
    "BIGINT": "long",
    "LONG": "long",
    "FLOAT": "float",
    "REAL": "float",
    "DOUBLE": "double",
    "STRING": "string",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
}
_TYPED = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
_SUFFIXES = {
    "": "number",
    "L": "long",
    "S": "long",
    "Y": "long",
    "F": "float",
    "D": "double",
    "BD": "decimal",
}
_RESERVED = frozenset(("AND", "OR", "NOT", "IS", "IN", "BETWEEN", "LIKE", "CASE", "SELECT"))


class _Null(Enum):
    """The constant NULL."""

    NULL = "NULL"


_Operand = Column | Literal | _Null


class Parser:
    """A recursive descent parser with one method for each level of precedence.

    Args:
        text: The SQL.
        strict: Reject comparisons other than between a column and a constant, and parse escapes in
            texts. Otherwise such comparisons are `UNKNOWN`, and texts have no escapes.
        max_depth: Maximum depth of nested parentheses.

    Raises:
        NotUnderstood: The text does not begin with a known token.
    """

    def __init__(self, text: str, *, strict: bool = False, max_depth: int = MAX_DEPTH) -> None:
        self._strict = strict
        self._max_depth = max_depth
        self._tokens = tokens(text, escapes=strict)
        self._taken = self._next = next(self._tokens)
        self._depth = 0

    def parse(self) -> Expression:
        """Parse the text and return the tree.

        Raises:
            NotUnderstood: The text is not a condition. The error always has a position.
        """
        try:
            expression = _truth(self._or())
            if self._next.kind != "end":
                raise NotUnderstood(self._next.text, self._next.start)
        except NotUnderstood as wrong:
            if wrong.start is None:
                wrong.start = self._taken.start
            raise
        return expression

    def _or(self) -> Expression | _Operand:
        first = self._and()
        if self._next.upper != "OR":
            return first
        children = [_truth(first)]
        while self._accept("OR"):
            children.append(_truth(self._and()))
        return any_of(children)

    def _and(self) -> Expression | _Operand:
        first = self._not()
        if self._next.upper != "AND":
            return first
        children = [_truth(first)]
        while self._accept("AND"):
            children.append(_truth(self._not()))
        return all_of(children)

    def _not(self) -> Expression | _Operand:
        negations = 0
        while self._accept("NOT"):
            negations += 1
        found = self._test()
        if not negations:
            return found
        return Not(_truth(found)) if negations % 2 else _truth(found)

    def _test(self) -> Expression | _Operand:
        left = self._primary()
        if not isinstance(left, Column | Literal | _Null):
            return left
        if self._next.upper in _OPERATORS or self._next.upper in _UNEQUAL or self._next.upper == "<=>":
            return self._comparison(left, self._take().upper)
        if self._accept("IS"):
            negated = self._accept("NOT")
            self._expect("NULL")
            return _negated(negated, _is_null(left))
        negated = self._accept("NOT")
        if self._accept("IN"):
            return _negated(negated, self._in(left))
        if self._accept("BETWEEN"):
            return _negated(negated, self._between(left))
        if negated:
            raise NotUnderstood("NOT")
        return left

    def _comparison(self, left: _Operand, operator: str) -> Expression:
        right = self._operand()
        if operator == "<=>":
            self._check_sides(left, right)
            return _null_safe_equal(left, right)
        if operator in _UNEQUAL:
            return Not(self._compared(Operator.EQUAL, left, right))
        return self._compared(_OPERATORS[operator], left, right)

    def _in(self, left: _Operand) -> Expression:
        self._expect("(")
        members = [self._operand()]
        while self._accept(","):
            members.append(self._operand())
        self._expect(")")
        return any_of(self._compared(Operator.EQUAL, left, member) for member in members)

    def _between(self, left: _Operand) -> Expression:
        low = self._operand()
        self._expect("AND")
        high = self._operand()
        return all_of(
            (
                self._compared(Operator.GREATER_OR_EQUAL, left, low),
                self._compared(Operator.LESS_OR_EQUAL, left, high),
            )
        )

    def _compared(self, operator: Operator, left: _Operand, right: _Operand) -> Expression:
        self._check_sides(left, right)
        if isinstance(left, _Null) or isinstance(right, _Null):
            return NULL
        return compared(operator, left, right)

    def _check_sides(self, left: _Operand, right: _Operand) -> None:
        if self._strict and isinstance(left, Column) == isinstance(right, Column):
            raise NotUnderstood("a comparison is one of a column with a constant")

    def _operand(self) -> _Operand:
        found = self._primary()
        if not isinstance(found, Column | Literal | _Null):
            raise NotUnderstood("a condition as an operand")
        return found

    def _primary(self) -> Expression | _Operand:
        if self._accept("("):
            self._depth += 1
            if self._depth > self._max_depth:
                raise NotUnderstood(f"more than {self._max_depth} nested parentheses")
            inner = self._or()
            self._expect(")")
            self._depth -= 1
            return inner
        token = self._take()
        match token.kind, token.upper:
            case "quoted", _:
                return Literal(token.text, "quoted")
            case "number", _:
                return _number(token)
            case "symbol", "-" | "+" if self._next.kind == "number":
                return _number(self._take(), token.text)
            case "word", "NULL":
                return _Null.NULL
            case "word", "TRUE" | "FALSE":
                return Literal(token.text, "bool")
            case "word", "CAST" if self._accept("("):
                return self._cast()
            case "word", word if word in _TYPED and self._next.kind == "quoted":
                return Literal(self._take().text, _TYPES[word])
        return self._column(token)

    def _cast(self) -> _Operand:
        operand = self._operand()
        self._expect("AS")
        name = _TYPES.get(self._take().upper)
        self._expect(")")
        if name is None:
            raise NotUnderstood("CAST")
        match operand:
            case Column(path, None):
                return Column(path, name)
            case Literal(text, "quoted" | "number"):
                return Literal(text, name)
        raise NotUnderstood("CAST")

    def _column(self, token: SqlToken) -> Column:
        path = [_name(token)]
        while self._accept("."):
            path.append(_name(self._take()))
        return Column(tuple(path))

    def _take(self) -> SqlToken:
        token = self._next
        if token.kind == "end":
            raise NotUnderstood("", token.start)
        self._taken, self._next = token, next(self._tokens)
        return token

    def _accept(self, upper: str) -> bool:
        if self._next.upper != upper:
            return False
        self._take()
        return True

    def _expect(self, upper: str) -> None:
        if not self._accept(upper):
            raise NotUnderstood(self._next.text, self._next.start)


def _name(token: SqlToken) -> str:
    if token.kind == "name" or (token.kind == "word" and token.upper not in _RESERVED):
        return token.text
    raise NotUnderstood(token.text, token.start)


def _number(token: SqlToken, sign: str = "") -> Literal:
    return Literal(sign.strip("+") + token.text, _SUFFIXES[token.suffix])


def _truth(found: Expression | _Operand) -> Expression:
    """Convert a boolean column or constant into a predicate."""
    match found:
        case Column():
            return Comparison(Operator.EQUAL, found, (Literal("true", "bool"),))
        case Literal(text, "bool") if text.upper() in ("TRUE", "FALSE"):
            return TRUE if text.upper() == "TRUE" else FALSE
        case Literal():
            raise NotUnderstood(found.text)
        case _Null():
            return NULL
    return found


def _negated(negated: bool, expression: Expression) -> Expression:
    return Not(expression) if negated else expression


def _is_null(operand: _Operand) -> Expression:
    match operand:
        case Column():
            return IsNull(operand)
        case _Null():
            return TRUE
    return FALSE


def _null_safe_equal(left: _Operand, right: _Operand) -> Expression:
    if isinstance(left, _Null):
        return _is_null(right)
    if isinstance(right, _Null):
        return _is_null(left)
    operands = [each for each in (left, right) if isinstance(each, Column)]
    return all_of(
        (*(Not(IsNull(column)) for column in operands), compared(Operator.EQUAL, left, right))
    )
