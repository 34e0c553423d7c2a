"""``penstock router``: the command line, and what it refuses."""

from __future__ import annotations

import importlib
import json
import logging
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from penstock.routing import LocalSubscription
from penstock.routing.interest_index import InterestIndex
from penstock.routing.limits import AGGREGATE_NODES_MAX
from penstock.service.router import RouterOptions
from penstock.service.router.engine import RouterEngine
from penstock.service.router.status import FILE
from penstock.workspace import Workspace
from penstock.workspace.layout import ROUTER_STATE
from penstock.workspace.router_store import RouterStore
from support.fixtures.commands import penstock
from support.routing.one_router import document
from support.service import faulty_router

INSECURE = ("router", "--insecure", "--listen", "127.0.0.1:0")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("router", "--insecure"), "give the address"),
        ((*INSECURE, "--connect", "127.0.0.1:1"), "is not NAME=ADDRESS"),
        ((*INSECURE, "--metrics", "unix:here"), "over TCP"),
        ((*INSECURE, "--aggregate-nodes", "0"), "greater than or equal"),
        ((*INSECURE, "--overflow", "discard-all"), "not one of"),
        ((*INSECURE, "--annotation", "pd", "--annotation", "all"), "`all` is not a kind"),
        (("router", "subscribe", "--connect", "a:1", "--name", "ada"), "give a query"),
        (("router", "unsubscribe", "--connect", "a:1", "--name", "ada"), "or --all"),
        (("router", "unsubscribe", "--connect", "a:1", "--name", "ada", "--all"), "--force"),
        (("router", "unsubscribe", "--connect", "a:1", "--name", "ada", "s1"), "--force"),
        (
            ("router", "subscribe", "--connect", "a:1", "--name", "ada", "/a", "--expires", "soon"),
            "is not a time",
        ),
    ],
)
def test_wrong_command_lines(
    workspace_folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = penstock(*arguments)
    assert done.code == 2
    assert words in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("router", "--listen", "127.0.0.1:0"), "routing.insecure"),
        (("router", "--listen", "0.0.0.0:0", "--insecure"), "routing.insecure"),
        ((*INSECURE, "--connect", "b=example.org:1"), "routing.insecure"),
        (("router", "--listen", "nowhere", "--insecure"), "routing.address"),
        (("router", "--listen", "::1:80", "--insecure"), "routing.address"),
        ((*INSECURE, "--name", "a b"), "link.option"),
        ((*INSECURE, "--verify", "1.5"), "routing.option"),
        (("router", "status"), "workspace.no-router"),
        (("router", "forget", "b", "--force"), "workspace.no-router"),
        (("router", "dead-letters"), "workspace.no-router"),
    ],
)
def test_refusals_have_a_code(
    workspace_folder: Path, arguments: tuple[str, ...], code: str
) -> None:
    done = penstock(*arguments)
    assert done.code == 3
    assert f"[{code}]" in done.err


