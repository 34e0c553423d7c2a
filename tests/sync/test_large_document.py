"""A large document takes a small multiple of its size, and a part of it is served at once."""

from __future__ import annotations

import subprocess
import sys

from support.contracts.native_engines import needs_native
from support.fixtures.repository import SOURCE

pytestmark = needs_native

MEGABYTES = 12
"""Of the document. The ratio does not depend on the size; what was measured with 100 MB is in the
explanation of synchronisation."""

PEAK_RATIO_MAX = 8
"""The document, its tree and the snapshot that is to be stored."""

SCRIPT = f"""
import resource
from penstock.sync import Client, Server, SyncSubscription
from penstock.sync.request_round import run_round


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


products = []
size = 0
while size < {MEGABYTES} * 1_000_000:
    products.append(
        f'<product id="p{{len(products)}}"><name>product</name><price currency="EUR">1</price>'
        f"<text>{{'lorem ipsum ' * 10}}</text></product>"
    )
    size += len(products[-1])
document = "".join(["<catalogue>", *products, "</catalogue>"]).encode()
del products
before = peak()
server = Server.of_document(document)
clients = [
    Client("part", SyncSubscription("/catalogue/product[@id = 'p77']/price")),
    Client("other", SyncSubscription("//product[@id = 'p77']")),
]


def synchronise():
    requests = [client.request() for client in clients]
    for client, answer in zip(clients, run_round(server, requests).answers):
        for message in answer:
            client.receive(message)


synchronise()
clients[0].update("//price/*!update('2')")
synchronise()
assert clients[1].canonical_xml().count(b">2</price>") == 1
print((peak() - before) / len(document))
"""


def test_memory_is_bounded_by_the_size_of_the_document() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"PYTHONPATH": str(SOURCE), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < PEAK_RATIO_MAX
