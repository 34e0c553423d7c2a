"""What an interactive session shows of the objects that it works with."""

from __future__ import annotations

from pathlib import Path

from penstock import MediatedMatcher, Mediator, SubscriptionIndex
from penstock.schema import SchemaGraph
from penstock.workspace import Workspace


def test_objects_say_what_they_are(tmp_path: Path) -> None:
    index = SubscriptionIndex()
    index.add("one", "/a")
    with Workspace.create(tmp_path) as workspace:
        shown = [repr(workspace), repr(workspace.mailbox("anna"))]
    assert shown == [f"<Workspace: {tmp_path}>", "<Mailbox: anna>"]
    assert repr(Mediator()) == "<Mediator: 0 domains, 0 local schemas>"
    assert repr(MediatedMatcher(index.matcher())) == (
        f"<MediatedMatcher: {index.matcher().description}, nddr>"
    )
    schema = SchemaGraph.from_dtd("<!ELEMENT shop (item*)> <!ELEMENT item EMPTY>")
    assert repr(schema) == "<SchemaGraph: shop; 2 elements>"
