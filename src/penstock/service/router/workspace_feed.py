"""Connects a router with its workspace: inbox, subscriptions and mappings."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from penstock.language.keywords.tokenizer_options import DEFAULT_TOKENIZER
from penstock.mediation.mapping_table import MappingTable
from penstock.routing import LocalSubscription
from penstock.service.router.engine import WORKSPACE, Job, RouterEngine
from penstock.service.router.limits import (
    DELIVERIES_AT_ONCE,
    INPUT_BYTES_AT_ONCE_MAX,
    JOURNAL_DOCUMENTS_AT_ONCE,
    POLL_SECONDS,
)
from penstock.service.router.service import RouterService
from penstock.workspace import Workspace
from penstock.workspace.inbox import PublishedDocuments, Receipt
from penstock.workspace.router_records import StoredDelivery
from penstock.workspace.stored_subscription import StoredSubscription

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

REFRESH_SECONDS = 60.0
"""Time after which subscriptions are read again although nothing changed: some may have expired."""


def load_workspace(engine: RouterEngine, workspace: Workspace) -> None:
    """Gives a router the subscriptions of its workspace, before it serves anybody.

    At its first start, the documents that are in the inbox already are not routed.
    """
    wanted = workspace_subscriptions(workspace)
    jobs: list[Job] = [partial(RouterEngine.replace_workspace_subscriptions, wanted=wanted)]
    if engine.journal_position is None:
        last = workspace.inbox.last_sequence()
        jobs.append(partial(RouterEngine.journal_reached, position=last))
    results, _ = engine.run(jobs)
    for each in results:
        if each.failure is not None:
            raise each.failure


class WorkspaceFeed:
    """Routes what is published to the inbox, and puts into it what others publish.

    A document that the router itself put into the inbox is not routed again. Its sequence number is
    committed before the inbox is read further, so this holds after ``kill -9`` too.
    """

    def __init__(self, service: RouterService, engine: RouterEngine, workspace: Workspace) -> None:
        self._service = service
        self._engine = engine
        self._workspace = workspace
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-router-workspace")
        self._seen: int | None = None
        self._mappings: MappingTable | None = None
        self._refreshed_at = 0.0
        self.missing = 0
        """Documents of the inbox that could not be read."""

    async def run(self) -> None:
        """Follows the workspace for ever, from where :func:`load_workspace` has brought it."""
        try:
            while True:
                await self._refresh()
                self._service.inbox_changed.clear()
                is_idle = not await self._fill_inbox()
                is_idle &= not await self._follow_inbox()
                if is_idle:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(POLL_SECONDS):
                            await self._service.inbox_changed.wait()
        finally:
            self._thread.shutdown(wait=False)

    async def _call(self, function: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    # Subscriptions and mappings

    async def _refresh(self) -> None:
        """Reads subscriptions and mappings, if they may have changed."""
        now = asyncio.get_running_loop().time()
        counter = await self._call(self._workspace.change_counter)
        if counter == self._seen and now < self._refreshed_at + REFRESH_SECONDS:
            return
        wanted = await self._call(partial(workspace_subscriptions, self._workspace))
        await self._service.commits.submit(
            partial(RouterEngine.replace_workspace_subscriptions, wanted=wanted)
        )
        table = await self._call(self._mapping_table)
        if table != self._mappings:
            await self._service.commits.submit(partial(RouterEngine.change_mappings, table=table))
        self._seen, self._mappings, self._refreshed_at = counter, table, now

    def _mapping_table(self) -> MappingTable:
        return self._workspace.mediation.read().table(unknown_schema="as-is")

    # Documents

    async def _fill_inbox(self) -> bool:
        """Puts documents of others into the inbox; returns whether there were any."""
        page = await self._service.read_deliveries(WORKSPACE, 0, DELIVERIES_AT_ONCE)
        if not page:
            return False
        receipts = await self._call(partial(self._publish, page))
        await self._service.commits.submit(partial(_published, page=page, receipts=receipts))
        logger.debug("%d documents of others are in the inbox", len(page))
        return True

    def _publish(self, page: list[StoredDelivery]) -> list[Receipt]:
        return list(self._workspace.inbox.publish_each(each.document for each in page))

    async def _follow_inbox(self) -> bool:
        """Routes what was published to the inbox; returns whether there was anything."""
        position = self._engine.journal_position
        assert position is not None
        read = await self._call(partial(self._read, position))
        if read.last == position:
            return False
        if read.missing:
            self.missing += read.missing
            logger.warning("%d documents of the inbox cannot be read", read.missing)
        own = self._engine.own_documents(position, read.last)
        for sequence, document in read.documents:
            if sequence not in own:
                await self._service.room()
                self._service.commits.submit(
                    partial(RouterEngine.route_published, sequence=sequence, document=document),
                    len(document.content),
                )
        await self._service.commits.submit(
            partial(RouterEngine.journal_reached, position=read.last)
        )
        return True

    def _read(self, position: int) -> PublishedDocuments:
        return self._workspace.inbox.documents_after(
            position, documents_max=JOURNAL_DOCUMENTS_AT_ONCE, bytes_max=INPUT_BYTES_AT_ONCE_MAX
        )


def workspace_subscriptions(workspace: Workspace) -> dict[str, LocalSubscription]:
    """The subscriptions of a workspace as those of a router, by id.

    The pipeline checks when they start, and selects fragments. A router tokenizes with the default
    options; if those of the workspace differ, it cannot know which documents have the keywords, so
    keyword subscriptions count as everything.
    """
    now = datetime.now(UTC)
    has_default_tokenizer = workspace.tokenizer.read() == DEFAULT_TOKENIZER
    found = {}
    for each in workspace.subscriptions.each():
        if each.paused or (each.expires_at is not None and each.expires_at <= now):
            continue
        id_ = f"{WORKSPACE}{each.id}"
        found[id_] = _local(each, id_, is_exact=has_default_tokenizer or each.kind == "xpath")
    return found


def _local(stored: StoredSubscription, id_: str, *, is_exact: bool) -> LocalSubscription:
    return LocalSubscription(
        id=id_,
        subscriber=WORKSPACE,
        query=stored.query if is_exact else "/*",
        kind=stored.kind if is_exact else "xpath",
        namespaces=stored.namespaces,
        default_namespace=stored.default_namespace,
        where=stored.where,
    )


def _published(
    engine: RouterEngine, *, page: list[StoredDelivery], receipts: list[Receipt]
) -> None:
    for receipt in receipts:
        engine.own_document(receipt.sequence)
    engine.acknowledge_deliveries(WORKSPACE, page[-1].number)
