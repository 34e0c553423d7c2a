"""What a client can undo, and what it can do again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from penstock.errors import error
from penstock.sync.client_state import UndoableStatement
from penstock.sync.limits import UNDO_STATEMENTS_MAX


class UndoHistory:
    """Statements of a client: those that can be undone, and undone ones that can be done again.

    An entry stays until what it is for has succeeded, so that a refused undo can be repeated.
    """

    def __init__(
        self,
        undoable: Iterable[UndoableStatement] = (),
        redoable: Iterable[UndoableStatement] = (),
    ) -> None:
        self._undoable = list(undoable)
        self._redoable = list(redoable)

    @property
    def undoable(self) -> Sequence[UndoableStatement]:
        """The statements that can be undone, the last one first to be."""
        return tuple(self._undoable)

    @property
    def redoable(self) -> Sequence[UndoableStatement]:
        """The undone statements, the last one first to be done again."""
        return tuple(self._redoable)

    @property
    def last(self) -> UndoableStatement:
        """The statement to undo.

        Raises
        ------
        SyncError
            ``sync.undo``: there is none.
        """
        if not self._undoable:
            raise error("sync.undo", "there is no statement to undo")
        return self._undoable[-1]

    @property
    def last_undone(self) -> UndoableStatement:
        """The statement to do again.

        Raises
        ------
        SyncError
            ``sync.undo``: there is none.
        """
        if not self._redoable:
            raise error("sync.undo", "there is nothing to do again")
        return self._redoable[-1]

    def made(self, statement: UndoableStatement) -> None:
        """A new statement was made; what was undone before cannot be done again."""
        self._redoable.clear()
        self._remember(statement)

    def undone(self, redo: UndoableStatement) -> None:
        """The last statement was undone; this does it again."""
        del self._undoable[-1]
        self._redoable.append(redo)

    def redone(self, undo: UndoableStatement) -> None:
        """The last undone statement was done again; this undoes it."""
        del self._redoable[-1]
        self._remember(undo)

    def _remember(self, statement: UndoableStatement) -> None:
        self._undoable.append(statement)
        del self._undoable[:-UNDO_STATEMENTS_MAX]

    def forget_numbers(self, lost: Collection[int]) -> None:
        """The client's statements are numbered anew; ``lost`` ones have not happened."""
        for entries in (self._undoable, self._redoable):
            entries[:] = [replace(each, number=0) for each in entries if each.number not in lost]
