"""Worker processes exempt what they keep from garbage collection.

In processes of their own: pytest's objects are to be collected.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from penstock.documents import Document, Header
from penstock.workspace import Workspace


def output_of(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_later_objects_are_collected_as_usual() -> None:
    program = """
        import gc, weakref
        from penstock.pipeline.worker_heap import freeze_heap

        class Node:
            pass

        def cycle():
            node = Node()
            node.self = node
            return weakref.ref(node)

        freeze_heap()
        frozen = gc.get_freeze_count()
        assert frozen > 10_000, frozen
        freed = cycle()
        freeze_heap()  # no second time: it would exempt the cycle
        assert gc.get_freeze_count() <= frozen
        gc.collect()
        print(freed() is None)
    """
    assert output_of(program) == "True"


MATCHING = """
    import gc, sys
    from penstock.pipeline.partition_matcher import PartitionMatcher
    from penstock.pipeline.run_config import RunConfig
    matcher = PartitionMatcher(
        shards=[], mappings=None, at=None, config=RunConfig(), fragments="none"
    )
    before = gc.get_freeze_count()
    assert list(matcher.match(iter([]))) == []
    print(before, gc.get_freeze_count() > 10_000)
"""

READING = """
    import gc, sys
    from penstock.pipeline.inbox_source import InboxReader, InboxSourceOptions
    reader = InboxReader(InboxSourceOptions(workspace=sys.argv[1], after=0))
    (partition,) = reader.partitions()
    before = gc.get_freeze_count()
    assert [batch.num_rows for batch in reader.read(partition)] == [1]
    print(before, gc.get_freeze_count() > 10_000)
"""


@pytest.mark.parametrize("program", [MATCHING, READING])
def test_tasks_exempt_what_their_process_has_imported(program: str, tmp_path: Path) -> None:
    with Workspace.create(tmp_path / "w") as workspace:
        workspace.publish([Document(b"<a/>", Header(publisher="me"))])
    assert output_of(program, str(tmp_path / "w")) == "0 True"
