"""A mapping: the local schema, annotated with operators."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from collections.abc import Mapping as Mapped
from dataclasses import InitVar, dataclass, field

from penstock.errors import Where
from penstock.mediation.operator_text import names_of, operator_text, read_operator
from penstock.mediation.operators import Operator, blocks, rank
from penstock.mediation.transform import Transformed, transform
from penstock.schema import Labels, NodePath, SchemaTree
from penstock.schema.outline import print_outline, read_outline


@dataclass(frozen=True, slots=True)
class Mapping:
    """Turns documents of a local schema into documents of the global one.

    Operators are brought into the order in which they are applied: by node from the root down, at
    each node by :data:`~penstock.mediation.operators.ORDER`, those of one kind as given. A mapping
    that cannot be applied to its schema cannot be made: :class:`~penstock.errors.MappingError`.

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
    """Where each operator stands in a file, for the errors."""
    transformed: Transformed = field(init=False, compare=False, repr=False)
    """What the local schema becomes."""

    def __post_init__(self, wheres: Mapped[Operator, Where] | None) -> None:
        ordered = tuple(_in_order(self.local, self.operators))
        object.__setattr__(self, "operators", ordered)
        object.__setattr__(self, "transformed", transform(self.local, ordered, wheres))

    @classmethod
    def from_text(cls, text: str) -> Mapping:
        """Read a mapping file.

        Raises :class:`~penstock.errors.MappingError` with line and column where it cannot be read,
        and where an operator cannot be applied.
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
        """The mapping file: read again, it gives the same mapping."""
        labels = self._labels()
        by_node: dict[NodePath, list[str]] = {}
        for operator in self.operators:
            by_node.setdefault(operator.node, []).append(operator_text(operator, labels))
        return print_outline("mapping", self.local, labels, lambda path: by_node.get(path, ()))

    def describe(self, operator: Operator) -> str:
        """An operator with its node, as its line in the file says it."""
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
        """The same for mappings that do the same to the same schema; routers cache by it."""
        return f"sha256:{hashlib.sha256(self.to_text().encode()).hexdigest()}"

    def is_blocking(self, operator: Operator) -> bool:
        """Whether a rewriter of events has to hold some back for this operator."""
        node = self.local.nodes().get(operator.node)
        return blocks(operator, has_text=node is not None and node.text)


def _in_order(local: SchemaTree, operators: Iterable[Operator]) -> list[Operator]:
    numbers = {path: number for number, path in enumerate([(), *local.nodes()])}
    # What names no node of the schema is refused later, by the transformation.
    last = len(numbers)
    return sorted(operators, key=lambda each: (numbers.get(each.node, last), rank(each)))
