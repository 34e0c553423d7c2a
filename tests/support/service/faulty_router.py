"""A router whose documents inject faults into its process.

``<raise`` in a document raises an exception while it is matched, ``<panic`` one like those of the
native core, and ``<kill`` ends the process with SIGKILL, as the kernel does when memory is short.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from penstock.documents import Document
from penstock.links import Message
from penstock.routing import ForwardedDocument
from penstock.routing.interest_index import InterestIndex, Targets
from penstock.service.router.engine import Job, RouterEngine
from penstock.service.router.wire_messages import router_message_to_link
from penstock.workspace.router_store import RouterStore
from support.routing.one_router import document

SESSION: Final = bytes(16)
GOOD: Final = document(b"<flash/>", 1)
KILLER: Final = document(b"<flash><kill/></flash>", 2)

_match = InterestIndex.match


class PanicException(BaseException):
    """Like the exception of a native panic."""


def match(index: InterestIndex, content: Document, *arguments: Any, **options: Any) -> Targets:  # noqa: ANN401
    """Match a document, or fail."""
    if b"<raise" in content.content:
        raise RuntimeError("injected")
    if b"<panic" in content.content:
        raise PanicException("index out of bounds")
    if b"<kill" in content.content:
        os.kill(os.getpid(), signal.SIGKILL)
    return _match(index, content, *arguments, **options)


def wire(content: Document) -> Message:
    """A document as a neighbour sends it."""
    return router_message_to_link(ForwardedDocument(document=content), message_bytes=1 << 20)


def inputs(source: str) -> list[Job]:
    """What comes again after each restart until it is acknowledged: a document that ends the
    process behind a good one."""
    if source == "publisher":
        return [partial(RouterEngine.publish, document=each) for each in (GOOD, KILLER)]
    if source == "inbox":
        return [
            partial(RouterEngine.route_published, sequence=sequence, document=each)
            for sequence, each in ((1, GOOD), (2, KILLER))
        ]
    # A session that is not authenticated is not resumed.
    session = os.urandom(16)
    return [
        partial(RouterEngine.add_neighbour, name="r1"),
        partial(RouterEngine.link_established, name="r1", session_id=session),
        *(
            partial(
                RouterEngine.message_received,
                name="r1",
                session_id=session,
                sequence=sequence,
                message=wire(each),
            )
            for sequence, each in ((1, GOOD), (2, KILLER))
        ),
    ]


def main() -> None:
    """Handles the inputs of a source in one group."""
    folder, source = sys.argv[1:]
    setattr(InterestIndex, "match", match)  # noqa: B010 - a method, to mypy
    with closing(RouterStore.open(Path(folder), "r0")) as store:
        RouterEngine(store).run(inputs(source))


if __name__ == "__main__":
    main()
