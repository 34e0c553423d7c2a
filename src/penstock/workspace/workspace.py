"""A workspace: a folder with everything that Penstock keeps, used by many processes at once."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from penstock.documents import Document
from penstock.workspace import database
from penstock.workspace.current_version import VersionKeeper
from penstock.workspace.database import Database
from penstock.workspace.dead_letters import DeadLetters
from penstock.workspace.file_locks import holding
from penstock.workspace.inbox import Inbox, Published
from penstock.workspace.mailbox import Mailbox
from penstock.workspace.mediation_store import MediationStore
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.status import Status, counts_of, deliveries_by_subscriber, strays_of
from penstock.workspace.subscription_store import SubscriptionStore

DATABASE: Final = "penstock.sqlite"

FOLDERS: Final = (
    "inbox",
    "staging",
    "indexes",
    "mappings",
    "tables",
    "checkpoints",
    "batches",
)
"""What is below a workspace; ``tables`` holds the Delta tables."""


class Workspace:
    """A folder of subscriptions, documents and deliveries.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.documents import Document, Header
    >>> from penstock.workspace import StoredSubscription, Workspace
    >>> with tempfile.TemporaryDirectory() as folder, Workspace.create(folder) as workspace:
    ...     workspace.subscriptions.add(StoredSubscription(subscriber="anna", query="/a")).id
    ...     workspace.publish([Document(b"<a/>", Header(publisher="me"))])
    'anna-1'
    Published(new=1, known=0)
    """

    def __init__(self, path: Path, opened: Database) -> None:
        self.path = path
        for name in FOLDERS:
            (path / name).mkdir(exist_ok=True)
        self._database = opened
        self._versions = VersionKeeper(opened, str(self.indexes))
        self.subscriptions = SubscriptionStore(opened)
        """Who subscribes to what."""
        self.mediation = MediationStore(opened, str(self.mappings))
        """Whose documents are of which schema, and the mappings for them."""
        self.inbox = Inbox(opened, path / "inbox", path / "staging")
        """Where documents wait for the pipeline."""
        self.inbox.recover()
        self.dead_letters = DeadLetters(opened, self.inbox, self.tables)
        """What was refused, and what was done about it."""

    @classmethod
    def create(cls, path: str | Path) -> Workspace:
        """Make a new workspace; other files in the folder do not matter.

        Raises
        ------
        WorkspaceError
            ``workspace.exists``
        """
        folder = Path(path).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder, database.create(folder / DATABASE))

    @classmethod
    def open(cls, path: str | Path) -> Workspace:
        """Open a workspace; one of an older version is brought up to date.

        Raises
        ------
        WorkspaceError
            ``workspace.missing``, ``workspace.too-new`` or ``workspace.damaged``.
        """
        folder = Path(path).absolute()
        return cls(folder, database.open_existing(folder / DATABASE))

    def close(self) -> None:
        """Let go of the SQLite file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def mailbox(self, subscriber: str) -> Mailbox:
        """What was delivered to a subscriber."""
        return Mailbox(self.tables, subscriber)

    def status(self) -> Status:
        """What waits, what became of what came, who got how much."""
        counts = counts_of(self.tables)
        last = counts.pop("last_sequence")
        mailboxes = deliveries_by_subscriber(self.tables)
        subscriptions, paused = self.subscriptions.count()
        mediator = self.mediation.read()
        return Status(
            subscriptions=subscriptions,
            paused=paused,
            domains={each.domain: each.version for each in mediator.global_schemas},
            local_schemas=len(mediator.local_schemas),
            waiting=self.inbox.count_after(last),
            **counts,
            strays=strays_of(self.tables),
            deliveries=sum(mailboxes.values()),
            mailboxes=mailboxes,
        )

    @property
    def indexes(self) -> Path:
        """The folder of index versions."""
        return self.path / "indexes"

    @property
    def mappings(self) -> Path:
        """The folder of the mappings of each moment."""
        return self.path / "mappings"

    @property
    def checkpoints(self) -> Path:
        """The folder of Spark's checkpoints."""
        return self.path / "checkpoints"

    @property
    def batches(self) -> Path:
        """The folder in which the pipeline records what each batch uses."""
        return self.path / "batches"

    @property
    def tables(self) -> Tables:
        """The Delta tables that the pipeline fills."""
        return Tables(str(self.path / "tables"))

    def lock(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Hold a lock of this workspace.

        Raises
        ------
        WorkspaceError
            ``workspace.running``: another process holds it, and ``wait`` is false.
        """
        return holding(self.path / f"{name}.lock", wait=wait)

    def current_version(self) -> str:
        """The URI of the index version of the present subscriptions.

        It is written first if something changed: in a moment after few changes, in seconds a
        million subscriptions after many. Paused subscriptions are not in it.
        """
        return self._versions.current()

    def publish(self, documents: Iterable[Document]) -> Published:
        """Put documents into the inbox; what was published before is the same document.

        Raises
        ------
        WorkspaceError
            ``workspace.full``: the disk has no room. Publishing the same again goes on where
            it stopped.
        """
        return self.inbox.publish(documents)
