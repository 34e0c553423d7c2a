"""``penstock peer``: the command line, and what it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from penstock.overlay import ChildChoice, PeerOptions, Placement
from penstock.service.peer import process
from penstock.service.peer.options import PeerServiceOptions
from support.fixtures.commands import penstock

SOURCE = ("peer", "--source", "--insecure")
JOIN = ("peer", "--join", "127.0.0.1:9", "--insecure")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("peer",), "give --source to publish"),
        (("peer", "--insecure", "--subscribe", "/a"), "give --source to publish"),
        ((*SOURCE, "--subscribe", "/a"), "give the address to --join"),
        ((*SOURCE, "--count", "1"), "give the address to --join"),
        (JOIN, "give a query"),
        ((*JOIN, "--subscribe", "/a", "--lines"), "only a source publishes"),
        ((*JOIN, "--subscribe", "/a", "a.xml"), "only a source publishes"),
        (("peer", "--insecure", "--agent", "127.0.0.1:9"), "give a query"),
        ((*SOURCE, "missing.xml"), "missing.xml"),
        ((*SOURCE, "--watch", "missing"), "does not exist"),
        ((*SOURCE, "--metrics", "unix:here"), "HOST:PORT"),
        ((*SOURCE, "--tls-certificate", __file__), "give a certificate and its key"),
        ((*SOURCE, "--tls-key", __file__), "give a certificate and its key"),
        ((*SOURCE, "--overhead-threshold", "0.2"), "--overhead-threshold: without --reorganise"),
        ((*SOURCE, "--child-choice", "marginal"), "--child-choice: without --reorganise-seconds"),
        ((*SOURCE, "--placement", "path cost"), "path-cost"),
    ],
)
def test_wrong_command_lines(arguments: tuple[str, ...], words: str) -> None:
    done = penstock(*arguments)
    assert done.code == 2
    assert words in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("peer", "--source"), "overlay.insecure"),
        ((*SOURCE, "--listen", "0.0.0.0:0"), "overlay.insecure"),
        ((*SOURCE, "--listen", "nowhere"), "routing.address"),
        ((*SOURCE, "--name", "a b"), "overlay.option"),
        ((*SOURCE, "--silence-seconds", "1"), "overlay.option"),
        ((*SOURCE, "--delta-threshold", "-1"), "overlay.option"),
        ((*SOURCE, "--move-wait-seconds", "-1"), "overlay.option"),
        (
            (*SOURCE, "--reorganise-seconds", "60", "--overhead-threshold", "2"),
            "overlay.option",
        ),
        ((*JOIN, "--subscribe", "/a["), "query.syntax"),
        ((*SOURCE, "--agent", "192.0.2.1:7400"), "overlay.insecure"),
        (("overlay", "agent"), "overlay.insecure"),
        (("overlay", "agent", "--insecure", "--extra-seeds", "99"), "overlay.option"),
    ],
)
def test_refusals_have_a_code(arguments: tuple[str, ...], code: str) -> None:
    done = penstock(*arguments)
    assert done.code == 3
    assert f"[{code}]" in done.err


def options_of(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> PeerOptions:
    """The options that the command runs a peer with."""
    found: list[PeerOptions] = []

    async def run_peer(options: PeerServiceOptions, *_: object) -> None:
        found.append(options.peer)

    monkeypatch.setattr(process, "run_peer", run_peer)
    assert penstock(*arguments).code == 0
    [options] = found
    return options


def test_options_of_reorganisation(monkeypatch: pytest.MonkeyPatch) -> None:
    assert options_of(*SOURCE, monkeypatch=monkeypatch) == PeerOptions()
    paper = options_of(
        *(*SOURCE, "--reorganise-seconds=200", "--overhead-threshold=0.2", "--delta-threshold=3"),
        *("--move-wait-seconds=90", "--placement=overhead", "--child-choice=least-overlap"),
        monkeypatch=monkeypatch,
    )
    assert paper == PeerOptions(
        reorganise_seconds=200.0,
        overhead_threshold=0.2,
        delta_threshold=3.0,
        move_wait_seconds=90.0,
        placement=Placement.OVERHEAD,
        child_choice=ChildChoice.LEAST_OVERLAP,
    )
    # What a peer does when its parent asks it to move needs no interval of its own.
    moved = options_of(*SOURCE, "--placement=overhead", monkeypatch=monkeypatch)
    assert moved == PeerOptions(placement=Placement.OVERHEAD)


def start(*arguments: str, command: tuple[str, ...] = ("peer",)) -> subprocess.Popen[str]:
    """A peer or an agent as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "penstock", *command, "--insecure", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def look_at(address: str, name: str, folder: Path) -> None:
    """Looks at a source that has no peers yet, as JSON, as text and as a picture."""
    there = (f"--connect={address}", "--insecure")
    [row] = penstock("overlay", "watch", *there, "--count=1", "--json").rows
    assert row["source"] == name
    assert [each["state"] for each in row["peers"]] == ["root"]
    done = penstock("overlay", "watch", *there, "--count=2", "--every=0.1")
    assert done.out.splitlines() == [f"{name}  at 0"] * 2
    for file in ("tree.svg", "tree.png"):
        done = penstock("overlay", "draw", *there, f"--output={folder / file}")
        assert done.code == 0
        assert "shows 1 peers" in done.err
        (folder / file).unlink()
    assert penstock("overlay", "draw", *there, "--output=tree.pdf").code == 2


