"""Results of matching: ids, errors, counters, explanations.

All types are immutable and picklable, because Spark pickles them. Ids stay dense handles until they
are requested: most matches are only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from penstock.documents import Fragment, Span
from penstock.errors import DocumentError
from penstock.language.keywords.query import spelled

if TYPE_CHECKING:
    from penstock.matching.answers import Answer
    from penstock.matching.label_paths import LabelPaths


@dataclass(frozen=True, slots=True)
class Work:
    """Work counters of well-formed documents; refused documents are not counted.

    All engines agree on bytes and elements. The other counters describe the shared engine and
    depend on its cache; other engines leave them at 0.
    """

    bytes_read: int = 0
    elements: int = 0
    unknown: int = 0
    """Elements that the mapping's local schema does not define; 0 without a mapping."""
    steps: int = field(default=0, compare=False)
    """Steps counted against the work budget, :attr:`~penstock.documents.Limits.work`."""
    verified: int = field(default=0, compare=False)
    """Candidate queries that the exact evaluator had to verify."""
    paths_made: int = field(default=0, compare=False)
    """Label paths seen for the first time."""
    states_made: int = field(default=0, compare=False)
    """Automaton states created; few once the cache is warm."""
    caches_dropped: int = field(default=0, compare=False)
    """Number of cache evictions because the memory limit was reached."""
    cache_bytes: int = field(default=0, compare=False)
    """Bytes of cached automaton states; the maximum over several documents."""
    held_bytes: int = field(default=0, compare=False)
    """Peak bytes buffered by the rewriter for blocking operators; the maximum over documents."""
    copies_known: int = field(default=0, compare=False)
    """Repeated subtrees of a mapping that the matcher did not process again."""

    def __add__(self, other: Work) -> Work:
        return Work(
            bytes_read=self.bytes_read + other.bytes_read,
            elements=self.elements + other.elements,
            unknown=self.unknown + other.unknown,
            steps=self.steps + other.steps,
            verified=self.verified + other.verified,
            paths_made=self.paths_made + other.paths_made,
            states_made=self.states_made + other.states_made,
            caches_dropped=self.caches_dropped + other.caches_dropped,
            cache_bytes=max(self.cache_bytes, other.cache_bytes),
            held_bytes=max(self.held_bytes, other.held_bytes),
            copies_known=self.copies_known + other.copies_known,
        )


SET_ASIDE_SHOWN: Final = 20
"""Maximum number of ids in the message of :attr:`Matches.work_error`."""

NO_WORK = Work()
"""The work counters of a refused document."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Outcome counters of one document, or the sum over many.

    ``documents == matched + unmatched + refused`` always holds.
    """

    documents: int = 0
    matched: int = 0
    unmatched: int = 0
    refused: int = 0
    matches: int = 0
    """Pairs of a document and a matching subscription."""
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
    """Sizes of an index."""

    subscriptions: int
    distinct_queries: int
    """Equal queries are stored and evaluated once."""
    segments: int
    """Immutable parts of the index; adding creates new segments and never rebuilds old ones."""


NO_FRAGMENTS: Final[Mapping[str, Sequence[Fragment]]] = MappingProxyType({})
"""The fragments of a result that was asked for none."""


class Handles(Protocol):
    """The matching subscriptions of a document, as handles of the engine."""

    def __len__(self) -> int:
        """The number of matches."""

    def ids(self) -> Sequence[str]:
        """The distinct ids; as a tuple, where the engine keeps them as Python strings."""


