#!/usr/bin/env python3
"""Serves a product catalogue, and lets two people edit it offline, each in a file of their own.

Ada lowers the price of the kettle and removes the tea strainer. Meanwhile Bob removes the kettle
and raises the price of the tea strainer. Ada pushes first, then Bob. In the end both have the same
file, and Ada gets a report about each of her changes that was not kept, with the reason.

Usage: run.py FOLDER; replaces the folder of an earlier run.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

PENSTOCK = [sys.executable, "-m", "penstock"]
CATALOGUE = Path(__file__).with_name("catalogue.xml")


def penstock(*arguments: str) -> str:
    """Runs a command, shows it with its output, and returns the output."""
    print("$ penstock", *arguments, flush=True)
    done = subprocess.run(
        [*PENSTOCK, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, flush=True)
    if done.returncode != 0:
        raise SystemExit(f"exit code {done.returncode}")
    return done.stdout


def start_server(store: Path) -> tuple[subprocess.Popen[str], str]:
    """Starts a server on a free port; returns it with the URL of the catalogue."""
    command = ["sync", "serve", str(CATALOGUE), f"--store={store}", "--listen=127.0.0.1:0"]
    print("$ penstock", *command, flush=True)
    server = subprocess.Popen([*PENSTOCK, *command, "--json"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    line = server.stdout.readline()
    if not line:
        raise SystemExit("the server has not started")
    url = f"{json.loads(line)['url']}/catalogue"
    print(f"serving {url}\n", flush=True)
    return server, url


def set_price(file: Path, product: str, price: str) -> None:
    """Edits a file as a person does: changes the price of a product."""
    text = file.read_text(encoding="utf-8")
    pattern = rf"(<name>{product}</name>\s*<price>)[^<]*"
    file.write_text(re.sub(pattern, rf"\g<1>{price}", text), encoding="utf-8")
    print(f"({file.parent.name} sets the price of the {product} to {price})", flush=True)


def remove(file: Path, product: str) -> None:
    """Edits a file as a person does: removes the lines of a product."""
    text = file.read_text(encoding="utf-8")
    pattern = rf"  <product id=\"\w+\">\s*<name>{product}</name>.*?</product>\n"
    file.write_text(re.sub(pattern, "", text, flags=re.DOTALL), encoding="utf-8")
    print(f"({file.parent.name} removes the {product})", flush=True)


def main(folder: Path) -> int:
    """Runs the example; returns the exit code."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    store = folder / "store"
    for person in ("ada", "bob"):
        token = penstock("sync", "token", "create", person, f"--store={store}").split()[0]
        token_file = folder / f"{person}.token"
        token_file.touch(mode=0o600)
        token_file.write_text(token, encoding="ascii")
    server, url = start_server(store)
    try:
        for person in ("ada", "bob"):
            token_file = folder / f"{person}.token"
            penstock("sync", "clone", url, str(folder / person), f"--token-file={token_file}")
        ada, bob = (folder / person / "catalogue.xml" for person in ("ada", "bob"))

        set_price(ada, "Kettle", "27.50")
        remove(ada, "Tea strainer")
        remove(bob, "Kettle")
        set_price(bob, "Tea strainer", "4.90")
        print()
        penstock("sync", "diff", f"--folder={ada.parent}")

        penstock("sync", "push", f"--folder={ada.parent}")
        penstock("sync", "push", f"--folder={bob.parent}")
        reports = penstock("sync", "pull", f"--folder={ada.parent}")

        print(f"$ cat {ada}\n{ada.read_text(encoding='utf-8')}", flush=True)
        is_same = ada.read_bytes() == bob.read_bytes()
        is_informed = "deleted under by bob/" in reports and "undone by bob/" in reports
        print("both have the same file" if is_same else "THE FILES DIFFER")
        print("ada knows what became of her changes" if is_informed else "ADA WAS NOT INFORMED")
        server.send_signal(signal.SIGTERM)
        return 0 if is_same and is_informed and server.wait() == 0 else 1
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: run.py FOLDER")
    sys.exit(main(Path(sys.argv[1])))
