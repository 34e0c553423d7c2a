"""What a server and a client have both had, if the server was restored from an older state or has
forgotten the client."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.sync.incarnations import Incarnations
from penstock.sync.limits import PREVIOUS_REPLICAS_MAX
from penstock.sync.messages import CloneRequest, Request, SyncRequest
from penstock.sync.server_state import ClientRecord


class SharedHistory:
    """Compares the versions of clients with those of a server.

    Parameters
    ----------
    incarnations
        Which server decided which version of the document.
    own
        The incarnation of this server; 0 if it cannot have been restored from an older state.
    """

    def __init__(self, incarnations: Incarnations, own: int) -> None:
        self._incarnations = incarnations
        self._own = own

    def has_lost(self, request: Request, current: int) -> bool:
        """Whether the version of a client is not one of the server's, up to the current one."""
        found = self._incarnations.of(request.version)
        is_other = 0 not in (found, request.incarnation) and found != request.incarnation
        return request.version > current or is_other

    def version_with(
        self, request: CloneRequest, current: int, known: ClientRecord | None
    ) -> int | None:
        """The last version that the server and a client, which had a clone before, have both had;
        ``None`` if that is not certain."""
        if request.previous == 0:
            return None
        if self.has_lost(request, current):
            last = self._incarnations.last_version_of(request.incarnation, current)
            if last is None:
                last = 0 if known is None else known.version
            return min(last, request.version - 1)
        is_certain = 0 in (request.version, self._own) or (
            self._incarnations.of(request.version) == request.incarnation != 0
        )
        return request.version if is_certain else None


def has_lost_record(request: SyncRequest, record: ClientRecord) -> bool:
    """Whether the server has lost the client's clone, its subscription, or that statements before
    those that it submits were decided."""
    epoch = record.epoch + (record.next_subscription is not None)
    first = request.statements[0].number if request.statements else 0
    return request.replica != record.replica or request.epoch > epoch or first > record.decided + 1


def previous_replicas(
    request: CloneRequest,
    known: ClientRecord | None,
    records: Iterable[ClientRecord],
    next_replica: int,
) -> tuple[int, ...]:
    """The replicas of a client's earlier clones, whose identities its statements may use.

    If the server has forgotten the client, or lost the clone, it believes the client, unless the
    replica belongs to another one or is not given away yet.
    """
    earlier = () if known is None else (*known.previous_replicas, known.replica)
    if request.previous not in earlier:
        is_taken = any(
            request.previous in (each.replica, *each.previous_replicas)
            for each in records
            if each.client != request.client
        )
        if is_taken or not 0 < request.previous < next_replica:
            return ()
        earlier = (*earlier, request.previous)
    return earlier[-PREVIOUS_REPLICAS_MAX:]
