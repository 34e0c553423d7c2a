"""How name tests relate to each other and to names.

A name test also stands for the *hardest* name it accepts: where a part is ``None``, a name that no
other test mentions. A test accepts that name exactly when it includes the test, so a containment
that holds for the hardest names holds for all.
"""

from __future__ import annotations

from penstock.language.relations.universe import Name
from penstock.language.xpath.ast import NameTest

ANY = NameTest()
"""The test ``*``."""


def includes(wide: NameTest, narrow: NameTest) -> bool:
    """Whether each name ``narrow`` accepts is accepted by ``wide``."""
    return (wide.uri is None or wide.uri == narrow.uri) and (
        wide.local is None or wide.local == narrow.local
    )


def meet(one: NameTest, two: NameTest) -> NameTest | None:
    """The test that accepts what both accept, ``None`` where that is nothing."""
    if None not in (one.uri, two.uri) and one.uri != two.uri:
        return None
    if None not in (one.local, two.local) and one.local != two.local:
        return None
    return NameTest(
        two.uri if one.uri is None else one.uri, two.local if one.local is None else one.local
    )


def join(one: NameTest, two: NameTest) -> NameTest:
    """The narrowest test that accepts whatever one of them accepts, of those one can write.

    There is none for any name in no namespace.
    """
    uri = one.uri if one.uri == two.uri else None
    local = one.local if one.local == two.local else None
    return ANY if uri == "" and local is None else NameTest(uri, local)


def exact(test: NameTest) -> bool:
    """Whether the test accepts one name only."""
    return test.uri is not None and test.local is not None


def test_of(name: Name) -> NameTest:
    """The test that accepts this name only."""
    return NameTest(name[0], name[1])


def show(test: NameTest) -> str:
    """The test for human eyes, the namespace in braces."""
    local = "*" if test.local is None else test.local
    if test.uri is None:
        return local if test.local is None else f"*:{local}"
    return f"{{{test.uri}}}{local}" if test.uri else local
