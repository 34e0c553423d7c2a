"""Cache of open index versions and mappings, one per process.

Spark reuses Python workers for many tasks, and a task matches many batches. Each process opens a
version once and keeps the :data:`~penstock.pipeline.limits.OPEN_VERSIONS_MAX` most recently used.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from penstock.documents import Limits
from penstock.mediation import MappingCache, MappingChooser
from penstock.pipeline.limits import OPEN_VERSIONS_MAX
from penstock.pipeline.sent_index import OpenIndex, SentIndex
from penstock.workspace.index_version_files import StoredVersion
from penstock.workspace.index_versions import IndexLineage, OpenVersion
from penstock.workspace.mapping_versions import read_mappings


class VersionCache:
    """Open index versions, and the lineages they are snapshots of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: OrderedDict[tuple[str, Limits], OpenVersion] = OrderedDict()
        self._lineages: OrderedDict[str, IndexLineage] = OrderedDict()

    def open(self, uri: str, limits: Limits) -> OpenVersion:
        """The version at a URI, opened unless it is in the cache."""
        with self._lock:
            version = self._versions.get((uri, limits))
            if version is None:
                version = self._versions[uri, limits] = self._open(uri, limits)
            self._versions.move_to_end((uri, limits))
            _evict_oldest(self._versions)
            return version

    def _open(self, uri: str, limits: Limits) -> OpenVersion:
        stored = StoredVersion.read(uri)
        lineage = self._lineages.pop(stored.base, None)
        if lineage is None or not lineage.can_reach(stored):
            lineage = IndexLineage.load(stored)
        version = lineage.open(stored, limits)
        self._lineages[stored.base] = lineage
        _evict_oldest(self._lineages)
        return version


class SentIndexCache:
    """Open indexes that were sent with a task, by digest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._indexes: OrderedDict[tuple[str, Limits], OpenIndex] = OrderedDict()

    def open(self, sent: SentIndex, limits: Limits) -> OpenIndex:
        """The index, opened unless it is in the cache."""
        with self._lock:
            index = self._indexes.get((sent.digest, limits))
            if index is None:
                index = self._indexes[sent.digest, limits] = sent.open(limits)
            self._indexes.move_to_end((sent.digest, limits))
            _evict_oldest(self._indexes)
            return index


class MappingVersionCache:
    """Open mapping versions. They share the mappings that were parsed for any of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._choosers: OrderedDict[str, MappingChooser] = OrderedDict()
        self._parsed = MappingCache()

    def open(self, uri: str) -> MappingChooser:
        """The mappings at a URI, read unless they are in the cache."""
        with self._lock:
            chooser = self._choosers.get(uri)
            if chooser is None:
                chooser = self._choosers[uri] = MappingChooser(read_mappings(uri), self._parsed)
            self._choosers.move_to_end(uri)
            _evict_oldest(self._choosers)
            return chooser


_versions = VersionCache()
_indexes = SentIndexCache()
_mappings = MappingVersionCache()


def cached_version(uri: str, *, limits: Limits | None = None) -> OpenVersion:
    """The index version at a URI, from this process's cache.

    Raises
    ------
    IndexFileError
        ``index.missing``, ``index.damaged``, ``index.not-an-index`` or ``index.too-new``.
    """
    return _versions.open(uri, Limits() if limits is None else limits)


def cached_index(sent: SentIndex, *, limits: Limits | None = None) -> OpenIndex:
    """An index that was sent with a task, from this process's cache."""
    return _indexes.open(sent, Limits() if limits is None else limits)


def cached_mappings(uri: str) -> MappingChooser:
    """The mapping version at a URI, from this process's cache.

    Raises
    ------
    IndexFileError
        ``index.missing``, ``index.damaged`` or ``index.too-new``.
    """
    return _mappings.open(uri)


def _evict_oldest(cache: OrderedDict[Any, Any]) -> None:
    while len(cache) > OPEN_VERSIONS_MAX:
        cache.popitem(last=False)