class Matches:
    """The subscriptions that one document matches: a collection of distinct ids.

    A refused document matches nothing, and :attr:`errors` holds the reason. Nothing is raised,
    since one bad document must not stop a stream; call :meth:`raise_for_errors` to raise the error.
    """

    __slots__ = (
        "_counters",
        "_handles",
        "_ids",
        "_set",
        "errors",
        "fragments",
        "label_paths",
        "set_aside",
        "without_fragments",
    )

    errors: tuple[DocumentError, ...]
    fragments: Mapping[str, Sequence[Fragment]]
    without_fragments: frozenset[str]
    set_aside: frozenset[str]
    label_paths: LabelPaths | None

    def __init__(
        self,
        handles: Handles,
        *,
        counters: Counters | Callable[[], Counters],
        errors: tuple[DocumentError, ...] = (),
        fragments: Mapping[str, Sequence[Fragment]] | None = None,
        without_fragments: Iterable[str] = (),
        set_aside: Iterable[str] = (),
        label_paths: LabelPaths | None = None,
    ) -> None:
        self._handles = handles
        self._ids: tuple[str, ...] | None = None
        self._set: frozenset[str] | None = None
        self._counters = counters
        self.errors = errors
        self.fragments = MappingProxyType(dict(fragments)) if fragments else NO_FRAGMENTS
        """The fragments that each query selected; empty unless requested. Each is created when
        it is accessed."""
        self.without_fragments = frozenset(without_fragments)
        """Ids that match, but whose requested fragments cannot be computed in bounded memory,
        such as keywords with ``OR`` in a large document, or within the document's work budget."""
        self.set_aside = frozenset(set_aside)
        """Ids that were set aside: it is unknown whether they match, because the document's work
        budget was spent. None of them is in :attr:`ids`, and :attr:`work_error` names them. All
        other subscriptions are decided exactly."""
        self.label_paths = label_paths
        """The distinct label paths of the document; ``None`` unless requested, for a refused
        document, under a mapping, and beyond
        :data:`~penstock.matching.limits.LABEL_PATHS_MAX`."""

    @property
    def work_error(self) -> DocumentError | None:
        """The error that names the subscriptions in :attr:`set_aside`; ``None`` without any."""
        if not self.set_aside:
            return None
        shown = sorted(self.set_aside)[:SET_ASIDE_SHOWN]
        omitted = len(self.set_aside) - len(shown)
        names = ", ".join(shown) + (f" and {omitted} more" if omitted else "")
        return DocumentError("limit.work", f"the work budget is spent; set aside: {names}")

    @classmethod
    def of_refused(cls, reason: DocumentError) -> Matches:
        """The result of a document that is refused."""
        counters = Counters.of_one(matches=0, refused=True, work=Work())
        return cls(ResolvedIds(), counters=counters, errors=(reason,))

    @property
    def counters(self) -> Counters:
        """The counters of this document, computed at first access."""
        if not isinstance(self._counters, Counters):
            self._counters = self._counters()
        return self._counters

    @property
    def handles(self) -> Handles:
        """The matches as handles of the engine, which need not be resolved to be counted."""
        return self._handles

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, resolved at first access, in no particular order."""
        if self._ids is None:
            self._ids = tuple(self._handles.ids())
        return self._ids

    def raise_for_errors(self) -> None:
        """Raise the error of a refused document, or :attr:`work_error`."""
        for reason in self.errors:
            raise reason
        if self.work_error is not None:
            raise self.work_error

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
        return f"<Matches: {len(self)} in {self.counters.work.bytes_read} bytes>"

    def __reduce__(self) -> tuple[object, ...]:
        # Handles are meaningless without their matcher, so ids are pickled.
        rest = {
            "counters": self.counters,
            "errors": self.errors,
            "fragments": dict(self.fragments),
            "without_fragments": self.without_fragments,
            "set_aside": self.set_aside,
            "label_paths": self.label_paths,
        }
        return (_resolved, (self.ids, rest))


class ResolvedIds(tuple[str, ...]):
    """Handles that are already resolved to ids."""

    __slots__ = ()

    def ids(self) -> list[str]:
        """The ids."""
        return list(self)


def _resolved(ids: tuple[str, ...], rest: dict[str, Any]) -> Matches:
    return Matches(ResolvedIds(ids), **rest)


@dataclass(frozen=True, slots=True)
class Witness:
    """A node of the document that supports an explanation."""

    path: str
    """A query that selects the node, such as ``/news[1]/item[2]/@lang``."""
    span: Span
    line: int

    def __str__(self) -> str:
        return f"{self.path} (line {self.line})"


@dataclass(frozen=True, slots=True)
class StepTaken:
    """The node that one step of a query selected."""

    step: str
    """The step with its predicates."""
    witness: Witness

    def __str__(self) -> str:
        return f"{self.step} is {self.witness}"


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why one branch of a query selected nothing."""

    branch: str
    """The text of the branch."""
    step_number: int
    """The step that selected no node, from 1."""
    step: str
    """The text of that step without its predicates."""
    predicate: str | None
    """The predicate that is false for every node; ``None`` if no node passed the node test."""
    reached: int
    """Number of nodes that the predicate was evaluated on, or that the previous step selected; 0 at
    the first step."""
    witnesses: tuple[Witness, ...]
    """The first :data:`~penstock.matching.limits.WITNESSES_MAX` of them."""
    other_namespaces: tuple[str, ...] = ()
    """If no node passed the node test: namespaces in which the document uses the same name."""

    def __str__(self) -> str:
        position = f"step {self.step_number} of {self.branch}"
        if self.predicate is not None:
            text = f"{position}: {self.predicate} holds for none of {self.reached} {self.step}"
        else:
            text = f"{position}: there is no {self.step}"
            if self.other_namespaces:
                text += f"; the document has this name in {_either(self.other_namespaces)}"
        return f"{text}, such as {self.witnesses[0]}" if self.predicate is not None else text


