"""An LRU cache of parsed mappings by digest."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass

from penstock.errors import MappingError
from penstock.mediation.limits import MAPPINGS_CACHED_MAX
from penstock.mediation.mapping import Mapping


@dataclass(frozen=True, slots=True)
class KnownMapping:
    """A mapping with its precomputed digest."""

    mapping: Mapping
    digest: str


class MappingCache:
    """Parses mappings and caches the most recently used.

    Invalid texts are cached, too, so that a publisher who sends one with each document does not
    cause repeated parsing.

    Parameters
    ----------
    size_max
        Number of cached entries; beyond it, the least recently used one is evicted.
    """

    def __init__(self, size_max: int = MAPPINGS_CACHED_MAX) -> None:
        self._size_max = size_max
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, KnownMapping | MappingError] = OrderedDict()
        self.read_count = 0
        """Number of parsed texts, for tests and metrics."""

    def __len__(self) -> int:
        return len(self._kept)

    def read(self, text: str, digest: str | None = None) -> KnownMapping:
        """The mapping of a text; ``digest`` is the digest of the text, if known.

        Raises
        ------
        MappingError
            The text is not a valid mapping.
        """
        key = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" if digest is None else digest
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                found = self._kept[key] = _read(text)
                self.read_count += 1
            self._kept.move_to_end(key)
            if len(self._kept) > self._size_max:
                self._kept.popitem(last=False)
        if isinstance(found, MappingError):
            # Clears the traceback of an earlier raise.
            raise found.with_traceback(None)
        return found


def _read(text: str) -> KnownMapping | MappingError:
    try:
        mapping = Mapping.from_text(text)
    except MappingError as reason:
        return reason
    return KnownMapping(mapping, mapping.digest)
