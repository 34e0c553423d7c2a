"""The matcher: matches documents against a snapshot of an index."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Final

from penstock.documents import Document, Fragment, Header
from penstock.errors import DocumentError, error
from penstock.language.source_position import utf8_size
from penstock.matching.batch import BatchMatches, BinaryArray, match_batch
from penstock.matching.engine import Buffer, EngineMatcher, Outcome, TreeDocument
from penstock.matching.header_tests import NO_FIELDS, HeaderFields, fields_of
from penstock.matching.native_base import NativeMatcherBase
from penstock.matching.results import Counters, Explanation, Matches, ResolvedIds

PIPE_CHUNK_BYTES: Final = 1 << 16
"""Bytes read from a pipe at a time."""


class Matcher:
    """A snapshot of an index: later changes of the index do not affect it.

    Created by :meth:`SubscriptionIndex.matcher` and :meth:`KeywordIndex.matcher`. Thread-safe. A
    refused document yields :class:`Matches` with the error and no ids; exceptions are raised only
    for failures unrelated to the document, such as a missing file.
    """

    def __init__(self, engine: EngineMatcher, *, description: str = "") -> None:
        self._engine = engine
        self.description = description or type(engine).__name__
        """What it matches: the number of subscriptions and the engine."""
        self._tests_headers = engine.tests_headers

    @property
    def engine(self) -> EngineMatcher:
        """The engine's matcher."""
        return self._engine

    @property
    def tests_headers(self) -> bool:
        """Whether some subscription tests header fields; if not, headers make no difference."""
        return self._tests_headers

    def match(
        self,
        document: Buffer | Document,
        *,
        fragments: bool = False,
        label_paths: bool = False,
        header: Header | HeaderFields | None = None,
    ) -> Matches:
        """Match one document.

        Parameters
        ----------
        document
            The bytes of the document, in any supported encoding.
        fragments
            Also return the fragments that each query selected, except for those in
            :attr:`Matches.without_fragments`.
        label_paths
            Also return the distinct label paths of the document, from the same reading.
        header
            The header that subscriptions with ``where`` test; by default that of a
            :class:`~penstock.documents.Document`.

        Examples
        --------
        >>> from penstock import SubscriptionIndex
        >>> index = SubscriptionIndex()
        >>> index.add("english", "//item", where={"lang": "en"})
        >>> matcher = index.matcher()
        >>> matcher.match(b"<news><item/></news>", header={"lang": "en"}).ids
        ('english',)
        >>> matcher.match(b"<news><item/></news>", header={"lang": "fr"}).ids
        ()
        """
        data = bytes_of(document)
        fields = self._fields(header, document)
        if label_paths:
            outcome = self._engine.match_observed(data, fields, label_paths=True)
        else:
            outcome = self._engine.match(data, fields)
        return self._matches(outcome, data if fragments else None)

    def match_prefix(
        self,
        document: Buffer | Document,
        *,
        stop_at: int,
        label_paths: bool = False,
        header: Header | HeaderFields | None = None,
    ) -> Matches:
        """Match the beginning of a document that is known to be well-formed.

        Reading ends after the first end tag that ends at ``stop_at`` or later, outside of entities,
        and all open elements end there. What follows is neither read nor checked.
        :attr:`Work.bytes_read` is the number of bytes up to that tag.

        Parameters
        ----------
        document, label_paths, header
            As for :meth:`match`.
        stop_at
            An offset in the bytes of the document.

        Examples
        --------
        >>> from penstock import SubscriptionIndex
        >>> index = SubscriptionIndex()
        >>> index.add("title", "//title")
        >>> index.add("item", "//item")
        >>> document = b"<news><title>Storm</title><item/></news>"
        >>> matches = index.matcher().match_prefix(document, stop_at=20)
        >>> matches.ids, matches.counters.work.bytes_read
        (('title',), 26)
        """
        data = bytes_of(document)
        outcome = self._engine.match_observed(
            data, self._fields(header, document), label_paths=label_paths, stop_at=stop_at
        )
        return self._matches(outcome, None)

    def match_file(
        self,
        path: str | PathLike[str],
        *,
        fragments: bool = False,
        header: Header | HeaderFields | None = None,
    ) -> Matches:
        """Match a file of any size, in one streaming pass.

        The content of a pipe is spooled, because it cannot be read again.
        """
        if not stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb") as pipe:
                chunks = iter(partial(pipe.read, PIPE_CHUNK_BYTES), b"")
                return self.match_chunks(chunks, fragments=fragments, header=header)
        if not fragments:
            return self._matches(self._engine.match_file(path, self._fields(header)), None)
        with open(path, "rb") as file:
            try:
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:  # an empty file cannot be mapped
                return self.match(b"", fragments=True)
            with content, memoryview(content) as data:
                return self.match(data, fragments=True, header=header)

    def match_chunks(
        self,
        chunks: Iterable[Buffer],
        *,
        fragments: bool = False,
        header: Header | HeaderFields | None = None,
    ) -> Matches:
        """Match a document that arrives in chunks of any size.

        With ``fragments``, the chunks are buffered, because fragments need a second pass.
        """
        if fragments:
            return self.match(b"".join(chunks), fragments=True, header=header)
        return self._matches(self._engine.match_chunks(chunks, self._fields(header)), None)

    def match_tree(
        self, tree: TreeDocument, *, header: Header | HeaderFields | None = None
    ) -> Matches:
        """Match a document that is held as a tree, such as a
        :class:`~penstock.sync.DocumentTree`.

        The matches are those of its canonical XML. Native engines receive the events of the tree
        itself, so nothing is written or parsed; of the reader's limits, those on depth and names
        apply.

        Examples
        --------
        >>> from penstock import SubscriptionIndex
        >>> from penstock.sync import DocumentTree
        >>> index = SubscriptionIndex()
        >>> index.add("cheap", "//product[price < 10]")
        >>> tree = DocumentTree.read(b"<catalogue><product><price>8</price></product></catalogue>")
        >>> index.matcher().match_tree(tree).ids
        ('cheap',)
        """
        engine, fields = self._engine, self._fields(header)
        if isinstance(engine, NativeMatcherBase):
            return self._matches(engine.match_tree(tree, fields), None)
        return self._matches(engine.match(tree.canonical_xml(), fields), None)

    def match_batch(
        self, documents: BinaryArray, headers: Sequence[Header | HeaderFields] = ()
    ) -> BatchMatches:
        """Match an Arrow array of binary, one document per row; rows may be null.

        ``headers`` has one header per row, or is empty.
        """
        fields = [fields_of(each) for each in headers] if self._tests_headers else []
        return match_batch(self._engine, documents, fields)

    def select(
        self, document: Buffer | Document, ids: Sequence[str]
    ) -> Mapping[str, Sequence[Fragment]]:
        """The fragments that these subscriptions select in a document that matched them.

        Omits subscriptions whose fragments cannot be computed within the work budget of the
        document or in bounded memory, such as keywords with ``OR`` in a document beyond
        :data:`~penstock.matching.limits.KEYWORD_WINDOW_MAX`.
        """
        for name in ids:
            if utf8_size(name) is None:
                raise error("subscription.unknown", f"unknown subscription {name!a}")
        return self._engine.select(bytes_of(document), ids)

    def explain(
        self,
        document: Buffer | Document,
        id: str,  # noqa: A002
        *,
        header: Header | HeaderFields | None = None,
    ) -> Explanation:
        """Explain why a document matches a subscription, or at which step it fails.

        Raises
        ------
        UnknownSubscriptionError
            The snapshot does not contain the subscription.
        """
        explanation = self._engine.explain(bytes_of(document), id)
        if explanation is None:
            raise error("subscription.unknown", f"unknown subscription `{id}`")
        return explanation.with_header(self._engine.where(id), self._fields(header, document))

    def _fields(
        self, header: Header | HeaderFields | None, document: object = None
    ) -> HeaderFields:
        return fields_of(header, document) if self._tests_headers else NO_FIELDS

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.description}>"

    def _matches(self, outcome: Outcome, to_select_in: Buffer | None) -> Matches:
        if to_select_in is None:
            return matches_of(outcome)
        return matches_of(outcome, partial(self._select, to_select_in))

    def _select(self, document: Buffer, ids: Sequence[str]) -> Mapping[str, Sequence[Fragment]]:
        selected = self._engine.select(document, ids)
        if isinstance(document, bytes):
            return selected
        # The file is mapped only while it is matched.
        return {name: tuple(parts) for name, parts in selected.items()}


