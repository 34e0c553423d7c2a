"""What matching gives back: ids and errors side by side, counters, witnesses.

Everything here is frozen and can be pickled, because Spark pickles. Ids stay dense handles until
somebody asks for them: of a thousand matches most are only counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from penstock.documents import Fragment, Span
from penstock.errors import DocumentError

if TYPE_CHECKING:
    from penstock.matching.answers import Answer


@dataclass(frozen=True, slots=True)
class Work:
    """What the documents that proved well-formed took; of those refused nothing is counted.

    All engines agree on bytes and elements. The rest is how the shared engine went about it, which
    depends on what it met before; others leave it at 0.
    """

    bytes_read: int = 0
    elements: int = 0
    unknown: int = 0
    """Elements that a mapping's local schema does not have; 0 for what is matched as it is."""
    verified: int = field(default=0, compare=False)
    """Queries of which the automaton could not tell all, and which were evaluated by themselves."""
    paths_made: int = field(default=0, compare=False)
    """Paths of element names that no earlier document had."""
    states_made: int = field(default=0, compare=False)
    """States of the automaton that had to be made first; few once it is warm."""
    caches_dropped: int = field(default=0, compare=False)
    """How often the bound on the automaton's memory was met, and it was begun anew."""
    cache_bytes: int = field(default=0, compare=False)
    """The memory of the automaton's states; of several documents, the most."""
    held_bytes: int = field(default=0, compare=False)
    """What a rewriter held back at once because an operator blocks; of several documents, the
    most."""
    copies_known: int = field(default=0, compare=False)
    """Subtrees that a mapping repeats and that the matcher did not have to look at again."""

    def __add__(self, other: Work) -> Work:
        return Work(
            bytes_read=self.bytes_read + other.bytes_read,
            elements=self.elements + other.elements,
            unknown=self.unknown + other.unknown,
            verified=self.verified + other.verified,
            paths_made=self.paths_made + other.paths_made,
            states_made=self.states_made + other.states_made,
            caches_dropped=self.caches_dropped + other.caches_dropped,
            cache_bytes=max(self.cache_bytes, other.cache_bytes),
            held_bytes=max(self.held_bytes, other.held_bytes),
            copies_known=self.copies_known + other.copies_known,
        )


NO_WORK = Work()
"""For a document that was refused."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What became of one document, or added up over many.

    ``documents == matched + unmatched + refused`` always holds.
    """

    documents: int = 0
    matched: int = 0
    unmatched: int = 0
    refused: int = 0
    matches: int = 0
    """Pairs of a document and a subscription that it meets."""
    work: Work = NO_WORK

    def __post_init__(self) -> None:
        assert self.documents == self.matched + self.unmatched + self.refused

    @classmethod
    def of_one(cls, *, matches: int, refused: bool, work: Work) -> Counters:
        """The counters of a single document."""
        assert not (refused and matches), "a refused document matches nothing"
        return cls(
            documents=1,
            matched=int(matches > 0),
            unmatched=int(matches == 0 and not refused),
            refused=int(refused),
            matches=matches,
            work=work,
        )

    def __add__(self, other: Counters) -> Counters:
        return Counters(
            documents=self.documents + other.documents,
            matched=self.matched + other.matched,
            unmatched=self.unmatched + other.unmatched,
            refused=self.refused + other.refused,
            matches=self.matches + other.matches,
            work=self.work + other.work,
        )


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What an index holds."""

    subscriptions: int
    distinct_queries: int
    """Equal queries are held, and evaluated, once."""
    segments: int
    """Parts that are searched one after the other; adding makes new ones, never rebuilds."""


class Handles(Protocol):
    """The subscriptions that a document meets, by numbers that only their engine understands."""

    def __len__(self) -> int:
        """How many there are."""

    def ids(self) -> list[str]:
        """Their ids, each once."""


class Matches:
    """The subscriptions that one document meets: a collection of ids, each once.

    A document that was refused meets none, and :attr:`errors` says why; nothing is raised, since
    one bad document must not stop a stream. :meth:`raise_for_errors` is for those who want that.
    """

    __slots__ = ("_handles", "_ids", "_set", "counters", "errors", "fragments", "untold")

    errors: tuple[DocumentError, ...]
    counters: Counters
    fragments: Mapping[str, tuple[Fragment, ...]]
    untold: frozenset[str]

    def __init__(
        self,
        handles: Handles,
        *,
        counters: Counters,
        errors: tuple[DocumentError, ...] = (),
        fragments: Mapping[str, tuple[Fragment, ...]] | None = None,
        untold: Iterable[str] = (),
    ) -> None:
        self._handles = handles
        self._ids: tuple[str, ...] | None = None
        self._set: frozenset[str] | None = None
        self.counters = counters
        self.errors = errors
        self.fragments = MappingProxyType(dict(fragments or {}))
        """The parts of the document that each query selected; empty unless they were asked for."""
        self.untold = frozenset(untold)
        """Where fragments were asked for: the ids for which they cannot be told in bounded memory.
        They are of keywords with ``OR``, and the document is a large one."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, resolved at the first call, in no promised order."""
        if self._ids is None:
            self._ids = tuple(self._handles.ids())
        return self._ids

    def raise_for_errors(self) -> None:
        """Raise the reason for which the document was refused, if it was."""
        for reason in self.errors:
            raise reason

    def __len__(self) -> int:
        return len(self._handles)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __contains__(self, subscription: object) -> bool:
        if self._set is None:
            self._set = frozenset(self.ids)
        return subscription in self._set

    def __repr__(self) -> str:
        if self.errors:
            return f"<Matches: refused, {self.errors[0]}>"
        return f"<Matches: {len(self)} of a document of {self.counters.work.bytes_read} bytes>"

    def __reduce__(self) -> tuple[object, ...]:
        # Handles mean nothing away from their matcher: names travel.
        fragments = dict(self.fragments)
        return (_resolved, (self.ids, self.counters, self.errors, fragments, self.untold))


