"""False positives and missed clients of each engine, against restrictions before and after."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence

from lxml import etree

from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, ResultTable
from penstock.lab.xsync.document_types import Expressions, Labels, Population, RandomDtd
from penstock.lab.xsync.engines import PenstockEngine, XSyncEngine, dtd_of
from penstock.lab.xsync.scale import DEPTH_MAX, Scale
from penstock.language import parse
from penstock.sync.affected import Change, ContentNode, LabelPath
from penstock.sync.affected.affected_index import AffectedIndex
from penstock.sync.reference.restriction import restrict

ELEMENTS_MAX = 400
"""Elements of the document."""

KNOWN, UNKNOWN = "Penstock", "Penstock, content unknown"
DOWN, DOWN_ALL, PRINTED = "XSync, DOWN", "XSync, DOWN-ALL", "XSync, DOWN as printed"


def false_positives(scale: Scale, progress: Progress) -> ResultTable:
    """Delete elements of a document; each engine names those affected."""
    rows: list[tuple[Cell, ...]] = []
    dtd = dtd_of(20)
    chance = random.Random(20)
    root = random_document(dtd, chance)
    for kind in Expressions:
        progress(f"lab xsync: false positives, {kind.value}")
        lengths = range(DEPTH_MAX + 1)
        population = Population.draw(dtd, kind, scale.judged_clients, lengths, seed=20)
        totals = _judge(population, root, scale.judged_operations, chance)
        for engine, (found, affected, missed) in totals.items():
            hits = affected - missed
            wrong = 100 * (found - hits) / found if found else 0.0
            operations = scale.judged_operations
            cells = found / operations, affected / operations, wrong, missed / operations
            rows.append((kind.value, engine, *cells))
    return ResultTable(
        "false-positives",
        "False positives and missed clients",
        ("expressions", "engine", "found", "affected", "false positives %", "missed"),
        tuple(rows),
        (
            f"{scale.judged_clients} clients with subscriptions of up to {DEPTH_MAX} steps; an"
            " element of a document is deleted by a client that sees it. Affected: the restriction"
            " of the document to the subscription differs. Means of an operation. XSync is given"
            " the update's path below what the client subscribed to, as the paper requires.",
        ),
    )


def _judge(
    population: Population, root: etree._Element, operations: int, chance: random.Random
) -> dict[str, tuple[int, int, int]]:
    queries = [parse("/*" if query == "/" else query) for query in population.queries]
    mended, printed = XSyncEngine(population), XSyncEngine(population, printed=True)
    penstock = PenstockEngine(population)
    exact = AffectedIndex()
    exact.add_many(
        map(str, range(len(queries))),
        ["/*" if query == "/" else query for query in population.queries],
    )
    tree = root.getroottree()
    before = [restrict(tree, query).canonical_xml() for query in queries]
    elements = list(root.iterdescendants())
    totals: dict[str, tuple[int, int, int]] = {}
    for _ in range(operations):
        element = chance.choice(elements)
        labels = _labels_of(element)
        author, update = choose_author(population, labels, chance)
        without = copy.deepcopy(root)
        _delete(without, tree.getelementpath(element))
        affected = {
            client
            for client, query in enumerate(queries)
            if restrict(without.getroottree(), query).canonical_xml() != before[client]
        }
        path = tuple(("", f"e{label}") for label in labels)
        content = _content_of(element)
        change = Change.delete(path, content=content, between_texts=False)
        down = [engine.search(author, update, down_all=False) for engine in (mended, printed)]
        answers: Mapping[str, Sequence[int]] = {
            KNOWN: exact.affected(change).handles,
            UNKNOWN: penstock.search(labels)[0].clients,
            DOWN: down[0].clients,
            DOWN_ALL: mended.search(author, update, down_all=True).clients,
            PRINTED: down[1].clients,
        }
        for engine, clients in answers.items():
            found = frozenset(clients)
            sums = totals.get(engine, (0, 0, 0))
            missed = affected - found
            totals[engine] = (
                sums[0] + len(found),
                sums[1] + len(affected),
                sums[2] + len(missed),
            )
    return totals


def choose_author(population: Population, labels: Labels, chance: random.Random) -> tuple[int, str]:
    """A client that sees an element, and the rest of the element's path."""
    seeing = [client for client, own in enumerate(population.labels) if own == labels[: len(own)]]
    client = chance.choice(seeing)
    rest = labels[len(population.labels[client]) :]
    return client, "".join(f"/e{label}" for label in rest) or "/"


def random_document(dtd: RandomDtd, chance: random.Random) -> etree._Element:
    """A document of the type, with text in its leaves."""
    root = etree.Element("e0")
    waiting: list[tuple[etree._Element, int, int]] = [(root, 0, 1)]
    count = 1
    while waiting and count < ELEMENTS_MAX:
        parent, number, depth = waiting.pop(chance.randrange(len(waiting)))
        if depth == DEPTH_MAX:
            continue
        for child in dtd.children[number]:
            for _ in range(chance.randint(0, 2) if depth > 1 else 2):
                made = etree.SubElement(parent, f"e{child}")
                waiting.append((made, child, depth + 1))
                count += 1
    for leaf in root.iter():
        if not len(leaf):
            leaf.text = str(chance.randrange(10))
    return root


def _labels_of(element: etree._Element) -> Labels:
    above = [int(each.tag[1:]) for each in element.iterancestors()]
    return (*reversed(above), int(element.tag[1:]))


def _content_of(element: etree._Element) -> list[ContentNode]:
    """What is below an element: elements, and text, which no query of the experiment selects."""
    depth = len(_labels_of(element))
    paths: set[LabelPath] = {
        tuple(("", f"e{label}") for label in _labels_of(each)[depth:])
        for each in element.iterdescendants()
    }
    return [ContentNode(path) for path in sorted(paths)]


def _delete(root: etree._Element, path: str) -> None:
    element = root.getroottree().find(path)
    assert element is not None
    parent = element.getparent()
    assert parent is not None
    parent.remove(element)
