"""The retention policy of a workspace: how long its rows are kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta

from penstock.errors import error
from penstock.workspace.database import Database
from penstock.workspace.limits import RETENTION_DAYS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """The age up to which rows are kept; ``None`` keeps them forever."""

    documents: timedelta | None = None
    """Since a document was published. Its deliveries then state that it was removed."""
    deliveries: timedelta | None = None
    """Since a delivery was committed."""
    dead_letters: timedelta | None = None
    """Since a document was refused."""

    @classmethod
    def uniform(cls, age: timedelta) -> RetentionPolicy:
        """Keep everything up to the same age."""
        return cls(documents=age, deliveries=age, dead_letters=age)

    def ages(self) -> dict[str, timedelta | None]:
        """The ages by kind of row."""
        return asdict(self)

    def longest(self) -> timedelta | None:
        """The largest age; ``None`` if some rows are kept forever."""
        ages = [age for age in self.ages().values() if age is not None]
        return max(ages) if len(ages) == len(self.ages()) else None


class RetentionStore:
    """The retention policy that is stored in a workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> RetentionPolicy:
        """The stored policy; what was never set is kept forever."""
        with self._database.read_transaction() as connection:
            rows = connection.execute("SELECT kind, seconds FROM retention").fetchall()
        return RetentionPolicy(**{kind: timedelta(seconds=seconds) for kind, seconds in rows})

    def write(self, policy: RetentionPolicy) -> None:
        """Replace the stored policy. ``penstock run`` applies it from then on.

        Raises
        ------
        WorkspaceError
            ``workspace.retention``: an age is negative or too large.
        """
        ages = {kind: age for kind, age in policy.ages().items() if age is not None}
        for kind, age in ages.items():
            if not timedelta() <= age <= timedelta(days=RETENTION_DAYS_MAX):
                raise error(
                    "workspace.retention",
                    f"{kind}: {age.days} days is not between 0 and {RETENTION_DAYS_MAX}",
                )
        with self._database.write_transaction() as connection:
            connection.execute("DELETE FROM retention")
            connection.executemany(
                "INSERT INTO retention (kind, seconds) VALUES (?, ?)",
                [(kind, int(age.total_seconds())) for kind, age in ages.items()],
            )
