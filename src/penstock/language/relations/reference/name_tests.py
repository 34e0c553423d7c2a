"""Relations between name tests and names.

A name test also represents a *fresh* name that it accepts: where a part is ``None``, a name that no
other test mentions. A test accepts the fresh name exactly when it includes the test, so containment
for fresh names implies containment for all names.
"""

from __future__ import annotations

from penstock.language.relations.path_universe import Name
from penstock.language.xpath.ast import NameTest

ANY = NameTest()
"""The test ``*``."""


def includes(wide: NameTest, narrow: NameTest) -> bool:
    """Whether ``wide`` accepts every name that ``narrow`` accepts."""
    return (wide.uri is None or wide.uri == narrow.uri) and (
        wide.local is None or wide.local == narrow.local
    )


def meet(one: NameTest, two: NameTest) -> NameTest | None:
    """The intersection of two tests; ``None`` if it is empty."""
    if None not in (one.uri, two.uri) and one.uri != two.uri:
        return None
    if None not in (one.local, two.local) and one.local != two.local:
        return None
    return NameTest(
        two.uri if one.uri is None else one.uri, two.local if one.local is None else one.local
    )


def join(one: NameTest, two: NameTest) -> NameTest:
    """The most specific expressible test that includes both.

    No test expresses "any name in no namespace".
    """
    uri = one.uri if one.uri == two.uri else None
    local = one.local if one.local == two.local else None
    return ANY if uri == "" and local is None else NameTest(uri, local)


def exact(test: NameTest) -> bool:
    """Whether the test accepts exactly one name."""
    return test.uri is not None and test.local is not None


def test_of(name: Name) -> NameTest:
    """The test that accepts only this name."""
    return NameTest(name[0], name[1])


def show(test: NameTest) -> str:
    """The test for display, with the namespace in braces."""
    local = "*" if test.local is None else test.local
    if test.uri is None:
        return local if test.local is None else f"*:{local}"
    return f"{{{test.uri}}}{local}" if test.uri else local
