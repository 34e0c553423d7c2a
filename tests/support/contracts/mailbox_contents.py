"""The contract of mailboxes: each delivery opens as the document that it names, and matches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from penstock.workspace import Workspace
from penstock.workspace.table_reader import read_rows
from support.strategies.query_kinds import matched_by


def assert_mailboxes_are_exact(
    workspace: Workspace, queries: Mapping[str, str], sources: Mapping[str, bytes]
) -> None:
    """Check mailboxes, dead letters and numbers against the documents that a source contained.

    Parameters
    ----------
    workspace
        Where the documents were delivered.
    queries
        The query of each subscription; the part before the dot is the subscriber.
    sources
        All documents, by identity.
    """
    matched = matched_by(queries)
    dead = {letter.document: letter for letter in workspace.dead_letters.all()}
    expected = {
        (subscription.partition(".")[0], subscription, identity)
        for identity, content in sources.items()
        if identity not in dead
        for subscription in matched(content)
    }
    opened = set()
    for subscriber in {name.partition(".")[0] for name in queries}:
        box = workspace.mailbox(subscriber)
        for delivery in box.opened(box.deliveries()):
            assert delivery.content == sources[delivery.document]
            assert delivery.subscription in set(matched(delivery.content))
            opened.add((subscriber, delivery.subscription, delivery.document))
    assert opened == expected
    for identity, letter in dead.items():
        assert workspace.dead_letters.content(letter) == sources[identity]
        assert workspace.dead_letters.get(str(letter.sequence)).document == identity
    numbers = defaultdict(set)
    for table in (workspace.tables.documents, workspace.tables.dead_letters):
        rows = read_rows(table, columns=["document", "sequence"])
        assert rows is not None
        for row in rows.to_pylist():
            numbers[row["sequence"]].add(row["document"])
    assert [documents for documents in numbers.values() if len(documents) > 1] == []
    assert set().union(*numbers.values()) == set(sources)
