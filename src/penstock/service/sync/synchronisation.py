"""Brings a working directory up to date with its server."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.errors import error
from penstock.service.sync.http_client import SyncConnection
from penstock.service.sync.limits import SYNC_EXCHANGES_MAX
from penstock.service.sync.operation_text import NEW, NodePaths
from penstock.service.sync.working_directory import WorkingDirectory
from penstock.sync import Client, ClientStatus, Report
from penstock.sync.client_state import ClientState
from penstock.sync.messages import CloneAnswer, Message, SyncRequest, UpdateMessage


@dataclass(frozen=True, slots=True)
class DescribedReport:
    """A report about a statement of the person, with what it is about."""

    report: Report
    text: str
    """The statement."""
    path: str
    """Of the node, in the cache before or after; its identity if neither has it."""

    def __str__(self) -> str:
        by = f" by {self.report.by}" if self.report.by else ""
        return f"{self.report.outcome}{by}: {self.path}: {self.report.reason}"


@dataclass(slots=True)
class Synchronisation:
    """What a synchronisation resulted in."""

    since: int
    """The version of the base before."""
    version: int = 0
    decided: int = 0
    """Statements of the person that the server has decided."""
    pending: int = 0
    """Statements that it has not."""
    is_file_changed: bool = False
    is_cloned_again: bool = False
    reports: list[DescribedReport] = field(default_factory=list)


def synchronise(
    directory: WorkingDirectory,
    connection: SyncConnection,
    *,
    submit: bool,
    pushed: tuple[Message, ...] = (),
) -> Synchronisation:
    """Exchanges requests and messages until the directory is up to date.

    What the person has changed in the file becomes a pending statement first, and is rebased.

    Parameters
    ----------
    directory
        The clone.
    connection
        Its server.
    submit
        Whether to send pending statements.
    pushed
        Messages of a stream, which are received first.

    Raises
    ------
    PenstockError
        The file is not well-formed; ``sync.unreachable``; ``sync.stale``. The directory is usable,
        and nothing is lost.
    """
    directory.require_original()
    result = Synchronisation(directory.client.version)
    for number in range(SYNC_EXCHANGES_MAX):
        directory.take_edits()
        before = directory.client.state()
        if number == 0 and pushed:
            _receive(directory, before, pushed, result)
            continue
        request = directory.client.request(submit=submit)
        directory.save()
        before = directory.client.state()
        messages = connection.exchange(request)
        if not messages:
            raise error("sync.stale", "the server knows a later clone of this client")
        if not _receive(directory, before, messages, result):
            continue
        client = directory.client
        if client.status is not ClientStatus.CLONED or client.has_subscription_change:
            continue
        if not _is_current(client, messages):
            continue
        if not (submit and client.pending):
            result.version = client.version
            result.pending = len(client.pending)
            return result
        has_sent = isinstance(request, SyncRequest) and request.statements
        if has_sent and client.pending[0].number == before.pending[0].number:
            raise error("sync.stale", "the server expects other statements of this client")
    raise error("sync.stale", f"not up to date after {SYNC_EXCHANGES_MAX} requests")


def _is_current(client: Client, messages: tuple[Message, ...]) -> bool:
    return any(
        isinstance(each, CloneAnswer | UpdateMessage) and each.version == client.version
        for each in messages
    )


def _receive(
    directory: WorkingDirectory,
    before: ClientState,
    messages: tuple[Message, ...],
    result: Synchronisation,
) -> bool:
    """Receives messages and replaces the file; false if the person changed it meanwhile."""
    client = directory.client
    cache = client.canonical_xml(exclusive=True)
    for message in messages:
        client.receive(message)
    reports = _described(client, before)
    events = [("report", str(each)) for each in reports]
    if client.version != before.version:
        events.insert(0, ("update", f"version {client.version}"))
    if not directory.check_out(*events):
        return False
    result.reports += reports
    result.decided += max(0, len(before.pending) - len(client.pending))
    result.is_file_changed |= client.canonical_xml(exclusive=True) != cache
    result.is_cloned_again |= before.replica not in (0, client.state().replica)
    return True


def _described(client: Client, before: ClientState) -> list[DescribedReport]:
    reports = client.take_reports()
    if not reports:
        return []
    texts = {each.number: each.text for each in before.undoable}
    texts |= {each.number: each.text for each in before.pending}
    trees = [NodePaths(each.tree) for each in (Client.restore(before), client)]

    def path(node: str) -> str:
        found = (paths.path(node) for paths in trees)
        return next((each for each in found if each != NEW), node)

    return [
        DescribedReport(each, texts.get(each.statement, ""), path(each.node)) for each in reports
    ]