def test_nobody_to_look_at() -> None:
    done = penstock("overlay", "watch", "--connect=127.0.0.1:9", "--insecure", "--count=1")
    assert done.code == 3
    assert "[overlay.unreachable]" in done.err
    done = penstock("overlay", "watch", "--connect=127.0.0.1:9")
    assert "[overlay.insecure]" in done.err


def test_a_source_and_a_subscriber(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.xml").write_text(f"<a n='{number}'/>")
    (tmp_path / "1b.xml").write_text("<a>")
    source = start("--source", "--json", "--children=1", str(tmp_path))
    assert source.stdout is not None
    try:
        listening = json.loads(source.stdout.readline())
        look_at(listening["address"], listening["peer"], tmp_path)
        subscriber = start(
            f"--join={listening['address']}",
            "--subscribe=/a",
            f"--output={tmp_path / 'deliveries'}",
            "--count=3",
        )
        out, notes = subscriber.communicate(timeout=120)
        assert subscriber.returncode == 0
        assert out.startswith("peer ")
        assert f"connected to {listening['peer']}" in notes
        assert notes.endswith("left and stopped\n")
        files = sorted((tmp_path / "deliveries").iterdir())
        assert [each.read_text() for each in files] == [f"<a n='{n}'/>" for n in range(3)]
        source.send_signal(signal.SIGTERM)
        out, notes = source.communicate(timeout=120)
        assert source.returncode == 0
        assert [json.loads(line)["type"] for line in out.splitlines()] == ["published"] * 3
        assert '"xml.unclosed"' in notes
        assert notes.endswith("left and stopped\n")
    finally:
        source.kill()


def test_a_source_and_a_subscriber_find_each_other_by_the_agent(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    agent = start("--json", "--metrics=127.0.0.1:0", "--top=5", command=("overlay", "agent"))
    started = [agent]
    try:
        assert agent.stdout is not None
        listening = json.loads(agent.stdout.readline())
        assert listening["agent"] == f"agent@{listening['address']}"
        known = f"--agent={listening['address']}"
        started.append(start("--source", known, "--children=1", str(tmp_path)))
        subscriber = start(known, "--subscribe=/a", "--count=1", "--json")
        started.append(subscriber)
        out, _ = subscriber.communicate(timeout=120)
        assert subscriber.returncode == 0
        rows = [json.loads(line) for line in out.splitlines()]
        assert [each["content"] for each in rows if each["type"] == "delivery"] == ["<a/>"]
        url = f"http://{listening['metrics']}/metrics"
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert b"penstock_agent_seeds_total 1" in answer.read()
        agent.send_signal(signal.SIGTERM)
        _, notes = agent.communicate(timeout=120)
        assert agent.returncode == 0
        assert notes.endswith("stopped\n")
    finally:
        for each in started:
            each.kill()
            each.communicate()


def test_a_subscription_is_read_again_at_a_signal(tmp_path: Path) -> None:
    queries = tmp_path / "queries"
    queries.write_text("/a\n\n")
    source = start("--source", "--lines", "--json")
    started = [source]
    try:
        assert source.stdin is not None
        assert source.stdout is not None
        address = json.loads(source.stdout.readline())["address"]
        subscriber = start(f"--join={address}", f"--queries={queries}", "--count=2", "--json")
        started.append(subscriber)
        assert subscriber.stdout is not None
        rows = (json.loads(line) for line in subscriber.stdout)
        assert next(row for row in rows if row["type"] == "connected")
        source.stdin.write("<a/>\n")
        source.stdin.flush()
        assert next(row for row in rows if row["type"] == "delivery")["content"] == "<a/>"
        # The former subscription stays in force until the file has no errors.
        for text, kind in (("/b[", None), ("/b", "subscription")):
            queries.write_text(text)
            subscriber.send_signal(signal.SIGHUP)
            if kind is not None:
                assert next(row for row in rows if row["type"] == kind)["queries"] == 1
            else:
                assert subscriber.stderr is not None
                assert "query.syntax" in subscriber.stderr.readline()
        assert next(row for row in rows if row["type"] == "connected")
        source.stdin.write("<a/>\n<b/>\n")
        source.stdin.flush()
        assert next(row for row in rows if row["type"] == "delivery")["content"] == "<b/>"
        assert subscriber.wait(timeout=120) == 0
    finally:
        for each in started:
            each.kill()
            each.communicate()