class Names(tuple[str, ...]):
    """Handles that are ids already."""

    __slots__ = ()

    def ids(self) -> list[str]:
        """Themselves."""
        return list(self)


def _resolved(
    ids: tuple[str, ...],
    counters: Counters,
    errors: tuple[DocumentError, ...],
    fragments: Mapping[str, tuple[Fragment, ...]],
    untold: frozenset[str],
) -> Matches:
    return Matches(Names(ids), counters=counters, errors=errors, fragments=fragments, untold=untold)


@dataclass(frozen=True, slots=True)
class Witness:
    """A node of the document that an explanation points at."""

    path: str
    """A query that leads to the node, such as ``/news[1]/item[2]/@lang``."""
    span: Span
    line: int

    def __str__(self) -> str:
        return f"{self.path} (line {self.line})"


@dataclass(frozen=True, slots=True)
class StepTaken:
    """What one step of a query selected on the way to a node."""

    step: str
    """The step with its predicates."""
    witness: Witness

    def __str__(self) -> str:
        return f"{self.step} is {self.witness}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one branch of a query selected nothing."""

    branch: str
    """The branch, printed."""
    step_number: int
    """The step that left no node over, counted from 1."""
    step: str
    """That step without its predicates."""
    predicate: str | None
    """The predicate that held for no node; ``None`` where no node passed the step's own test."""
    reached: int
    """How many nodes came that far: those the predicate was asked for, or those that the step
    before selected; 0 at the first step."""
    witnesses: tuple[Witness, ...]
    """The first :data:`~penstock.matching.limits.WITNESSES_MAX` of them."""

    def __str__(self) -> str:
        where = f"step {self.step_number} of {self.branch}"
        if self.predicate is not None:
            said = f"{where}: {self.predicate} holds for none of {self.reached} {self.step}"
        else:
            said = f"{where}: there is no {self.step}"
        return f"{said}, such as {self.witnesses[0]}" if self.predicate is not None else said


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a document meets a subscription, or does not."""

    subscription: str
    query: str
    witnesses: tuple[Witness, ...] = ()
    """The first :data:`~penstock.matching.limits.WITNESSES_MAX` nodes that the query selected, in
    document order; of a keyword query, the elements that answer it, the best first."""
    witness_count: int = 0
    """How many there are in all."""
    steps: tuple[StepTaken, ...] = ()
    """How the first of them was found: what each step selected on the way."""
    failures: tuple[Failure, ...] = ()
    """Where nothing was selected: one a branch of the union."""
    namespaces: Mapping[str, str] = field(default_factory=dict)
    """What the prefixes in the steps' names stand for."""
    answers: tuple[Answer, ...] = ()
    """Of a keyword query: the best answers, at most
    :data:`~penstock.matching.limits.WITNESSES_MAX`; ``witness_count`` tells how many there are."""
    lacking: tuple[str, ...] = ()
    """Of a keyword query: the keywords that the document has nowhere."""
    error: DocumentError | None = field(default=None, compare=False)
    """Why the document was refused, if it was."""

    @property
    def matched(self) -> bool:
        """Whether the document meets the subscription."""
        return bool(self.witnesses)

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.subscription} did not match: the document was refused, {self.error}"
        verb = "matched" if self.matched else "did not match"
        lines = [f"{self.subscription} {verb}: {self.query}"]
        lines += map(str, self.steps or self.failures or self.answers)
        shown = len(self.answers) or 1
        if self.witness_count > shown:
            lines.append(f"and {self.witness_count - shown} more")
        if self.lacking:
            lines.append(f"the document has no {', no '.join(self.lacking)}")
        lines += [f"where {prefix} is {uri}" for prefix, uri in self.namespaces.items()]
        return "\n  ".join(lines)
