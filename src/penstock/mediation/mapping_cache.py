"""Mappings that were read lately, by digest: a router reads each but once."""

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
    """A mapping with its digest, which takes longer to tell than to look up."""

    mapping: Mapping
    digest: str


class MappingCache:
    """Reads mappings, and keeps those that were used last.

    A text that is no mapping is remembered too: a publisher who sends it with each document must
    not have it read each time.

    Parameters
    ----------
    size_max
        How many are kept; past it the one not used for longest is forgotten.
    """

    def __init__(self, size_max: int = MAPPINGS_CACHED_MAX) -> None:
        self._size_max = size_max
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, KnownMapping | MappingError] = OrderedDict()
        self.read_count = 0
        """How many texts were read: once each, as long as the cache holds them all."""

    def __len__(self) -> int:
        return len(self._kept)

    def read(self, text: str, digest: str | None = None) -> KnownMapping:
        """The mapping of a text; ``digest`` is the text's own, where it is known to be.

        Raises
        ------
        MappingError
            The text is no mapping.
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
            # Without what an earlier raising of it has left behind.
            raise found.with_traceback(None)
        return found


def _read(text: str) -> KnownMapping | MappingError:
    try:
        mapping = Mapping.from_text(text)
    except MappingError as reason:
        return reason
    return KnownMapping(mapping, mapping.digest)
