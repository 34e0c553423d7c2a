"""The part of the reference parser for paths and steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from penstock.language.xpath.ast import Axis, Expr, Kind, NameTest, Path, Step, is_positional
from penstock.language.xpath.lexical import NCNAME, NUMBER
from penstock.language.xpath.reference.operands import Refused
from penstock.language.xpath.reference.scanner import Scanner

NODE_TYPES = ("text", "node", "comment", "processing-instruction")
"""Names that denote node tests, not functions, before a parenthesis."""


class PathParser(Scanner):
    """Parses location paths; a subclass parses the predicates."""

    def __init__(self, text: str, prefixes: Mapping[str, str], default_namespace: str) -> None:
        super().__init__(text)
        self._prefixes = prefixes
        self._default_namespace = default_namespace

    @abstractmethod
    def predicate(self) -> Expr:
        """Parses a predicate with its brackets."""

    def namespace_of(self, prefix: str, default: str | None = None) -> str | None:
        """The namespace of a prefix."""
        return self._prefixes.get(prefix, default)

    def path(self) -> Path:
        """Parses a location path."""
        start = self.at
        descending: int | None = None  # position of the `//` before the next step
        if self.next_is("/"):
            if self.predicates_open:
                raise Refused("query.absolute", "a path in a predicate must be relative", start)
            if self.take("//"):
                descending = start
            else:
                self.at += 1
                self.skip()
                if not self._step_ahead():
                    raise Refused(
                        "query.document-node", "a query cannot select the document node", start
                    )
        steps: list[Step] = []
        while True:
            self.skip()
            descending = self._step(steps, descending)
            self.skip()
            at = self.at
            if self.take("//"):
                descending = at if descending is None else descending
            elif not self.take("/"):
                break
        if descending is not None:
            raise Refused(
                "query.node-test", "selecting nodes of every kind is not supported", descending
            )
        if not steps and not self.predicates_open:
            raise Refused("query.document-node", "a query cannot select the document node", start)
        return Path(tuple(steps))

    def _step_ahead(self) -> bool:
        return self.next_is(".", "@", "*") or NCNAME.match(self.text, self.at) is not None

    def _step(self, steps: list[Step], descending: int | None) -> int | None:
        """Parses one step and appends it unless it is `.`; returns the position of a pending
        `//`."""
        start = self.at
        if self.take(".."):
            raise Refused("query.axis", "the parent step `..` is not supported", start)
        if self.next_is(".") and not NUMBER.match(self.text, start):
            self.at += 1
            self._refuse_predicate()
            return descending
        axis = "attribute" if self.take("@") else self._axis()
        if axis in ("self", "descendant-or-self"):
            self._every_node(axis, start)
            return start if descending is None and axis != "self" else descending
        kind, test = self._node_test(attribute=axis == "attribute")
        if steps and steps[-1].kind is not Kind.ELEMENT:
            raise Refused("query.leaf", "attributes and text nodes have no children", start)
        self.count_step(start)
        predicates = self._predicates()
        if axis == "descendant" and any(is_positional(predicate) for predicate in predicates):
            message = "positional predicates on `descendant::` are not supported"
            raise Refused("query.positional-descendant", message, start)
        far = descending is not None or axis == "descendant"
        steps.append(Step(Axis.DESCENDANT if far else Axis.CHILD, kind, test, predicates))
        return None

    def _predicates(self) -> tuple[Expr, ...]:
        predicates: list[Expr] = []
        self.skip()
        while self.next_is("["):
            predicates.append(self.predicate())
            self.skip()
        return tuple(predicates)

    def _refuse_predicate(self) -> None:
        self.skip()
        if self.next_is("["):
            raise Refused("query.filter", "predicates on `.` are not supported", self.at)

    def _axis(self) -> str:
        start = self.at
        name = self.name_before("::")
        if name is None:
            return "child"
        if name not in ("child", "attribute", "descendant", "descendant-or-self", "self"):
            raise Refused("query.axis", f"the axis `{name}::` is not supported", start)
        self.at += len(name)
        self.expect("::")
        self.skip()
        return name

    def _every_node(self, axis: str, start: int) -> None:
        if self.name_before("(") != "node":
            message = f"`{axis}::` is only supported with `node()`"
            raise Refused("query.axis", message, start)
        self.at += len("node")
        self.expect("(")
        self.expect(")")
        self._refuse_predicate()

    def _node_test(self, *, attribute: bool) -> tuple[Kind, NameTest]:
        self.skip()
        start = self.at
        named = Kind.ATTRIBUTE if attribute else Kind.ELEMENT
        if self.take("*"):
            return named, NameTest(None, self.ncname() if self.take(":") else None)
        called = self.name_before("(")
        if called == "text" and not attribute:
            self.at += len("text")
            self.expect("(")
            self.expect(")")
            return Kind.TEXT, NameTest()
        if called in NODE_TYPES:
            raise Refused("query.node-test", f"`{called}()` cannot be selected here", start)
        if called:
            message = f"the function `{called}()` is not supported"
            raise Refused("query.function", message, start)
        return named, self._name_test(start, attribute=attribute)

    def _name_test(self, start: int, *, attribute: bool) -> NameTest:
        name = self.ncname()
        if not self.next_is(":") or self.next_is("::"):
            return NameTest("" if attribute else self._default_namespace, name)
        self.at += 1
        local = None if self.take("*") else self.ncname()
        uri = self.namespace_of(name)
        if uri is None:
            raise Refused("query.prefix", f"the prefix `{name}` is not bound", start)
        return NameTest(uri, local)
