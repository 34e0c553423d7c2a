"""Dead letters: refused documents, the reason, and their replays.

The pipeline writes a refused document to the Delta table of dead letters. A replay publishes it
again, under the same identity and a new sequence number; the inbox records both numbers. The
outcome of a replay follows from the tables: the new number is in the documents table, in the dead
letters, or still in the inbox.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import pyarrow.compute as pc

from penstock.documents import Document, Header
from penstock.errors import Where, error
from penstock.workspace.inbox import Inbox
from penstock.workspace.limits import CONTENTS_AT_ONCE
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.table_reader import document_condition, read_rows, sequences_in
from penstock.workspace.table_schemas import DEAD_LETTERS

FILE_FIELD: Final = "file"
"""The header field that names the file of a document; `publish` and the readers of files set it."""


class ReplayOutcome(StrEnum):
    """The state of a dead letter."""

    OPEN = "open"
    """Not replayed."""
    WAITING = "waiting"
    """Replayed, but not processed by the pipeline yet."""
    ACCEPTED = "accepted"
    """Replayed, and accepted."""
    REFUSED_AGAIN = "refused again"
    """Replayed, and refused: there is another dead letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A refused document."""

    sequence: int
    """The document's sequence number, which identifies the dead letter."""
    document: str
    publisher: str
    schema: str
    fields: Mapping[str, str]
    published_at: datetime
    code: str
    message: str
    where: Where | None
    hint: str
    refused_at: datetime
    path: str | None = None
    """The open elements at the position, from the root down; ``None`` if unknown."""
    report: str | None = None
    """What to send to the maintainers, as JSON, for the codes ``internal.*``."""
    outcome: ReplayOutcome = ReplayOutcome.OPEN
    replay: int | None = None
    """The sequence number of its replay."""

    @property
    def file(self) -> str | None:
        """The name of the published file; ``None`` if the document was not read from a file."""
        return self.fields.get(FILE_FIELD)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An event in the history of a dead letter."""

    what: str
    sequence: int
    at: datetime | None
    """``None`` for an acceptance, whose time is not recorded."""


class DeadLetters:
    """The dead letters of a workspace."""

    def __init__(self, inbox: Inbox, tables: Tables) -> None:
        self._inbox = inbox
        self._tables = tables

    def all(self, code: str | None = None) -> list[DeadLetter]:
        """All dead letters, or those with one error code, in publishing order."""
        return self._find(None if code is None else pc.field("code") == code)

    def get(self, name: str) -> DeadLetter:
        """A dead letter by its number, or the last one with a document's identity.

        Raises
        ------
        WorkspaceError
            ``dead-letter.unknown``, or ``document.ambiguous``: several have the number.
        """
        condition = document_condition(name)
        found = [] if condition is None else self._find(condition)
        if not found:
            raise error("dead-letter.unknown", f"there is no dead letter `{name}`")
        named = [each for each in found if each.document == name] or found
        identities = sorted({each.document for each in named})
        if len(identities) > 1:
            raise error(
                "document.ambiguous",
                f"{len(identities)} dead letters have the number {name}, such as"
                f" `{identities[0]}` and `{identities[1]}`",
            )
        return named[-1]

    def content(self, letter: DeadLetter) -> bytes:
        """The document's bytes."""
        return self._contents([letter])[letter.document, letter.sequence]

    def history(self, letter: DeadLetter) -> list[HistoryEntry]:
        """The refusals and replays of the document, oldest first."""
        refusals = self._find(pc.field("document") == letter.document)
        refused = {each.sequence: each for each in refusals}
        replays = self._inbox.replays()
        replay_of = {replay.sequence: of for (_, of), replay in replays.items()}
        sequence = letter.sequence
        while sequence in replay_of:
            sequence = replay_of[sequence]
        entries: list[HistoryEntry] = []
        while True:
            refusal = refused.get(sequence)
            if refusal is not None:
                what = f"refused: {refusal.code}"
                entries.append(HistoryEntry(what, sequence, refusal.refused_at))
            replay = replays.get((letter.document, sequence))
            if replay is None:
                break
            what = "replayed with another document" if replay.fixed else "replayed"
            entries.append(HistoryEntry(what, replay.sequence, replay.at))
            sequence = replay.sequence
        if sequences_in(self._tables.documents, [sequence]):
            entries.append(HistoryEntry("accepted", sequence, None))
        return entries

    def replay(
        self,
        letters: Sequence[DeadLetter],
        fixed: bytes | None = None,
        *,
        fields: Mapping[str, str] | None = None,
    ) -> list[DeadLetter]:
        """Publish dead letters again, except those that were replayed before.

        Parameters
        ----------
        letters
            The dead letters.
        fixed
            Bytes to publish instead of the refused ones, under the same identity.
        fields
            Header fields to add or replace.

        Returns
        -------
        The dead letters that were published, now waiting for the pipeline.
        """
        done: list[DeadLetter] = []
        for start in range(0, len(letters), CONTENTS_AT_ONCE):
            done += self._replay(letters[start : start + CONTENTS_AT_ONCE], fixed, fields or {})
        return done

    def _replay(
        self, letters: Sequence[DeadLetter], fixed: bytes | None, fields: Mapping[str, str]
    ) -> list[DeadLetter]:
        contents = {} if fixed is not None else self._contents(letters)
        replays = self._inbox.republish(
            [
                (
                    letter.document,
                    Document(
                        contents[letter.document, letter.sequence] if fixed is None else fixed,
                        _header(letter, fields),
                    ),
                )
                for letter in letters
            ],
            [(letter.sequence, fixed is not None) for letter in letters],
        )
        return [
            replace(letter, outcome=ReplayOutcome.WAITING, replay=replays[key].sequence)
            for letter in letters
            if (key := (letter.document, letter.sequence)) in replays
        ]

    def _find(self, condition: pc.Expression | None) -> list[DeadLetter]:
        columns = [name for name in DEAD_LETTERS.names if name not in ("content", "batch")]
        found = read_rows(self._tables.dead_letters, condition, columns, schema=DEAD_LETTERS)
        if found is None:
            return []
        rows: list[dict[str, Any]] = found.sort_by(
            [("published_at", "ascending"), ("sequence", "ascending"), ("document", "ascending")]
        ).to_pylist()
        replays = self._inbox.replays()
        keys = [(row["document"], row["sequence"]) for row in rows]
        replayed = {replays[key].sequence for key in keys if key in replays}
        refused = sequences_in(self._tables.dead_letters, replayed)
        accepted = sequences_in(self._tables.documents, replayed)
        letters = []
        for row, key in zip(rows, keys, strict=True):
            replay = replays.get(key)
            outcome = ReplayOutcome.OPEN
            if replay is not None:
                outcome = ReplayOutcome.WAITING
                if replay.sequence in refused:
                    outcome = ReplayOutcome.REFUSED_AGAIN
                elif replay.sequence in accepted:
                    outcome = ReplayOutcome.ACCEPTED
            letters.append(_from_row(row, outcome, None if replay is None else replay.sequence))
        return letters

    def _contents(self, letters: Collection[DeadLetter]) -> dict[tuple[str, int], bytes]:
        """The bytes of dead letters, by identity and number."""
        sequences = sorted({each.sequence for each in letters})
        found = read_rows(
            self._tables.dead_letters,
            pc.field("sequence").isin(sequences),
            ["document", "sequence", "content"],
        )
        assert found is not None, "a dead letter was read from this table"
        contents: dict[tuple[str, int], bytes] = {}
        for row in found.to_pylist():
            key = row["document"], row["sequence"]
            if contents.setdefault(key, row["content"]) != row["content"]:
                raise error(
                    "document.ambiguous",
                    f"there are several dead letters `{key[0]}` with the number {key[1]}",
                )
        return contents


def _from_row(row: Mapping[str, Any], outcome: ReplayOutcome, replay: int | None) -> DeadLetter:
    where = None
    if row["line"] is not None:
        where = Where(row["offset"], row["line"], row["column"])
    return DeadLetter(
        sequence=row["sequence"],
        document=row["document"],
        publisher=row["publisher"],
        schema=row["schema"],
        fields=dict(row["fields"]),
        published_at=row["published_at"],
        code=row["code"],
        message=row["message"],
        where=where,
        hint=row["hint"],
        refused_at=row["refused_at"],
        path=row["path"],
        report=row["report"],
        outcome=outcome,
        replay=replay,
    )


def _header(letter: DeadLetter, fields: Mapping[str, str]) -> Header:
    return Header(
        publisher=letter.publisher, schema=letter.schema, fields={**letter.fields, **fields}
    )
