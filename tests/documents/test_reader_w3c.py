"""The W3C's conformance suite, read in place from its archive."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

from penstock.documents import Limits, read_events
from penstock.errors import DocumentError
from penstock.native import native
from support.fixtures.canonical import canonical
from support.fixtures.shared_data import shared_data

pytestmark = pytest.mark.skipif(native is None, reason="Expat's names are the fourth edition's")

EXCEPTIONS = {
    "rmt-e2e-50": "a document in XML 1.1, whose line ends XML 1.0 does not have",
    "rmt-e3e-13": "what might be declared outside is refused: text is never silently dropped",
}
"""Cases that end otherwise than the suite says, each with its reason."""


LIMITS = Limits(name_bytes=16_000)
"""A few cases have names longer than anyone would use."""


class Case(NamedTuple):
    id: str
    kind: str
    content: bytes
    canonical: bytes | None


def is_ours(test: ET.Element) -> bool:
    """XML 1.0, fifth edition, with namespaces, in need of no external entity."""
    return (
        "5" in test.get("EDITION", "1 2 3 4 5").split()
        and test.get("NAMESPACE", "yes") == "yes"
        and test.get("ENTITIES", "none") == "none"
        and test.get("RECOMMENDATION", "XML1.0").startswith(("XML1.0", "NS1.0"))
        and test.get("TYPE") != "error"
    )


def cases(suite: zipfile.ZipFile) -> Iterator[Case]:
    index = suite.read("xmlconf/xmlconf.xml").decode()
    for path in re.findall(r'<!ENTITY \S+\s+SYSTEM "([^"]+)">', index):
        catalogue = posixpath.join("xmlconf", path)
        text = suite.read(catalogue).decode()
        text = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", text, flags=re.DOTALL)
        folder = posixpath.dirname(catalogue)
        for test in ET.fromstring(f"<all>{text}</all>").iter("TEST"):
            if is_ours(test):
                content = suite.read(posixpath.join(folder, test.get("URI", "")))
                output = test.get("OUTPUT")
                expected = suite.read(posixpath.join(folder, output)) if output else None
                yield Case(test.get("ID", ""), test.get("TYPE", ""), content, expected)


@pytest.fixture(scope="module")
def suite() -> list[Case]:
    with zipfile.ZipFile(shared_data("w3c-xmlconf.zip")) as archive:
        found = list(cases(archive))
    assert len(found) > 1_500
    return found


def is_read(case: Case) -> bool:
    try:
        read_events(case.content, limits=LIMITS)
    except DocumentError:
        return False
    return True


def test_documents_that_are_not_well_formed_are_refused(suite: list[Case]) -> None:
    wrong = {case.id for case in suite if case.kind == "not-wf" and is_read(case)}
    assert wrong - set(EXCEPTIONS) == set()


def test_well_formed_documents_are_accepted(suite: list[Case]) -> None:
    wrong = {case.id for case in suite if case.kind != "not-wf" and not is_read(case)}
    assert wrong - set(EXCEPTIONS) == set()


def test_no_exception_is_stale(suite: list[Case]) -> None:
    kinds = {case.id: case for case in suite}
    for name in EXCEPTIONS:
        assert is_read(kinds[name]) == (kinds[name].kind == "not-wf"), name


def test_events_equal_the_expected_output_of_the_suite(suite: list[Case]) -> None:
    with_output = [
        case for case in suite if case.canonical is not None and case.id not in EXCEPTIONS
    ]
    assert len(with_output) > 200
    wrong = {
        case.id
        for case in with_output
        if canonical(read_events(case.content, limits=LIMITS))
        != canonical(read_events(case.canonical or b"", limits=LIMITS))
    }
    assert wrong == set()
