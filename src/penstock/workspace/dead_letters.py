"""Dead letters: documents that were refused, why, and what was done about it since.

The pipeline writes a refused document into the Delta table of dead letters. Replaying publishes it
once more, under its old identity and a new place in the order; SQLite remembers which place
stands for which. What came of a replay, the tables tell: it is among the documents, among the dead
letters again, or still waits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import pyarrow.compute as pc

from penstock.documents import Document, Header
from penstock.errors import Where, error
from penstock.workspace.database import Database
from penstock.workspace.inbox import Inbox
from penstock.workspace.limits import CONTENTS_AT_ONCE
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.table_reader import rows_of, sequences_in
from penstock.workspace.table_schemas import DEAD_LETTERS
from penstock.workspace.timestamps import loaded, now, stored


class Outcome(StrEnum):
    """What became of a dead letter."""

    OPEN = "open"
    """Nothing was done about it yet."""
    WAITING = "waiting"
    """It was replayed, and the pipeline has not come to it yet."""
    ACCEPTED = "accepted"
    """It was replayed, and is a document now."""
    REFUSED_AGAIN = "refused again"
    """It was replayed, and is another dead letter now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A document that was refused."""

    sequence: int
    """Its place in the order of publishing, which names the dead letter."""
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
    outcome: Outcome = Outcome.OPEN
    replay: int | None = None
    """The place under which it was published again."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happened to a dead letter."""

    what: str
    sequence: int
    at: datetime | None
    """When; of an acceptance only that it happened is known."""


class DeadLetters:
    """The dead letters of a workspace."""

    def __init__(self, database: Database, inbox: Inbox, tables: Tables) -> None:
        self._database = database
        self._inbox = inbox
        self._tables = tables

    def all(self, code: str | None = None) -> list[Letter]:
        """All dead letters, or those of one error code, in publishing order."""
        where = None if code is None else pc.field("code") == code
        return self._letters(where)

    def get(self, name: str) -> Letter:
        """A dead letter by its number; by a document's identity, its last.

        Raises
        ------
        WorkspaceError
            ``dead-letter.unknown``
        """
        where = pc.field("document") == name
        if name.isdecimal():
            where = where | (pc.field("sequence") == int(name))
        found = self._letters(where)
        if not found:
            raise error("dead-letter.unknown", f"there is no dead letter `{name}`")
        return found[-1]

    def content(self, letter: Letter) -> bytes:
        """The document's bytes."""
        return self._contents([letter.sequence])[letter.sequence]

    def history(self, letter: Letter) -> list[Step]:
        """What happened to the document, from its first refusal on."""
        refusals = self._letters(pc.field("document") == letter.document)
        refused = {each.sequence: each for each in refusals}
        replays = self._replays()
        replay_of = {replay.sequence: of for of, replay in replays.items()}
        at = letter.sequence
        while at in replay_of:
            at = replay_of[at]
        steps: list[Step] = []
        while True:
            if at in refused:
                steps.append(Step(f"refused: {refused[at].code}", at, refused[at].refused_at))
            replay = replays.get(at)
            if replay is None:
                break
            what = "replayed with another document" if replay.fixed else "replayed"
            steps.append(Step(what, replay.sequence, replay.at))
            at = replay.sequence
        if sequences_in(self._tables.documents, [at]):
            steps.append(Step("accepted", at, None))
        return steps

    def replay(
        self,
        letters: Sequence[Letter],
        fixed: bytes | None = None,
        *,
        fields: Mapping[str, str] | None = None,
    ) -> list[Letter]:
        """Publish dead letters once more, those that were not yet.

        Parameters
        ----------
        letters
            Which.
        fixed
            What to publish in place of the refused bytes, under the same identity.
        fields
            Fields of the header that are added, or take the place of what was there.

        Returns
        -------
        Those that were published now; they wait for the pipeline.
        """
        done: list[Letter] = []
        for start in range(0, len(letters), CONTENTS_AT_ONCE):
            done += self._replay(letters[start : start + CONTENTS_AT_ONCE], fixed, fields or {})
        return done

    def _replay(
        self, letters: Sequence[Letter], fixed: bytes | None, fields: Mapping[str, str]
    ) -> list[Letter]:
        contents = {} if fixed is not None else self._contents([each.sequence for each in letters])
        at = stored(now())
        with self._database.writing() as connection:
            taken = {of for (of,) in connection.execute("SELECT replay_of FROM replays")}
            fresh = [letter for letter in letters if letter.sequence not in taken]
            if not fresh:
                return []
            first = self._inbox.stage(
                connection,
                [
                    (
                        letter.document,
                        Document(
                            contents[letter.sequence] if fixed is None else fixed,
                            _header(letter, fields),
                        ),
                    )
                    for letter in fresh
                ],
            )
            connection.executemany(
                "INSERT INTO replays (sequence, replay_of, identity, fixed, replayed_at)"
                " VALUES (?, ?, ?, ?, ?)",
                [
                    (
                        first + place,
                        letter.sequence,
                        letter.document,
                        fixed is not None,
                        at,
                    )
                    for place, letter in enumerate(fresh)
                ],
            )
        self._inbox.deliver()
        return [
            replace(letter, outcome=Outcome.WAITING, replay=first + place)
            for place, letter in enumerate(fresh)
        ]

    def _letters(self, where: pc.Expression | None) -> list[Letter]:
        columns = [name for name in DEAD_LETTERS.names if name not in ("content", "batch")]
        found = rows_of(self._tables.dead_letters, where, columns)
        if found is None:
            return []
        rows: list[dict[str, Any]] = found.sort_by("sequence").to_pylist()
        replays = self._replays()
        again = {replays[row["sequence"]].sequence for row in rows if row["sequence"] in replays}
        refused = sequences_in(self._tables.dead_letters, again)
        accepted = sequences_in(self._tables.documents, again)
        letters = []
        for row in rows:
            replay = replays.get(row["sequence"])
            outcome = Outcome.OPEN
            if replay is not None:
                outcome = Outcome.WAITING
                if replay.sequence in refused:
                    outcome = Outcome.REFUSED_AGAIN
                elif replay.sequence in accepted:
                    outcome = Outcome.ACCEPTED
            letters.append(_letter(row, outcome, None if replay is None else replay.sequence))
        return letters

    def _contents(self, sequences: Collection[int]) -> dict[int, bytes]:
        found = rows_of(
            self._tables.dead_letters,
            pc.field("sequence").isin(sorted(sequences)),
            ["sequence", "content"],
        )
        assert found is not None, "whoever has a letter read it from the table"
        return {row["sequence"]: row["content"] for row in found.to_pylist()}

    def _replays(self) -> dict[int, _Replay]:
        """Replays by the dead letter that they are of."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT replay_of, sequence, fixed, replayed_at FROM replays"
            ).fetchall()
        return {of: _Replay(sequence, bool(fixed), loaded(at)) for of, sequence, fixed, at in rows}


@dataclass(frozen=True, slots=True)
class _Replay:
    sequence: int
    fixed: bool
    at: datetime | None


def _letter(row: Mapping[str, Any], outcome: Outcome, replay: int | None) -> Letter:
    where = None
    if row["line"] is not None:
        where = Where(row["offset"], row["line"], row["column"])
    return Letter(
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
        outcome=outcome,
        replay=replay,
    )


def _header(letter: Letter, fields: Mapping[str, str]) -> Header:
    return Header(
        publisher=letter.publisher, schema=letter.schema, fields={**letter.fields, **fields}
    )
