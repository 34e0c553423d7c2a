"""Patches of document trees: applied, or refused; a tree that accepts one can be written."""

from __future__ import annotations

import contextlib

from penstock.errors import PenstockError
from penstock.sync import DocumentTree, SyncSubscription

DICTIONARY = None


def seeds() -> list[bytes]:
    """Snapshots, and patches between two versions."""
    tree = DocumentTree.read(b"<?p d?><a k='v'>x<b xmlns:p='urn:p'><p:c/></b><!--n--></a>")
    found = [tree.snapshot()]
    everything = SyncSubscription("/*").compiled
    before = tree.view(everything)
    tree.set_version(1)
    tree.set_value("0.3", "y")
    tree.delete("0.4")
    found.append(tree.patch(before, tree.view(everything), since=0) or b"")
    found.append(tree.patch(tree.empty_view(), tree.view(everything), since=1) or b"")
    return found


def run_input(data: bytes) -> None:
    """Apply a patch to an empty tree and to one that it may fit."""
    for tree in (DocumentTree(), DocumentTree.read(b"<a k='v'>x<b/><!--n--></a>")):
        with contextlib.suppress(PenstockError):
            tree.apply_patch(data)
            tree.canonical_xml()
            again = DocumentTree.from_snapshot(tree.snapshot())
            assert again.canonical_xml() == tree.canonical_xml()
