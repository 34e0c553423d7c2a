"""Schemas with renamed nodes and reordered children, as of another publisher."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from penstock.documents import Name
from penstock.language.relations.path_universe import Occurs
from penstock.schema import Place, SchemaAttribute, SchemaNode, SchemaTree

WORDS = ("author", "book", "chapter", "invoice", "journal", "kitchen", "orchard", "village")
"""Dissimilar words."""

STYLES: dict[str, Callable[[tuple[str, ...]], str]] = {
    "snake": "_".join,
    "kebab": "-".join,
    "camel": lambda words: words[0] + "".join(word.title() for word in words[1:]),
    "upper": lambda words: "_".join(words).upper(),
    "joined": "".join,
    "plural": lambda words: "_".join(words) + "s",
}
"""Spellings of a name of several words."""

OCCURS = st.builds(Occurs, required=st.booleans(), many=st.booleans())
PHRASES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True).map(tuple)


@st.composite
def worded_trees(draw: st.DrawFn, depth: int = 2, is_root: bool = True) -> SchemaNode:
    """A node whose names consist of words, in snake case; siblings share no word."""
    free = list(draw(st.permutations(WORDS)))
    attributes = [Name("", free.pop()) for _ in range(draw(st.integers(0, 2)))]
    children = []
    for _ in range(draw(st.integers(0, 3)) if depth else 0):
        child = draw(worded_trees(depth - 1, is_root=False))
        words = [free.pop() for _ in range(draw(st.integers(1, 2)))]
        children.append(
            SchemaNode(
                Name("", "_".join(words)),
                child.occurs,
                child.text,
                child.attributes,
                child.children,
            )
        )
        if len(free) < 2:
            break
    return SchemaNode(
        Name("", "root"),
        Occurs(required=True, many=False) if is_root else draw(OCCURS),
        draw(st.booleans()),
        tuple(SchemaAttribute(name, draw(st.booleans())) for name in attributes),
        tuple(children),
    )


@st.composite
def rewritten(draw: st.DrawFn, tree: SchemaTree) -> tuple[SchemaTree, dict[Place, Place]]:
    """The tree in another style and order, and the new position of each node."""
    style = STYLES[draw(st.sampled_from(sorted(STYLES)))]
    moved: dict[Place, Place] = {}

    def other(name: Name) -> Name:
        return Name(name.uri, style(tuple(name.local.split("_"))))

    def visit(node: SchemaNode, path: tuple[Name, ...], new: tuple[Name, ...]) -> SchemaNode:
        moved[Place(path)] = Place(new)
        for each in node.attributes:
            moved[Place(path, each.name)] = Place(new, other(each.name))
        return SchemaNode(
            new[-1],
            node.occurs,
            node.text,
            tuple(
                SchemaAttribute(other(each.name), each.required)
                for each in draw(st.permutations(node.attributes))
            ),
            tuple(
                visit(child, (*path, child.name), (*new, other(child.name)))
                for child in draw(st.permutations(node.children))
            ),
        )

    root = tree.root
    return SchemaTree(visit(root, (root.name,), (other(root.name),))), moved