@pytest.mark.parametrize("option", ["--listen", "--metrics"])
def test_an_address_in_use_is_refused(workspace_folder: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        done = penstock(*INSECURE, option, address)
    assert done.code == 3
    assert f"cannot listen on {address}" in done.err
    assert "[routing.listen]" in done.err


def test_a_client_says_why_it_is_not_connected(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{free.getsockname()[1]}"
        command = [sys.executable, "-m", "penstock", "router", "unsubscribe", "--connect", address]
        with subprocess.Popen(
            [*command, "--name", "ada", "--all", "--force"], stderr=subprocess.PIPE, text=True
        ) as client:
            assert client.stderr is not None
            said = client.stderr.readline()
            client.terminate()
    assert said.startswith(f"not connected, trying again: {address}: ")
    assert "[link.unreachable]" in said


@pytest.mark.parametrize(
    "lines",
    [
        "ada client\n",
        "ada friend " + "00" * 16,
        "ada client " + "00" * 15,
        "ada client xyz",
        ("ada client " + "00" * 16 + "\n") * 2,
    ],
)
def test_a_malformed_token_file_is_refused_without_quoting_it(
    workspace_folder: Path, lines: str
) -> None:
    Path("tokens").write_text(lines)
    done = penstock("router", "--listen", "127.0.0.1:0", "--token-file", "tokens")
    assert done.code == 3
    assert "[routing.token-file]" in done.err
    assert "0000" not in done.err


def test_a_client_needs_the_token_of_one_router(workspace_folder: Path) -> None:
    Path("tokens").write_text("# nobody\n\nada client " + "00" * 16)
    Path("a.xml").write_text("<a/>")
    done = penstock("router", "publish", "--connect", "a:1", "--token-file", "tokens", "a.xml")
    assert done.code == 3
    assert "0 routers instead of one" in done.err


def test_a_second_router_of_a_workspace_is_refused(workspace_folder: Path) -> None:
    with Workspace.open(workspace_folder) as opened, opened.lock("router"):
        done = penstock(*INSECURE, "--name", "a")
    assert done.code == 3
    assert "[workspace.running]" in done.err


def test_options_of_the_interest_and_the_queues_reach_the_router(
    workspace_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[RouterOptions] = []

    async def run_router(_workspace: object, options: RouterOptions, _show: object) -> None:
        seen.append(options)

    monkeypatch.setattr("penstock.service.router.process.run_router", run_router)
    chosen = ("--aggregate-nodes", "7", "--overflow", "discard-newest")
    assert penstock(*INSECURE, "--name", "a", *chosen).code == 0
    assert penstock(*INSECURE, "--name", "a").code == 0
    assert [(each.aggregate_nodes, each.overflow) for each in seen] == [
        (7, "discard-newest"),
        (AGGREGATE_NODES_MAX, "discard-oldest"),
    ]


def test_times_and_the_number_of_fragments_reach_the_router(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[LocalSubscription] = []

    async def subscribe(
        _client: object, subscriptions: Sequence[LocalSubscription], *_: object, **__: object
    ) -> None:
        seen.extend(subscriptions)

    module = importlib.import_module("penstock.cli.commands.router.subscribe")
    monkeypatch.setattr(module, "_subscribe", subscribe)
    command = ("router", "subscribe", "--connect", "127.0.0.1:1", "--name", "ada", "//flash")
    times = ("--starts", "2026-05-01T12:00", "--expires", "2026-06-01")
    assert penstock(*command, "--fragments", "--fragments-max", "7", *times).code == 0
    assert penstock(*command).code == 0
    first, second = seen
    assert (first.returns, first.fragments_max) == ("fragments", 7)
    assert first.starts_at == datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert first.expires_at == datetime(2026, 6, 1, tzinfo=UTC)
    assert (second.returns, second.starts_at, second.expires_at) == ("document", None, None)
    done = penstock(*command, "--fragments-max", "0")
    assert "[subscription.fragments-max]" in done.err
    # Asked for again with other times, a subscription is the same one.
    assert penstock(*command, "--expires", "7d").code == 0
    assert seen[-1].id == second.id


def test_a_neighbour_is_forgotten(workspace_folder: Path) -> None:
    store = RouterStore.open(workspace_folder, "a")
    RouterEngine(store).run([partial(RouterEngine.add_neighbour, name="b")])
    store.close()
    refused = penstock("router", "forget", "b", "--json")
    assert refused.code == 2
    assert "--force" in refused.err
    assert penstock("router", "forget", "b", "--json", "--force").rows == [
        {"type": "summary", "forgotten": "b"}
    ]
    done = penstock("router", "forget", "b", "--force")
    assert "[routing.neighbour]" in done.err


def test_dead_letters_of_a_router_are_listed(workspace_folder: Path) -> None:
    refused = [document(b"<a>", 1), document(b"<a></b>", 2)]
    with closing(RouterStore.open(workspace_folder, "a")) as store:
        RouterEngine(store).run([partial(RouterEngine.publish, document=each) for each in refused])
    done = penstock("router", "dead-letters")
    assert "2 dead letters" in done.err
    heading, *lines = done.out.splitlines()
    assert heading.split() == ["number", "refused", "document", "code", "message"]
    assert [line.split()[3:5] for line in lines] == [
        ["wire/1", "xml.unclosed"],
        ["wire/2", "xml.end-tag"],
    ]
    [row] = penstock("router", "dead-letters", "--json", "--code", "xml.unclosed").rows
    assert (row["document"], row["bytes"], row["report"]) == ("wire/1", 3, None)
    assert penstock("router", "dead-letters", "--content", "2").out == "<a></b>"
    unknown = penstock("router", "dead-letters", "--content", "3")
    assert unknown.code == 3
    assert "[dead-letter.unknown]" in unknown.err
    assert "penstock router dead-letters" in unknown.err


def test_reports_of_a_router_of_an_older_format(workspace_folder: Path) -> None:
    with closing(RouterStore.open(workspace_folder, "a")) as store:
        RouterEngine(store).run([partial(RouterEngine.publish, document=document(b"<a>"))])
    connection = sqlite3.connect(workspace_folder / ROUTER_STATE)
    for statement in (
        "DROP TABLE unclean_ends",
        "DROP TABLE set_aside",
        "ALTER TABLE dead_letters DROP COLUMN report",
        "PRAGMA user_version = 1",
    ):
        connection.execute(statement)
    connection.commit()
    connection.close()
    [row] = penstock("router", "dead-letters", "--json").rows
    assert row["code"] == "xml.unclosed"


def test_the_report_of_a_defect_is_in_the_json_of_dead_letters(
    workspace_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InterestIndex, "match", faulty_router.match)
    with closing(RouterStore.open(workspace_folder, "a")) as store:
        content = document(b"<a><panic/></a>")
        RouterEngine(store).run([partial(RouterEngine.publish, document=content)])
    [row] = penstock("router", "dead-letters", "--json").rows
    assert row["code"] == "internal.error"
    assert row["report"]["type"] == "PanicException"


def test_the_status_of_a_router_that_is_not_running(workspace_folder: Path) -> None:
    neighbour = {
        "status": "in step",
        "patterns": 1_000,
        "waiting": 2,
        "unacknowledged": 3,
        "connected": True,
        "authenticated": True,
        "distrusted": True,
        "last_error": "its annotations contradict a document",
    }
    status = {
        "name": "a",
        "address": "127.0.0.1:1",
        "at": "now",
        "neighbours": {"b": neighbour},
        "subscriptions": 4,
        "subscribers": {"ada": 5},
        "counters": {"false_forwards": 6},
        "set_aside": [{"subscriber": "ada", "subscription": "s1", "documents": 1}],
    }
    (workspace_folder / FILE).write_text(json.dumps(status))
    done = penstock("router", "status")
    assert done.out.splitlines() == [
        "router a: not running, 127.0.0.1:1, as of now",
        "neighbour  link  authenticated  interest  patterns  waiting  unacknowledged",
        "b          down  yes             in step     1,000        2               3",
        "neighbour b: its annotations contradict a document",
        "subscriptions: 4",
        "deliveries that wait for ada: 5",
        "false forwards: 6",
        "subscription s1 of ada was set aside for 1 document, whose work budget was spent"
        " [limit.work]",
    ]
    [row] = penstock("router", "status", "--json").rows
    assert row["running"] is False
    assert row["neighbours"]["b"]["distrusted"] is True
    with Workspace.open(workspace_folder) as opened, opened.lock("router"):
        assert "b          cut off  yes" in penstock("router", "status").out


def test_a_router_prints_warnings_by_default(
    workspace_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger("penstock.service.router.service")

    async def run_router(*_: object) -> None:
        logger.warning("neighbour b: [routing.annotations] wrong\x1b[2J")
        logger.info("not shown")

    monkeypatch.setattr("penstock.service.router.process.run_router", run_router)
    done = penstock(*INSECURE, "--name", "a")
    assert "WARNING penstock.service.router.service: neighbour b: [routing.ann" in done.err
    assert "not shown" not in done.err
    assert "\x1b" not in done.err
    done = penstock("--verbose", *INSECURE, "--name", "a")
    assert done.err.count("[routing.annotations]") == 1
    assert "not shown" in done.err
