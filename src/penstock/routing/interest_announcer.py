"""Announces to each neighbour the interest of the router and of its other neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.documents import Document
from penstock.mediation import Mapping as SchemaMapping
from penstock.routing.interest_index import InterestIndex
from penstock.routing.limits import SYNOPSIS_FIRST_DOCUMENTS, SYNOPSIS_GENERATION_DOCUMENTS
from penstock.routing.neighbour_router import NeighbourRouter
from penstock.routing.patterns import Pattern, digest_of_key
from penstock.routing.router_messages import SubscriptionDelta
from penstock.routing.router_outputs import Outputs, SendMessage
from penstock.routing.synopsis import Synopsis


class InterestAnnouncer:
    """Changes the aggregated set of each neighbour, and sends it the difference.

    Parameters
    ----------
    neighbours
        The neighbours by name: a view of the current ones.
    """

    def __init__(self, index: InterestIndex, neighbours: Mapping[str, NeighbourRouter]) -> None:
        self._index = index
        self._neighbours = neighbours
        self._synopsis = Synopsis()

    def announce(
        self,
        added: Mapping[str, Pattern],
        removed: Iterable[str],
        origin: NeighbourRouter | None = None,
    ) -> Outputs:
        """Change what is announced to all neighbours but the origin of the change.

        Parameters
        ----------
        added, removed
            Members of the aggregated sets.
        origin
            The neighbour whose interest changed, if it is one's.
        """
        leaving = list(removed)
        for neighbour in self._neighbours.values():
            if neighbour is not origin:
                yield from self._resample(neighbour)
                yield from self._announced(neighbour, neighbour.announced.change(added, leaving))

    def observe(self, document: Document, mapping: SchemaMapping | None) -> None:
        """Add a document that was read to the synopsis, where one is needed.

        Of a document with a mapping it is unknown what it would be after rewriting.
        """
        if mapping is None and any(each.announced.is_merged for each in self._neighbours.values()):
            self._synopsis.observe([document])

    def _announced(self, neighbour: NeighbourRouter, delta: SubscriptionDelta | None) -> Outputs:
        """Sends a change of what is announced to a neighbour."""
        if delta is None:
            return
        self._index.announce(neighbour.name, map(digest_of_key, delta.added), delta.removed)
        neighbour.announced_digest = bytes.fromhex(delta.after)
        # Whoever is down now synchronises when its link is up.
        if neighbour.is_up:
            yield SendMessage(neighbour=neighbour.name, message=delta)

    def _resample(self, neighbour: NeighbourRouter) -> Outputs:
        """Chooses by the documents read lately what is merged, before something else changes."""
        observed = self._synopsis.observed
        wait = SYNOPSIS_GENERATION_DOCUMENTS if neighbour.sampled_at else SYNOPSIS_FIRST_DOCUMENTS
        if neighbour.announced.is_merged and observed - neighbour.sampled_at >= wait:
            neighbour.sampled_at = observed
            sample = self._synopsis.documents()
            yield from self._announced(neighbour, neighbour.announced.resample(sample))
