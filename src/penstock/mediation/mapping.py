"""A mapping: a local schema annotated with operators."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from collections.abc import Mapping as Mapped
from dataclasses import InitVar, dataclass, field

from penstock.documents import Name
from penstock.errors import Where
from penstock.mediation.operator_text import names_of, operator_text, read_operator
from penstock.mediation.operators import Insert, Operator, blocks, rank
from penstock.mediation.schema_transformation import Transformed, transform
from penstock.schema import Labels, NodePath, SchemaTree
from penstock.schema.outline import print_outline, read_outline


@dataclass(frozen=True, slots=True)
class Mapping:
    """Rewrites documents of a local schema to the global schema.

    Operators are sorted into application order: by node from the root down, at each node by
    :data:`~penstock.mediation.operators.ORDER`, and those of one kind as given. Raises
    :class:`~penstock.errors.MappingError` if an operator cannot be applied to the schema.

    Examples
    --------
    >>> mapping = Mapping.from_text('''penstock mapping 1
    ...
    ... department
    ...   => rename dept
    ...   course*
    ...     @code
    ...     => to-element @code
    ... ''')
    >>> [type(operator).__name__ for operator in mapping.operators]
    ['Rename', 'ToElement']
    >>> [str(place) for place in mapping.transformed.tree.places()]
    ['/dept', '/dept/course', '/dept/course/code']
    """

    local: SchemaTree
    operators: tuple[Operator, ...] = ()
    wheres: InitVar[Mapped[Operator, Where] | None] = None
    """Position of each operator in its file, for errors."""
    transformed: Transformed = field(init=False, compare=False, repr=False)
    """The transformed local schema."""

    _digest: str = field(init=False, compare=False, repr=False, default="")
    """:attr:`digest`, once it was computed: routers ask for it with every document."""

    def __post_init__(self, wheres: Mapped[Operator, Where] | None) -> None:
        ordered = tuple(_in_order(self.local, self.operators))
        object.__setattr__(self, "operators", ordered)
        object.__setattr__(self, "transformed", transform(self.local, ordered, wheres))

    @classmethod
    def from_text(cls, text: str) -> Mapping:
        """Parse a mapping file.

        Raises :class:`~penstock.errors.MappingError` with line and column if it is invalid or an
        operator cannot be applied.
        """
        outline = read_outline(text, "mapping", "mapping.syntax")
        wheres: dict[Operator, Where] = {}
        operators = []
        for note in outline.notes:
            operator = read_operator(note.text, note.path, outline.labels, note.where)
            operators.append(operator)
            wheres[operator] = note.where
        return cls(outline.tree, tuple(operators), wheres)

    def to_text(self) -> str:
        """The text of the mapping file; parsing it yields the same mapping."""
        labels = self._labels()
        by_node: dict[NodePath, list[str]] = {}
        for operator in self.operators:
            by_node.setdefault(operator.node, []).append(operator_text(operator, labels))
        return print_outline("mapping", self.local, labels, lambda path: by_node.get(path, ()))

    def describe(self, operator: Operator) -> str:
        """An operator with its node, in mapping file syntax."""
        labels = self._labels()
        return f"{labels.path_text(operator.node)} => {operator_text(operator, labels)}"

    def _labels(self) -> Labels:
        names = [
            name
            for place in self.local.places()
            for name in (*place.path[-1:], place.attribute)
            if name is not None
        ]
        given = [name for operator in self.operators for name in names_of(operator)]
        return Labels.for_names([*names, *given])

    @property
    def digest(self) -> str:
        """A digest of schema and operators; routers cache mappings by it."""
        if not self._digest:
            digest = hashlib.sha256(self.to_text().encode()).hexdigest()
            object.__setattr__(self, "_digest", f"sha256:{digest}")
        return self._digest

    def is_blocking(self, operator: Operator) -> bool:
        """Whether a streaming rewriter must buffer events for this operator."""
        node = self.local.nodes().get(operator.node)
        return blocks(operator, has_text=node is not None and node.text)


def _in_order(local: SchemaTree, operators: Iterable[Operator]) -> list[Operator]:
    numbers = {path: number for number, path in enumerate([(), *local.nodes()])}
    # Operators on unknown nodes are refused later, by the transformation.
    last = len(numbers)
    listed = list(operators)
    firsts: dict[tuple[NodePath, tuple[Name, ...]], int] = {}
    for index, operator in enumerate(listed):
        for path in operator.shared_paths if isinstance(operator, Insert) else ():
            firsts.setdefault((operator.node, path), index)

    def key(index: int) -> tuple[int, int, tuple[int, ...]]:
        operator = listed[index]
        shared = operator.shared_paths if isinstance(operator, Insert) else ()
        # Inserts that share an element follow each other, in the place of the first of them.
        places = (*(firsts[operator.node, path] for path in shared), index)
        return numbers.get(operator.node, last), rank(operator), places

    return [listed[index] for index in sorted(range(len(listed)), key=key)]
