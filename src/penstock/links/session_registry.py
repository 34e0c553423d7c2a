"""The sessions of a server, by peer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.links.limits import LinkLimits
from penstock.links.link_errors import link_error
from penstock.links.session import Session, SessionState

__all__ = ["SessionRegistry"]


class SessionRegistry:
    """Finds the session of a peer, and bounds how many there are.

    Authenticated and unauthenticated peers of one name have different sessions, so that nobody can
    take over a session by claiming a name. A session with unacknowledged messages is never removed.
    The limit is that of unauthenticated peers: the others are bounded by the tokens, and nobody
    can keep them out by claiming many names. If authenticated peers choose their names themselves
    (``bounds_authenticated``), their sessions have the same limit.
    """

    def __init__(
        self,
        *,
        limits: LinkLimits,
        states: Mapping[str, SessionState] | None = None,
        bounds_authenticated: bool = False,
    ) -> None:
        self._limits = limits
        self._bounds_authenticated = bounds_authenticated
        self._sessions: dict[tuple[str, bool], Session] = {
            (peer, True): Session(peer=peer, limits=limits, state=state)
            for peer, state in (states or {}).items()
        }

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions.values())

    def authenticated(self) -> list[Session]:
        """The sessions of authenticated peers."""
        return [session for (_, known), session in self._sessions.items() if known]

    def find(self, peer: str, *, authenticated: bool, session_id: bytes) -> Session:
        """Returns the session of a peer, or a new one.

        Raises
        ------
        PeerLinkError
            There are too many (``link.sessions``), or an unauthenticated peer claims the name of
            one that is connected, without knowing its session (``link.peer-name``).
        """
        key = (peer, authenticated)
        session = self._sessions.get(key)
        if session is None:
            if not authenticated or self._bounds_authenticated:
                self._make_room(authenticated=authenticated)
            session = self._sessions[key] = Session(peer=peer, limits=self._limits)
        elif not authenticated and session.attached and session.id != session_id:
            raise link_error("link.peer-name", f"an unauthenticated peer {peer!r} is connected")
        return session

    def _make_room(self, *, authenticated: bool) -> None:
        alike = [(key, each) for key, each in self._sessions.items() if key[1] is authenticated]
        if len(alike) < self._limits.sessions:
            return
        for key, session in alike:
            if not session.attached and not session.unacknowledged_bytes:
                del self._sessions[key]
                return
        raise link_error("link.sessions", f"there are {len(alike)} sessions")