def matches_of(
    outcome: Outcome,
    select: Callable[[Sequence[str]], Mapping[str, Sequence[Fragment]]] | None = None,
) -> Matches:
    """Converts an engine's outcome to matches, with the fragments that ``select`` returns."""
    selected: Mapping[str, Sequence[Fragment]] = {}
    without_fragments: list[str] = []
    if select is not None and len(outcome.handles):
        ids = outcome.handles.ids()
        try:
            selected = select(ids)
            without_fragments = [name for name in ids if name not in selected]
        except (
            DocumentError
        ) as reason:  # computing fragments can exceed limits that matching does not
            outcome = Outcome(ResolvedIds(), error=reason)
    return Matches(
        outcome.handles,
        counters=partial(_counters_of, outcome),
        errors=() if outcome.error is None else (outcome.error,),
        fragments=selected,
        without_fragments=without_fragments,
        set_aside=outcome.set_aside,
        label_paths=outcome.label_paths,
    )


def _counters_of(outcome: Outcome) -> Counters:
    return Counters.of_one(
        matches=len(outcome.handles), refused=outcome.error is not None, work=outcome.work
    )


def bytes_of(document: Buffer | Document) -> Buffer:
    """The bytes of a document with or without a header.

    Bytes that another thread could change while the document is matched are copied.
    """
    content = document.content if isinstance(document, Document) else document
    if isinstance(content, bytes) or _is_mapped_file(content):
        return content
    if isinstance(content, str):
        raise TypeError("a document is bytes, not str: encode it as its XML declaration says")
    return bytes(content)


def _is_mapped_file(content: Buffer) -> bool:
    """Whether this is a view of a file that is mapped read-only; copying it would read it all."""
    return (
        isinstance(content, memoryview) and content.readonly and isinstance(content.obj, mmap.mmap)
    )
