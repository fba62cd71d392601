"""Mutants: a file with one small fault in it, such as a bound that is off by one.

Those of Python are made in its syntax tree, so that no type and no text for people is changed;
those of SQL in its text. Tools for this mutate Python alone; half of a figure is SQL.
"""

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_RECKONED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.BitXor: ast.BitAnd, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "and_": "or_", "or_": "and_"}
_UNSEEN = ("annotation", "returns", "decorator_list", "bases")  # fields that compute nothing

# What stands in SQL, and what takes its place; words of texts and comments are left alone.
_WORDS = {
    "and": "or", "or": "and", "sum": "max", "total": "max", "min": "max", "max": "min",
    "asc": "desc", "desc": "asc", "left join": "inner join", "is null": "is not null",
    "is not null": "is null", "not": "", "not in": "in", "exists": "not exists", "+": "-", "-": "+",
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "<>", "<>": "=", "//": "*",
    "is distinct from": "is not distinct from", "is not distinct from": "is distinct from",
    "paid_at": "extracted_at", "settled_at": "created_at", "created_at": "settled_at",
    "amount": "fee_amount", "fee_amount": "amount", "net_amount": "amount",
    "charged_amount": "amount", "debited_amount": "amount", "starts_at": "ends_at",
    "ends_at": "starts_at", "distinct": "",
}  # fmt: skip
_SIGNS = (
    re.escape(word) for word in sorted(_WORDS, key=len, reverse=True) if not word[0].isalpha()
)
_NAMES = (rf"\b{word}\b" for word in sorted(_WORDS, key=len, reverse=True) if word[0].isalpha())
_SQL = re.compile(rf"--[^\n]*|'[^']*'|\b\d+\b|\|\||->>?|{'|'.join(_NAMES)}|{'|'.join(_SIGNS)}")


Fault = Callable[[], None]


class Mutant(NamedTuple):
    """A file with a fault: where it is, what it was and became, and the whole text."""

    line: int
    change: str
    text: str


def count_mutants(name: str, text: str) -> int:
    """Count the mutants of a file."""
    if name.endswith(".sql"):
        return len(_places(text))
    return sum(len(_faults(node)) for node in _nodes(ast.parse(text)))


def mutant_of(name: str, text: str, number: int) -> Mutant:
    """Return one of the mutants of a file, counted from 0 in the order of its text."""
    return _of_sql(text, number) if name.endswith(".sql") else _of_python(text, number)


def _places(text: str) -> list[re.Match[str]]:
    return [match for match in _SQL.finditer(text) if match[0].isdigit() or match[0] in _WORDS]


def _of_sql(text: str, number: int) -> Mutant:
    match = _places(text)[number]
    word, line = match[0], text.count("\n", 0, match.start()) + 1
    other = str(int(word) + 1) if word.isdigit() else _WORDS[word]
    changed = text[: match.start()] + other + text[match.end() :]
    return Mutant(line, f"{word} -> {other}".rstrip(), changed)


def _of_python(text: str, number: int) -> Mutant:
    tree = ast.parse(text)
    faults = [(node, fault) for node in _nodes(tree) for fault in _faults(node)]
    node, fault = faults[number]
    before = ast.unparse(node)
    fault()
    change = f"{_short(before)} -> {_short(ast.unparse(node))}"
    return Mutant(getattr(node, "lineno", 1), change, ast.unparse(tree))


def _short(code: str) -> str:
    return " ".join(code.split())[:90]


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that compute something, each before those within it."""
    yield tree
    for name, value in ast.iter_fields(tree):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in _UNSEEN:
                yield from _nodes(child)


def _faults(node: ast.AST) -> list[Fault]:
    """Return what puts a fault into a node: each is called once, on a tree of its own."""
    return [*_faults_of_operators(node), *_faults_of_branches(node), *_faults_of_values(node)]


def _sets(node: ast.AST, name: str, value: object) -> Fault:
    return lambda: setattr(node, name, value)


def _faults_of_operators(node: ast.AST) -> list[Fault]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            return [_sets(node, "ops", [_COMPARED[type(op)]()])]
        case ast.BinOp(op=op) if type(op) in _RECKONED:
            return [_sets(node, "op", _RECKONED[type(op)]())]
        case ast.BoolOp(op=op, values=values):
            other = ast.And() if isinstance(op, ast.Or) else ast.Or()
            without = [[*values[:at], *values[at + 1 :]] for at in range(len(values))]
            return [_sets(node, "op", other), *(_sets(node, "values", rest) for rest in without)]
        case ast.UnaryOp(op=ast.Not()):
            return [_sets(node, "op", ast.UAdd())]
    return []


def _faults_of_branches(node: ast.AST) -> list[Fault]:
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return []  # what stands there computes nothing
        case ast.If() | ast.IfExp():
            return [_sets(node, "test", ast.Constant(value)) for value in (True, False)]
        case ast.Return(value=ast.AST() as value) if ast.unparse(value) != "None":
            return [_sets(node, "value", ast.Constant(None))]
        case ast.Expr(value=ast.Call()):
            return [_sets(node, "value", ast.Constant(...))]
    return []


def _faults_of_values(node: ast.AST) -> list[Fault]:
    match node:
        case ast.Constant(value=bool() as value):
            return [_sets(node, "value", not value)]
        case ast.Constant(value=int() as value):
            return [_sets(node, "value", value + by) for by in (1, -1)]
        case ast.Name(id=name) if name in _CALLED:
            return [_sets(node, "id", _CALLED[name])]
        case ast.Attribute(attr=name) if name in _CALLED:
            return [_sets(node, "attr", _CALLED[name])]
    return []
