"""The vocabulary of an announced set: the names that its patterns mention.

Two routers that know the same announced set have the same vocabulary. Annotations that are derived
from a document's label paths name elements and attributes by their numbers in it. Names that no
pattern can tell apart have the same *class*: the pair of the number of the namespace URI and of the
local name, 0 for what is not mentioned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from penstock.language import Query
from penstock.language.relations.path_universe import Name
from penstock.language.xpath.ast import (
    And,
    Axis,
    ComparePaths,
    Expr,
    Kind,
    Last,
    NameTest,
    Not,
    Or,
    Path,
    Position,
    PositionLast,
    Step,
)
from penstock.matching.label_paths import LabelPaths
from penstock.native import native
from penstock.routing.patterns import Pattern

if TYPE_CHECKING:
    from penstock._native import ClassifiedPaths

NameClass: TypeAlias = tuple[int, int]
"""Numbers of a namespace URI and of a local name, from 1; 0 for one that is not mentioned."""


class Vocabulary:
    """The names that a set of patterns mentions, and the classes of all other names.

    Needs the native core.

    Examples
    --------
    >>> vocabulary = Vocabulary([Pattern.of_path("/news/item[@lang = 'en']")])
    >>> vocabulary.names
    (('', 'item'), ('', 'lang'), ('', 'news'))
    >>> from penstock.language import parse, to_text
    >>> query, is_exact = vocabulary.translate(parse("/news/*[price]"))
    >>> str(to_text(query)), is_exact
    ('/n3/*[n0]', False)
    """

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        tests = {
            step.test
            for pattern in patterns
            if isinstance(pattern.query, Query)
            for step in _steps(pattern.query)
            if step.kind is not Kind.TEXT
        }
        self.uris: tuple[str, ...] = tuple(
            sorted({test.uri for test in tests if test.uri is not None})
        )
        """The namespace URIs of name tests; the empty one stands for no namespace."""
        self.locals: tuple[str, ...] = tuple(
            sorted({test.local for test in tests if test.local is not None})
        )
        """The local names of name tests."""
        self.names: tuple[Name, ...] = tuple(
            sorted(
                (test.uri, test.local)
                for test in tests
                if test.uri is not None and test.local is not None
            )
        )
        """The names of elements and attributes that patterns mention, sorted."""
        self._uri_numbers = {uri: number for number, uri in enumerate(self.uris, start=1)}
        self._local_numbers = {local: number for number, local in enumerate(self.locals, start=1)}
        self._no_namespace = self._uri_numbers.get("", 0)
        self._translations = {test: self._translation(test) for test in tests}
        self.core = native.Vocabulary(
            list(self.uris),
            list(self.locals),
            [
                (self._uri_numbers[uri] - 1, self._local_numbers[local] - 1)
                for uri, local in self.names
            ],
        )
        """The vocabulary in the native core."""

    def classify(self, label_paths: LabelPaths) -> ClassifiedPaths:
        """The label paths of a document with the classes of their names."""
        return self.core.classify(label_paths.core)

    def class_name(self, name: NameClass) -> NameTest:
        """The name that stands for a class in skeletons and translated queries."""
        uri, local = name
        is_without = uri == self._no_namespace and uri != 0
        return NameTest("" if is_without else f"u{uri}", f"n{local}")

    def translate(self, query: Query) -> tuple[Query, bool]:
        """The query with the names of classes, and whether it is exact.

        A document matches an exact translation, with each name replaced by that of its class,
        exactly if it matches the query. A translation that is not exact matches more: some names of
        the query are not in the vocabulary.
        """
        translator = _Translator(self)
        branches = tuple(map(translator.path, query.branches))
        return Query(branches), translator.is_exact

    def translate_test(self, test: NameTest) -> tuple[NameTest, bool]:
        """A name test on the names of classes, and whether it is exact."""
        return self._translations.get(test) or self._translation(test)

    def _translation(self, test: NameTest) -> tuple[NameTest, bool]:
        uri, local = test.uri, test.local
        uri_number = None if uri is None else self._uri_numbers.get(uri, 0)
        local_number = None if local is None else self._local_numbers.get(local, 0)
        whole = self.class_name((uri_number or 0, local_number or 0))
        translated = NameTest(
            None if uri_number is None else whole.uri,
            None if local_number is None else whole.local,
        )
        return translated, uri_number != 0 and local_number != 0


class _Translator:
    """Translates the name tests of one query."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.is_exact = True

    def path(self, path: Path) -> Path:
        return Path(tuple(map(self._step, path.steps)))

    def _step(self, step: Step) -> Step:
        test = step.test
        if step.kind is not Kind.TEXT:
            test, is_exact = self._vocabulary.translate_test(step.test)
            self.is_exact &= is_exact
        return Step(step.axis, step.kind, test, tuple(map(self._expr, step.predicates)))

    def _expr(self, expr: Expr) -> Expr:
        match expr:
            case And(items) | Or(items):
                return type(expr)(tuple(map(self._expr, items)))
            case Not(item):
                return Not(self._expr(item))
            case ComparePaths(left, op, right):
                return ComparePaths(self.path(left), op, self.path(right))
            case Position() | PositionLast() | Last():
                return expr
            case _:
                return replace(expr, path=self.path(expr.path))


def linear_path(classes: Sequence[NameClass], vocabulary: Vocabulary) -> Path:
    """The path from the root with the names of these classes."""
    return Path(
        tuple(Step(Axis.CHILD, Kind.ELEMENT, vocabulary.class_name(each)) for each in classes)
    )


def _steps(query: Query) -> Iterator[Step]:
    for branch in query.branches:
        yield from _path_steps(branch)


def _path_steps(path: Path) -> Iterator[Step]:
    for step in path.steps:
        yield step
        for predicate in step.predicates:
            yield from predicate_steps(predicate)


def predicate_steps(expr: Expr) -> Iterator[Step]:
    """All steps of the paths in a predicate, nested ones included."""
    match expr:
        case And(items) | Or(items):
            for item in items:
                yield from predicate_steps(item)
        case Not(item):
            yield from predicate_steps(item)
        case ComparePaths(left=left, right=right):
            yield from _path_steps(left)
            yield from _path_steps(right)
        case Position() | PositionLast() | Last():
            return
        case _:
            yield from _path_steps(expr.path)