def _either(uris: Sequence[str]) -> str:
    return " and ".join(f"the namespace {uri}" if uri else "no namespace" for uri in uris)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reason why a document matches a subscription, or does not."""

    subscription: str
    query: str
    witnesses: tuple[Witness, ...] = ()
    """The first :data:`~penstock.matching.limits.WITNESSES_MAX` nodes that the query selected, in
    document order; for a keyword query, the answering elements, best first."""
    witness_count: int = 0
    """Total number of witnesses."""
    steps: tuple[StepTaken, ...] = ()
    """The node that each step selected on the path to the first witness."""
    failures: tuple[Failure, ...] = ()
    """If nothing was selected: one failure per branch of the union, unless ``never``."""
    namespaces: Mapping[str, str] = field(default_factory=dict)
    """The namespace URIs of the prefixes in ``steps`` and ``failures``."""
    answers: tuple[Answer, ...] = ()
    """For a keyword query: the best answers, at most
    :data:`~penstock.matching.limits.WITNESSES_MAX`; ``witness_count`` is their total number."""
    lacking: tuple[str, ...] = ()
    """For a keyword query: the keywords that do not occur in the document."""
    never: bool = False
    """Whether the query contradicts itself, so that no document can match it."""
    header_failures: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    """The header fields that do not have the required value: that value, and the actual one."""
    error: DocumentError | None = field(default=None, compare=False)
    """The error of a refused document."""

    @property
    def matched(self) -> bool:
        """Whether the document matches the subscription."""
        return bool(self.witnesses) and not self.header_failures

    def with_header(self, where: Mapping[str, str], header: Mapping[str, str]) -> Explanation:
        """The explanation of the same subscription with its tests of header fields."""
        failures = {
            name: (value, header.get(name))
            for name, value in where.items()
            if header.get(name) != value
        }
        return replace(self, header_failures=failures) if failures else self

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.subscription} did not match: the document was refused, {self.error}"
        verb = "matched" if self.matched else "did not match"
        lines = [f"{self.subscription} {verb}: {self.query}"]
        for name, (wanted, actual) in self.header_failures.items():
            found = "there is no such field" if actual is None else f"it is {actual}"
            lines.append(f"the header field {name} must be {wanted}; {found}")
        if self.header_failures:
            return "\n  ".join(lines)
        lines += map(str, self.steps or self.failures or self.answers)
        shown = len(self.answers) or 1
        if self.witness_count > shown:
            lines.append(f"and {self.witness_count - shown} more")
        if self.lacking:
            lines.append(f"the document has no {', no '.join(map(spelled, self.lacking))}")
        if self.never:
            lines.append("no document can match this query: it contradicts itself")
        lines += [f"where {prefix} is {uri}" for prefix, uri in self.namespaces.items()]
        return "\n  ".join(lines)
