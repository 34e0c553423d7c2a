"""Generated networks that route the same documents with annotations and without.

Everything follows from the number of the case: topology, subscriptions, documents, mappings, kinds
of annotations, and annotations that are altered on the way.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Final

from penstock.documents import Document, Header
from penstock.mediation import Mapping
from penstock.mediation.mapping_table import MappingTable
from penstock.routing import (
    NO_KINDS,
    AnnotationKind,
    AnnotationOptions,
    Deliveries,
    DocumentRefused,
    ForwardedDocument,
    LinkUp,
    LocalSubscription,
    MessageReceived,
    NeighbourDistrusted,
    Publish,
    Router,
    RouterInput,
    RouterOutput,
    SendMessage,
    Subscribe,
    Unsubscribe,
)
from support.routing.altered_annotations import AnnouncedSets, damaged_bytes, forged_annotations
from support.routing.one_router import NOW
from support.routing.random_traffic import MALFORMED, VALUES, random_tree
from support.strategies.tiny_documents import random_document

NAMES: Final = "abcd"
BOUNDS: Final = (1, 4, 12, 40, 1_000)
"""Pattern nodes of announced interests: from one pattern for everything to no merging at all."""

CASES_OF_NETWORK: Final = 4
"""Cases that share a network, with different annotations."""

COUNTERS: Final = ("not_read", "read_in_part", "verified_annotations", "ignored_annotations")

_MAPPING_TEXTS: Final = {
    "renamed": "a\n => rename b\n b*\n  => rename c\n  @p\n c*\n  @q\n  => to-element @q",
    "inserted": "=> insert d (a)\na\n => insert c (b)\n b* text\n c*",
    "upgraded": "=> insert b (a)\na\n => upgrade (c)\n b*\n  @p\n  => rename @p q\n c* text",
    "exchanged": "a\n b* text\n  => exchange c\n  @q\n  c* text\n d*",
    "downgraded": "b\n => downgrade (a) into c\n a* text\n c*\n  @p\n  => to-element @p as d",
}
"""By schema, indented by one space a level."""


@cache
def mapping_table() -> MappingTable:
    """The mappings of documents, by schema. Documents of a schema rarely conform to it."""
    mappings = {
        schema: Mapping.from_text(f"penstock mapping 1\n{_indented(text)}\n")
        for schema, text in _MAPPING_TEXTS.items()
    }
    return MappingTable(
        {("", schema): mapping.digest for schema, mapping in mappings.items()},
        texts={mapping.digest: mapping.to_text() for mapping in mappings.values()},
    )


def _indented(text: str) -> str:
    """The lines of a mapping with two spaces a level."""
    lines = text.split("\n")
    return "\n".join(" " * (len(line) - len(line.lstrip())) + line for line in lines)


def random_path(chance: random.Random, *, steps_max: int = 4) -> str:
    """An XPath query: linear, with predicates of every class, or a union."""
    if chance.random() < 0.08:
        return f"{random_path(chance)} | {random_path(chance)}"
    steps = "".join(
        f"{chance.choice(('/', '/', '//'))}{_test(chance)}{_predicates(chance)}"
        for _ in range(chance.randint(1, steps_max))
    )
    return steps + chance.choice(("", "", "", "", "", "/@p", "//@q", "/text()"))


def _test(chance: random.Random) -> str:
    return chance.choice(NAMES * 3 + "*")


def _predicates(chance: random.Random) -> str:
    if chance.random() < 0.6:
        return ""
    return f"[{_condition(chance)}]"


def _condition(chance: random.Random) -> str:
    name, value = _test(chance), chance.choice(("x", "xy", "y", "x y"))
    number, sign = chance.choice((1, 2, 10)), chance.choice(("=", "!=", "<", ">="))
    return chance.choice(
        (
            "@p",
            f"@q {sign} {number}",
            f"@p = '{value}'",
            f"{name}",
            f".//{name}/{_test(chance)}",
            f"{name}[@q]",
            f"{name} {sign} {number}",
            f". = '{value}'",
            f"text() = '{value}'",
            f"not({name})",
            f"not(@p) and {name}",
            f"{name} or @q = {number}",
            f"contains(., '{value}')",
            f"starts-with({name}, '{value}')",
            f"{chance.choice((1, 1, 2))}",
            "last()",
            f"count({name}) >= {number}",
        )
    )


def random_keywords(chance: random.Random) -> str:
    """A keyword query: words, an OR or a phrase."""
    words = [chance.choice(("x", "xy", "y", "1", "2", "10", "a", "d")) for _ in range(3)]
    return chance.choice((words[0], " ".join(words[:2]), " OR ".join(words), '"x y"'))


def random_subscription(chance: random.Random, number: int) -> LocalSubscription:
    """Mostly a path; some with header tests, some that return fragments."""
    is_path = chance.random() < 0.85
    return LocalSubscription(
        id=f"s{number}",
        subscriber=f"subscriber {number % 3}",
        kind="xpath" if is_path else "keywords",
        query=random_path(chance) if is_path else random_keywords(chance),
        where=chance.choice(({}, {}, {}, {"lang": "en"})),
        returns=chance.choice(("document", "document", "fragments")),
    )


def random_published(chance: random.Random, number: int) -> Document:
    """A small document, sometimes of a mapped schema, sometimes malformed."""
    content = chance.choice(MALFORMED)
    if chance.random() >= 0.04:
        depth = chance.choice((0, 1, 2, 3, 4, 6))
        content = random_document(chance, labels=NAMES, values=VALUES, depth=depth).encode()
    fields = chance.choice(({}, {"lang": "en"}, {"lang": "de"}))
    schema = chance.choice(("", "", "", *_MAPPING_TEXTS))
    publisher = chance.choice(("p0", "p1"))
    header = Header(publisher=publisher, id=str(number), schema=schema, fields=fields)
    return Document(content, header)


@dataclass(frozen=True, slots=True)
class GeneratedNetwork:
    """Routers, their subscriptions, and what happens to them."""

    seed: int
    links: tuple[tuple[str, str], ...]
    bound: int
    """Pattern nodes of announced interests."""

    subscriptions: dict[str, tuple[LocalSubscription, ...]]
    """By router, before the first document."""

    events: tuple[tuple[str, RouterInput], ...]
    """What happens at which router, in order."""

    late_share: float
    """Share of changed interests that neighbours learn only after the next document."""


@dataclass(frozen=True, slots=True)
class GeneratedAnnotations:
    """Which annotations a network uses, and what happens to them on the way."""

    seed: int
    options: AnnotationOptions
    altered_share: float = 0.0
    """Share of the annotations that are altered on authenticated links: damaged or stale."""

    unauthenticated_share: float = 0.0
    """Share of the links that are not authenticated. There, annotations are forged."""

    forged_share: float = 0.0
    """Share of the documents whose annotations are forged on those links."""


NO_ANNOTATIONS: Final = GeneratedAnnotations(
    0, AnnotationOptions(kinds=NO_KINDS, uses_received=False)
)


@lru_cache(maxsize=1)
def network_of(seed: int) -> GeneratedNetwork:
    """The network of a seed."""
    chance = random.Random(seed)
    links = tuple(random_tree(chance, chance.randint(2, 7)))
    names = sorted({name for ends in links for name in ends})
    initial: dict[str, list[LocalSubscription]] = {name: [] for name in names}
    known: dict[str, str] = {}
    count = chance.randint(1, chance.choice((1, 4, 10, 30)))
    for number in range(count):
        known[f"s{number}"] = chance.choice(names)
        initial[known[f"s{number}"]].append(random_subscription(chance, number))
    events: list[tuple[str, RouterInput]] = []
    for number in range(chance.choice((4, 8, 16))):
        if chance.random() < 0.1:
            subscription = random_subscription(chance, count + number)
            known[subscription.id] = chance.choice(names)
            events.append((known[subscription.id], Subscribe(subscriptions=(subscription,))))
        if known and chance.random() < 0.1:
            id_ = chance.choice(sorted(known))
            events.append((known.pop(id_), Unsubscribe(ids=(id_,))))
        document = random_published(chance, number)
        home = names[-1] if document.header.publisher == "p0" else names[0]
        events.append((home, Publish(document=document)))
    return GeneratedNetwork(
        seed=seed,
        links=links,
        bound=chance.choice(BOUNDS),
        subscriptions={name: tuple(own) for name, own in initial.items()},
        events=tuple(events),
        late_share=chance.choice((0.0, 0.0, 0.5)),
    )


def annotations_of(seed: int) -> GeneratedAnnotations:
    """The annotations of a seed: any subset of the kinds."""
    chance = random.Random(f"annotations {seed}")
    return GeneratedAnnotations(
        seed=seed,
        options=AnnotationOptions(
            kinds=frozenset(kind for kind in AnnotationKind if chance.random() < 0.5),
            is_adaptive=chance.random() < 0.2,
            verified_share=chance.choice((0.0, 0.0, 0.0, 0.5)),
        ),
        altered_share=chance.choice((0.0, 0.3)),
        unauthenticated_share=chance.choice((0.0, 0.0, 0.0, 0.5, 1.0)),
        forged_share=chance.choice((0.3, 1.0)),
    )


@dataclass(slots=True)
class CaseOutcome:
    """What the routers of a case did."""

    effects: list[tuple[object, ...]] = field(default_factory=list)
    """Deliveries, forwards and refusals, in a fixed order."""

    counts: Counter[str] = field(default_factory=Counter)
    """How documents were decided, and by which kinds."""


def run_network(network: GeneratedNetwork, annotations: GeneratedAnnotations) -> CaseOutcome:
    """Routes the documents of a network."""
    return _NetworkRun(network, annotations).run()


@lru_cache(maxsize=1)
def _outcome_without_annotations(seed: int) -> CaseOutcome:
    return run_network(network_of(seed), NO_ANNOTATIONS)


def check_case(number: int) -> Counter[str]:
    """Routes the documents of a case with its annotations and without, and compares.

    Returns how documents were decided.
    """
    seed = number // CASES_OF_NETWORK
    expected = _outcome_without_annotations(seed)
    outcome = run_network(network_of(seed), annotations_of(number))
    assert outcome.effects == expected.effects, f"annotations changed something: case {number}"
    assert outcome.counts["distrusted"] == 0, f"annotations were distrusted: case {number}"
    return outcome.counts


class _NetworkRun:
    def __init__(self, network: GeneratedNetwork, annotations: GeneratedAnnotations) -> None:
        self._network = network
        self._annotations = annotations
        # Drawn by a generator of its own: the traffic must not depend on the annotations.
        self._alteration = random.Random(f"alteration {annotations.seed}")
        self._routers = {
            name: Router(
                name=name,
                neighbours=[
                    one if two == name else two for one, two in network.links if name in (one, two)
                ],
                aggregate_nodes=network.bound,
                mappings=mapping_table(),
                annotations=annotations.options,
                chance=random.Random(annotations.seed),
            )
            for name in network.subscriptions
        }
        links = random.Random(f"links {annotations.seed}")
        self._unauthenticated = {
            link for link in network.links if links.random() < annotations.unauthenticated_share
        }
        self._announced = AnnouncedSets()
        self._seen: list[bytes] = []
        self._outcome = CaseOutcome()
        self._late: list[tuple[str, MessageReceived]] = []

    def run(self) -> CaseOutcome:
        network = self._network
        for name, subscriptions in network.subscriptions.items():
            self._settle([(name, Subscribe(subscriptions=subscriptions))])
        for one, two in network.links:
            is_authenticated = (one, two) not in self._unauthenticated
            self._settle(
                (name, LinkUp(neighbour=other, is_authenticated=is_authenticated))
                for name, other in ((one, two), (two, one))
            )
        lateness = random.Random(f"lateness {network.seed}")
        for name, input_ in network.events:
            # Later changes do not overtake those that are late.
            is_late = lateness.random() < network.late_share or bool(self._late)
            is_document = isinstance(input_, Publish)
            self._settle([(name, input_)], is_late=is_late and not is_document)
            if is_document:
                self._arrive()
        self._outcome.effects.sort(key=repr)
        for router in self._routers.values():
            counters = router.counters
            for counter in COUNTERS:
                self._outcome.counts[counter] += getattr(counters, counter)
        return self._outcome

    def _arrive(self) -> None:
        """Messages that were late arrive, and those that they cause."""
        while self._late:
            self._settle([self._late.pop(0)])

    def _settle(self, inputs: Iterable[tuple[str, RouterInput]], *, is_late: bool = False) -> None:
        waiting = deque(inputs)
        while waiting:
            receiver, next_input = waiting.popleft()
            for output in self._received(receiver, next_input):
                match output:
                    case SendMessage(neighbour=neighbour, message=ForwardedDocument() as sent):
                        identity = sent.document.identity
                        self._outcome.effects.append(("forward", receiver, neighbour, identity))
                        if sent.annotations:
                            self._outcome.counts["annotated"] += 1
                            self._seen.append(sent.annotations)
                        arriving = MessageReceived(neighbour=receiver, message=sent)
                        waiting.append((neighbour, arriving))
                    case SendMessage(neighbour=neighbour, message=message):
                        arriving = MessageReceived(neighbour=receiver, message=message)
                        if is_late:
                            self._late.append((neighbour, arriving))
                        else:
                            waiting.append((neighbour, arriving))
                    case Deliveries(document=document):
                        for each in output.each():
                            self._outcome.counts["deliveries"] += 1
                            self._outcome.effects.append(
                                (
                                    "delivery",
                                    receiver,
                                    each.subscription,
                                    document.identity,
                                    each.fragments,
                                )
                            )
                    case DocumentRefused(dead_letter=letter):
                        self._outcome.counts["dead"] += 1
                        self._outcome.effects.append(("dead", receiver, letter.code, repr(letter)))
                    case NeighbourDistrusted():
                        self._outcome.counts["distrusted"] += 1
                    case _:
                        self._outcome.effects.append(
                            (type(output).__name__, receiver, repr(output))
                        )

    def _received(self, receiver: str, input_: RouterInput) -> Iterable[RouterOutput]:
        """What a router does with an input, the annotations of which may be altered."""
        match input_:
            case MessageReceived(neighbour=sender, message=ForwardedDocument() as sent):
                altered = self._altered(sent, sender, receiver)
                input_ = MessageReceived(neighbour=sender, message=altered)
        router = self._routers[receiver]
        outputs = router.receive(input_, NOW)
        self._announced.observe(router)
        return outputs

    def _altered(self, sent: ForwardedDocument, sender: str, receiver: str) -> ForwardedDocument:
        """Forges, damages or replaces the annotations of some documents."""
        annotations, chance, counts = self._annotations, self._alteration, self._outcome.counts
        if self._unauthenticated & {(sender, receiver), (receiver, sender)}:
            if chance.random() >= annotations.forged_share:
                return sent
            # Nothing but the missing authentication keeps the receiver from using them.
            counts["forged"] += 1
            current = self._announced.current(receiver, sender)
            return replace(sent, annotations=forged_annotations(chance, sent.document, current))
        if chance.random() >= annotations.altered_share:
            return sent
        outdated = self._announced.outdated(receiver, sender)
        if outdated and chance.random() < 0.5:
            # Nothing but the digest of the set keeps the receiver from using them.
            counts["outdated"] += 1
            earlier = chance.choice(outdated)
            return replace(sent, annotations=forged_annotations(chance, sent.document, earlier))
        if not self._seen:
            return sent
        counts["altered"] += 1
        stale, damaged = chance.choice(self._seen), damaged_bytes(chance, sent.annotations)
        return replace(sent, annotations=chance.choice((stale, damaged)))
