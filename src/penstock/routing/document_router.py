"""The passage of a document through a router: it is dispatched, ignored or refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

from penstock.documents import DeadLetter, Document
from penstock.documents.failure_report import PROCESS_EXITS, internal_error
from penstock.errors import DocumentError
from penstock.mediation import Mapping as SchemaMapping
from penstock.routing.annotation_decision import AnnotatedDocument
from penstock.routing.annotation_header import DOCUMENT_DIGEST, attestation
from penstock.routing.annotations import DocumentAnnotations
from penstock.routing.document_dispatcher import DocumentDispatcher
from penstock.routing.document_mappings import DocumentMappings
from penstock.routing.duplicate_window import DuplicateWindow
from penstock.routing.interest_index import InterestIndex
from penstock.routing.neighbour_router import NeighbourRouter
from penstock.routing.router_messages import ForwardedDocument
from penstock.routing.router_outputs import DocumentRefused, RouterOutput
from penstock.routing.router_state import RouterCounters
from penstock.routing.routes import DecidedRoutes
from penstock.routing.routing_decision import RoutingDecider


class DocumentRouter:
    """Routes each document once. A failure refuses the document that caused it, and no other.

    Parameters
    ----------
    window
        Recognises documents that arrive again; without it, they are not ignored.
    limits_digest
        Digest of the limits of reading and matching, which annotations have to attest.
    """

    def __init__(
        self,
        *,
        index: InterestIndex,
        decider: RoutingDecider,
        dispatcher: DocumentDispatcher,
        mappings: DocumentMappings,
        window: DuplicateWindow | None,
        counts: RouterCounters,
        limits_digest: bytes,
    ) -> None:
        self._index = index
        self._decider = decider
        self._dispatcher = dispatcher
        self.mappings = mappings
        self._window = window
        self._counts = counts
        self._limits_digest = limits_digest

    def published(self, document: Document, now: datetime) -> list[RouterOutput]:
        """A publisher of this router publishes a document."""
        attested = self._attest(document)
        if self._is_duplicate(document, attested):
            return []
        find_mapping = partial(self.mappings.select, document)
        return self._route(document, attested, find_mapping, now)

    def forwarded(
        self, forwarded: ForwardedDocument, source: NeighbourRouter, now: datetime
    ) -> list[RouterOutput]:
        """A neighbour forwards a document."""
        document, annotations = forwarded.document, forwarded.annotations
        attested = self._attest(document)
        if self._is_duplicate(document, attested):
            return []
        if (
            annotations
            and not forwarded.mapping
            and self._decider.decides_unread
            and source.is_trusted
        ):
            try:
                decided = self._index.pass_on(
                    source.group, annotations, attested, source.announced_digest
                )
            except ValueError:
                decided = None
            except PROCESS_EXITS:
                raise
            except BaseException as failure:
                return [self._failed(document, failure)]
            if decided is not None:
                try:
                    return self._dispatcher.pass_on(document, attested, decided, source, now)
                except PROCESS_EXITS:
                    raise
                except BaseException as failure:
                    self._uncount(decided)
                    return [self._failed(document, failure)]
        find_mapping = partial(self.mappings.named, document, forwarded.mapping)
        return self._route(
            document, attested, find_mapping, now, annotations=annotations, source=source
        )

    def refused(self, document: Document, reason: DocumentError) -> list[RouterOutput]:
        """A document is refused without being read."""
        if self._is_duplicate(document, self._attest(document)):
            return []
        return [self._dead(document, reason)]

    def _attest(self, document: Document) -> bytes:
        return attestation(document.identity, len(document.content), self._limits_digest)

    def _is_duplicate(self, document: Document, attested: bytes) -> bool:
        """Whether a document arrived before; remembers it if not."""
        self._counts.received += 1
        if self._window is not None and not self._window.add(
            document.header.publisher, attested[DOCUMENT_DIGEST]
        ):
            self._counts.duplicates += 1
            return True
        return False

    def _route(
        self,
        document: Document,
        attested: bytes,
        find_mapping: Callable[[], SchemaMapping | None],
        now: datetime,
        *,
        annotations: bytes = b"",
        source: NeighbourRouter | None = None,
    ) -> list[RouterOutput]:
        """Decides where a document goes, and dispatches or refuses it."""
        outputs: list[RouterOutput] = []
        try:
            mapping = find_mapping()
            headers = DocumentAnnotations(attested, len(document.content))
            if annotations and source is not None:
                annotated = AnnotatedDocument(document, annotations, headers, mapping)
                targets = self._decider.decide(annotated, source, outputs)
            else:
                targets = self._decider.read(document, mapping, source)
            if targets.refusal is not None:
                outputs.append(self._dead(document, targets.refusal))
                return outputs
            if targets.set_aside:
                targets = self._dispatcher.recheck(document, targets, outputs)
            outputs += self._dispatcher.dispatch(document, mapping, headers, targets, now)
            if targets.subscriptions or targets.forwards:
                self._counts.matched += 1
            else:
                self._counts.unmatched += 1
                self._counts.false_forwards += source is not None
        except PROCESS_EXITS:
            raise
        except BaseException as failure:
            outputs.append(self._failed(document, failure))
        return outputs

    def _dead(self, document: Document, reason: DocumentError) -> DocumentRefused:
        self._counts.dead += 1
        return DocumentRefused(dead_letter=DeadLetter.of(document, reason))

    def _failed(self, document: Document, failure: BaseException) -> DocumentRefused:
        return self._dead(document, internal_error(failure, document.content))

    def _uncount(self, decided: DecidedRoutes) -> None:
        """A document that the index has counted as passed on is refused."""
        subscriptions, headers = decided
        counts = self._counts
        if subscriptions or headers:
            counts.matched -= 1
        else:
            counts.unmatched -= 1
            counts.false_forwards -= 1
        counts.not_read -= 1
        counts.deliveries -= len(subscriptions)
        counts.forwards -= len(headers)
        counts.annotation_bytes -= sum(len(header) for _, header in headers)
