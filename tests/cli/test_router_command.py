"""``penstock router``: the command line, and what it refuses."""

from __future__ import annotations

import json
import logging
from functools import partial
from pathlib import Path

import pytest

from penstock.routing.limits import AGGREGATE_NODES_MAX
from penstock.service.router import RouterOptions
from penstock.service.router.engine import RouterEngine
from penstock.service.router.status import FILE
from penstock.workspace import Workspace
from penstock.workspace.router_store import RouterStore
from support.fixtures.commands import penstock

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
        (("router", "forget", "b"), "workspace.no-router"),
    ],
)
def test_refusals_have_a_code(
    workspace_folder: Path, arguments: tuple[str, ...], code: str
) -> None:
    done = penstock(*arguments)
    assert done.code == 3
    assert f"[{code}]" in done.err


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


def test_a_neighbour_is_forgotten(workspace_folder: Path) -> None:
    store = RouterStore.open(workspace_folder, "a")
    RouterEngine(store).run([partial(RouterEngine.add_neighbour, name="b")])
    store.close()
    assert penstock("router", "forget", "b", "--json").rows == [
        {"type": "summary", "forgotten": "b"}
    ]
    done = penstock("router", "forget", "b")
    assert "[routing.neighbour]" in done.err


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
