"""A workspace: a folder with all stored state, which several processes may use at once."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from penstock.documents import Document
from penstock.errors import error
from penstock.workspace import database
from penstock.workspace.database import Database
from penstock.workspace.dead_letters import DeadLetters
from penstock.workspace.file_locks import file_lock
from penstock.workspace.inbox import LOCK, Inbox, Published
from penstock.workspace.layout import (
    DATABASE,
    FOLDERS,
    LOG,
    ROUTER_MARK,
    ROUTER_STATE,
    WorkspaceLayout,
)
from penstock.workspace.mailbox import Mailbox
from penstock.workspace.mailbox_cursors import CursorStore
from penstock.workspace.private_files import create_private, make_private, make_private_folder
from penstock.workspace.published_identities import FILE
from penstock.workspace.retention_policy import RetentionStore
from penstock.workspace.status import (
    Status,
    deliveries_by_subscriber,
    sum_counts,
    sum_fragments_omitted,
    sum_set_aside,
    sum_strays,
)

if TYPE_CHECKING:
    # These import the packages of matching and mediation, which a reader of mailboxes does not
    # need: 20 MB, and most of the time in which a command starts.
    from penstock.workspace.current_version import CurrentVersion
    from penstock.workspace.mediation_store import MediationStore
    from penstock.workspace.subscription_store import SubscriptionStore
    from penstock.workspace.tokenizer_settings import TokenizerStore

PRIVATE_SINCE: Final = 4
"""The format since which a workspace is created without access for others."""

_PRIVATE_NAMES: Final = frozenset(
    [
        *FOLDERS,
        *(
            f"{name}{suffix}"
            for name in (DATABASE, FILE, ROUTER_STATE)
            for suffix in ("", "-wal", "-shm")
        ),
        *(LOG, ROUTER_MARK, "run.lock", "backfill.lock", LOCK),
    ]
)


class Workspace(WorkspaceLayout):
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

    def __init__(self, path: Path, opened: Database, *, read_only: bool = False) -> None:
        super().__init__(path)
        if not read_only:
            for name in FOLDERS:
                make_private_folder(path / name)
        self._database = opened
        self.inbox = Inbox(path, read_only=read_only)
        """Published documents that wait for the pipeline."""
        if not read_only:
            self.inbox.recover(lambda: sum_counts(self.tables)["last_sequence"])
        self.dead_letters = DeadLetters(self.inbox, self.tables)
        """Refused documents and their replays."""
        self.retention = RetentionStore(opened)
        """How long documents, deliveries and dead letters are kept."""

    def __repr__(self) -> str:
        return f"<Workspace: {self.path}>"

    @cached_property
    def subscriptions(self) -> SubscriptionStore:
        """The subscriptions."""
        from penstock.workspace.subscription_store import SubscriptionStore  # noqa: PLC0415

        return SubscriptionStore(self._database)

    @cached_property
    def mediation(self) -> MediationStore:
        """Global schemas, local schemas and their mappings."""
        from penstock.workspace.mediation_store import MediationStore  # noqa: PLC0415

        return MediationStore(self._database, str(self.mappings))

    @cached_property
    def tokenizer(self) -> TokenizerStore:
        """How keyword queries and documents are tokenized."""
        from penstock.workspace.tokenizer_settings import TokenizerStore  # noqa: PLC0415

        return TokenizerStore(self._database)

    @cached_property
    def _current_version(self) -> CurrentVersion:
        from penstock.workspace.current_version import CurrentVersion  # noqa: PLC0415

        return CurrentVersion(self._database, str(self.indexes))

    @classmethod
    def create(cls, path: str | Path) -> Workspace:
        """Create a workspace in a folder, which may contain other files.

        Raises
        ------
        WorkspaceError
            ``workspace.exists``
        """
        folder = Path(path).absolute()
        make_private_folder(folder)
        if not (folder / DATABASE).exists():
            create_private(folder / DATABASE)
        return cls(folder, database.create(folder / DATABASE))

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> Workspace:
        """Open a workspace. One of an older version is migrated.

        Parameters
        ----------
        path
            The folder.
        read_only
            Whether mailboxes, status and other data are only read. Then no writes are needed, so a
            full disk or a file system that is mounted read-only do not matter.

        Raises
        ------
        WorkspaceError
            ``workspace.missing``, ``workspace.too-new`` or ``workspace.damaged``.
        """
        folder = Path(path).absolute()
        opened, old_format = database.open_existing(folder / DATABASE, read_only=read_only)
        if not (folder / FILE).is_file():  # SQLite would create an empty one
            opened.close()
            raise error("workspace.damaged", f"{folder / FILE} is missing")
        if old_format < PRIVATE_SINCE:
            make_private(folder, _PRIVATE_NAMES)
        return cls(folder, opened, read_only=read_only)

    def close(self) -> None:
        """Close the databases."""
        self.inbox.close()
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
        """The deliveries of a subscriber."""
        return Mailbox(self.tables, subscriber, CursorStore(self._database))

    def status(self) -> Status:
        """Totals over subscriptions, documents and deliveries."""
        counts = sum_counts(self.tables)
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
            damaged=tuple(self.inbox.damaged()),
            **counts,
            strays=sum_strays(self.tables),
            set_aside=sum_set_aside(self.tables),
            fragments_omitted=sum_fragments_omitted(self.tables),
            deliveries=sum(mailboxes.values()),
            mailboxes=mailboxes,
        )

    def lock(self, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
        """Hold a named lock of this workspace.

        Raises
        ------
        WorkspaceError
            ``workspace.running``: another process holds the lock, and ``wait`` is false.
        """
        return file_lock(self.path / f"{name}.lock", wait=wait)

    def change_counter(self) -> int:
        """A number that differs once another process has changed subscriptions or mappings.

        Only the values that one thread gets can be compared.
        """
        return self._database.change_counter()

    def current_version(self) -> str:
        """The URI of the index version of the current subscriptions, without paused ones.

        It is written first if subscriptions or tokenizer options changed: instantly after a few
        subscriptions, in seconds for a million subscriptions after many, or after options.
        """
        return self._current_version.uri()

    def last_version(self) -> str | None:
        """The URI of the last index version that was written; ``None`` if there is none."""
        return self._current_version.last()

    def publish(self, documents: Iterable[Document]) -> Published:
        """Publish documents to the inbox; those published before are skipped.

        Raises
        ------
        WorkspaceError
            ``workspace.full``: the disk is full. Publishing the same documents again resumes.
        """
        return self.inbox.publish(documents)
