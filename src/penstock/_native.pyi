"""The native core, private: everything public wraps it. A test compares this with the module."""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Literal, Self, TypeAlias, final

from typing_extensions import Buffer, disjoint_base

__version__: str
BUILD_PROFILE: str

def parse_query(
    text: str, namespaces: list[tuple[str, str]], default_namespace: str, normal: bool
) -> tuple[tuple[Any, ...] | None, tuple[str, str, int | None] | None]: ...

@final
class CompiledQuery:
    def __new__(cls, query: object, single_valued: list[tuple[str, str]]) -> Self: ...
    def contains(self, other: CompiledQuery) -> bool: ...
    def covers(self, other: CompiledQuery) -> bool: ...
    def overlaps(self, other: CompiledQuery) -> bool: ...
    def generalise(self, other: CompiledQuery) -> tuple[Any, ...]: ...

_Refusal: TypeAlias = tuple[str, str, int, int, int, str]
_Summary: TypeAlias = tuple[int, int, int, str, tuple[int, int, bool] | None]

def reader_codes() -> list[str]: ...
def default_limits() -> list[tuple[str, int]]: ...
def decode(part: bytes, label: str) -> str | None: ...
def read_events(
    source: bytes | Iterable[bytes],
    limits: dict[str, int],
    entities: list[tuple[str, str]],
    refuse_declarations: bool,
) -> tuple[list[tuple[Any, ...]], _Refusal | None]: ...

@final
class DocumentReader:
    def __new__(
        cls, limits: dict[str, int], entities: list[tuple[str, str]], refuse_declarations: bool
    ) -> Self: ...
    def read(self, source: bytes | Iterable[bytes]) -> tuple[_Summary | None, _Refusal | None]: ...

@final
class PartReader:
    def __new__(
        cls, doctype: str, limits: dict[str, int], entities: list[tuple[str, str]]
    ) -> Self: ...
    def read_events(self, part: bytes) -> tuple[list[tuple[Any, ...]], _Refusal | None]: ...

_ExpandedName: TypeAlias = tuple[str, str]

@final
class SampleCounter:
    def __new__(cls, limits: dict[str, int], depth_max: int, paths_max: int) -> Self: ...
    def add(self, document: bytes) -> tuple[str | None, _Refusal | None]: ...
    def counts(
        self,
    ) -> list[
        tuple[
            int | None,
            _ExpandedName,
            tuple[int, int, int, int],
            list[tuple[_ExpandedName, int]],
        ]
    ]: ...

_Ranges: TypeAlias = list[tuple[int, int]]

@final
class RecordCutter:
    def __new__(
        cls,
        chunks: Iterable[bytes],
        steps: list[tuple[str | None, str | None]],
        limits: dict[str, int],
        entities: list[tuple[str, str]],
        record_bytes: int,
        contents: bool,
        prefix: _Ranges,
        position: int,
    ) -> Self: ...
    def next_batch(
        self, bytes_wanted: int
    ) -> (
        tuple[bytes, bytes, bytes, bytes, list[tuple[int, _Ranges]], list[tuple[int, str, str]]]
        | None
    ): ...
    def end(self) -> tuple[_Refusal | None, bytes, int] | None: ...
    def prolog(self) -> _Ranges: ...

def select(
    document: bytes, query: str, namespaces: list[tuple[str, str]]
) -> list[tuple[str, list[tuple[int, int]]]]: ...

_Node: TypeAlias = tuple[
    Literal["element", "attribute", "text"],
    tuple[str, str] | None,
    list[tuple[int, int, bool]],
    list[tuple[str, str]],
]
_Witness: TypeAlias = tuple[str, list[tuple[int, int, bool]]]
_Explanation: TypeAlias = tuple[
    tuple[Any, ...],
    int,
    list[_Witness],
    tuple[int, list[_Witness]] | None,
    list[tuple[int, int | None, int, list[_Witness]]],
]

@final
class Index:
    def __new__(cls) -> Self: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> tuple[Index | None, tuple[str, str] | None]: ...
    @staticmethod
    def from_bytes(content: Buffer) -> tuple[Index | None, tuple[str, str] | None]: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def add_many(
        self,
        ids: list[str],
        queries: list[str],
        namespaces: list[tuple[str, str]],
        default_namespace: str,
        header_tests: list[list[tuple[str, str]]] = ...,
    ) -> list[tuple[int, str, str, int | None]]: ...
    def remove(self, id: str) -> bool: ...
    def contains(self, id: str) -> bool: ...
    def query(self, id: str) -> str | None: ...
    def __len__(self) -> int: ...
    def stats(self) -> tuple[int, int, int]: ...
    def containers(
        self,
        query: CompiledQuery,
        header: list[tuple[str, str]],
        cache_bytes_max: int,
        undecided_max: int,
    ) -> list[str]: ...
    def all_containers(
        self, cache_bytes_max: int, undecided_max: int
    ) -> tuple[list[str], list[tuple[list[int], list[int]]]]: ...
    def contained(self, query: CompiledQuery, header: list[tuple[str, str]]) -> list[str]: ...
    def matcher(
        self, engine: str, limits: dict[str, int], cache_bytes_max: int, undecided_max: int
    ) -> Matcher: ...

def process_cache_bytes() -> int: ...

_Header: TypeAlias = list[tuple[str, str]]
_Outcome: TypeAlias = tuple[Handles, Handles, dict[str, int], _Refusal | None]
_Batch: TypeAlias = tuple[
    bytes,
    bytes,
    list[str],
    list[tuple[int, _Refusal]],
    list[tuple[int, list[int]]],
    dict[str, int],
]

_LabelPath: TypeAlias = tuple[int | None, tuple[str, str], list[tuple[str, str]], int]

@final
class LabelPaths:
    def __new__(cls, paths: Sequence[_LabelPath]) -> Self: ...
    def __len__(self) -> int: ...
    def paths(self) -> list[_LabelPath]: ...

@final
class Vocabulary:
    def __new__(
        cls, uris: Sequence[str], locals: Sequence[str], mentioned: Sequence[tuple[int, int]]
    ) -> Self: ...
    def classify(self, paths: LabelPaths) -> ClassifiedPaths: ...
    def main_paths(self, queries: Sequence[CompiledQuery | None]) -> MainPaths: ...
    def decode_skeleton(self, encoded: Buffer) -> bytes | None: ...
    def decode_bindings(
        self, encoded: Buffer, ranks_max: int, bindings_max: int
    ) -> list[tuple[int, list[tuple[int, int]]]] | None: ...

@final
class ClassifiedPaths:
    def encode_skeleton(self) -> bytes | None: ...
    def absent_elements(self) -> bytes: ...

@final
class MainPaths:
    def encode_last_offsets(self, paths: ClassifiedPaths, ranks: Sequence[int]) -> bytes: ...
    def encode_bindings(
        self,
        paths: ClassifiedPaths,
        requests: Sequence[tuple[int, bool]],
        paths_max: int,
        bindings_max: int,
    ) -> bytes: ...

def decode_last_offsets(encoded: Buffer, ranks_max: int) -> list[tuple[int, int]] | None: ...
def skeleton_limits() -> tuple[int, int]: ...

@disjoint_base
class DocumentMatcher:
    def match_bytes(self, document: Buffer, header: _Header = ...) -> _Outcome: ...
    def match_observed(
        self, document: Buffer, header: _Header, label_paths_max: int, stop_at: int | None
    ) -> tuple[_Outcome, LabelPaths | None]: ...
    def match_file(self, path: str | PathLike[str], header: _Header = ...) -> _Outcome: ...
    def match_chunks(self, chunks: Iterable[Buffer], header: _Header = ...) -> _Outcome: ...
    def match_batch(
        self, documents: Buffer, offsets: Buffer, headers: list[_Header] = ...
    ) -> _Batch: ...

@final
class Matcher(DocumentMatcher):
    def reading_within(self, limits: dict[str, int]) -> Matcher: ...
    def select(
        self, document: Buffer, ids: list[str]
    ) -> tuple[list[list[_Node] | None], _Summary | None, _Refusal | None]: ...
    def explain(self, document: Buffer, id: str) -> tuple[_Explanation | None, _Refusal | None]: ...
    def query(self, id: str) -> str | None: ...
    def tests_headers(self) -> bool: ...
    def header_tests(self, id: str) -> _Header: ...

_Part: TypeAlias = tuple[
    Literal["element", "attribute", "text", "content"],
    tuple[str, str] | None,
    tuple[int, int, bool],
    list[tuple[str, str]],
]
_Row: TypeAlias = tuple[
    Literal["element", "attribute", "text"],
    int,
    int,
    list[tuple[int, int, bool]],
    tuple[str, str] | None,
]

@final
class Mapping:
    def __new__(
        cls,
        nodes: Sequence[tuple[int, tuple[str, str], bool, Sequence[tuple[Any, ...]]]],
        attributes: int,
        copies_max: int,
        held_bytes_max: int,
    ) -> Self: ...

def match_mapped(
    matcher: Matcher,
    document: Buffer,
    mapping: Mapping,
    memoize_repeated: bool,
    header: _Header = ...,
) -> _Outcome: ...
def match_batch_mapped(
    matcher: Matcher,
    keywords: KeywordMatcher | None,
    documents: Buffer,
    offsets: Buffer,
    mappings: list[Mapping],
    rows: list[int | None],
    memoize_repeated: bool,
    headers: list[_Header] = ...,
) -> tuple[_Batch, list[tuple[int, int]]]: ...
def select_mapped(
    matcher: Matcher, document: Buffer, mapping: Mapping, ids: list[str]
) -> tuple[
    list[list[_Part] | None],
    _Summary | None,
    _Refusal | None,
]: ...

@final
class DocumentRewriter:
    def __new__(cls, limits: dict[str, int]) -> Self: ...
    def write(
        self, document: Buffer, mapping: Mapping, table: bool
    ) -> tuple[
        list[tuple[bytes, list[_Row]]], tuple[int, int, _Summary] | None, _Refusal | None
    ]: ...
    def cut(
        self,
        document: Buffer,
        requests: list[tuple[str, tuple[int, int, bool], tuple[str, str] | None]],
    ) -> tuple[list[_Part], _Summary | None, _Refusal | None]: ...

@final
class Handles:
    def __len__(self) -> int: ...
    def ids(self) -> tuple[str, ...]: ...

_Routes: TypeAlias = tuple[list[int], list[tuple[int, bytes]], list[int], bool]

@final
class RouteTable:
    def __new__(cls) -> RouteTable: ...
    def add(self, group: int, numbers: list[int], digests: bytes) -> None: ...
    def remove(self, numbers: list[int]) -> None: ...
    def announce(self, group: int, added: bytes, removed: bytes) -> None: ...
    def must_be_prepared(self, group: int) -> bool: ...
    def unannounced(self, group: int) -> list[int]: ...
    def set_containers(self, group: int, numbers: list[int], digests: bytes) -> None: ...
    def of_handles(self, matched: Handles, set_aside: list[int], source: int | None) -> _Routes: ...
    def of_numbers(
        self, matched: list[int], set_aside: list[int], source: int | None
    ) -> _Routes: ...
    def of_match_list(self, source: int, list: bytes) -> _Routes: ...
    def split_match_list(self, source: int, list: bytes) -> tuple[list[int], list[int]]: ...

_OptionFlags: TypeAlias = tuple[bool, bool, bool, bool]

def words(text: str, options: _OptionFlags) -> list[str]: ...
def parse_keywords(
    text: str, options: _OptionFlags
) -> tuple[tuple[list[str], Literal["all", "any"]] | None, tuple[str, str, int] | None]: ...
def keyword_limits() -> list[tuple[str, int]]: ...

@final
class KeywordIndex:
    def __new__(cls, options: _OptionFlags) -> Self: ...
    def options(self) -> list[bool]: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> tuple[KeywordIndex | None, tuple[str, str] | None]: ...
    @staticmethod
    def from_bytes(content: Buffer) -> tuple[KeywordIndex | None, tuple[str, str] | None]: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def add_many(
        self,
        ids: list[str],
        queries: list[str],
        header_tests: list[list[tuple[str, str]]] = ...,
    ) -> list[tuple[int, str, str, int | None]]: ...
    def remove(self, id: str) -> bool: ...
    def contains(self, id: str) -> bool: ...
    def query(self, id: str) -> str | None: ...
    def __len__(self) -> int: ...
    def stats(self) -> tuple[int, int, int]: ...
    def matcher(self, engine: str, limits: dict[str, int], discard: bool) -> KeywordMatcher: ...

_Span: TypeAlias = tuple[int, int, bool]
_Answer: TypeAlias = tuple[
    int,
    str,
    int,
    _Span,
    list[tuple[str, str]],
    list[tuple[str, int, list[tuple[int, str, _Span]]]],
    list[_Span],
    int,
    bool,
]

@final
class PathReturns:
    def __len__(self) -> int: ...
    def fragment(self, number: int) -> tuple[list[_Span], list[tuple[str, str]]]: ...
    def columns(self, document: Buffer, encoding: str, limit: int) -> list[bytes] | None: ...

@final
class KeywordMatcher(DocumentMatcher):
    def counters(self) -> dict[str, int]: ...
    def answers(
        self, document: Buffer, ids: list[str], limit: int | None
    ) -> tuple[list[tuple[int, list[_Answer]]], _Summary | None, _Refusal | None]: ...
    def path_returns(
        self, document: Buffer, ids: list[str]
    ) -> tuple[list[PathReturns], _Summary | None, _Refusal | None]: ...
    def baseline_answers(
        self, document: Buffer
    ) -> tuple[dict[str, tuple[int, ...]], _Refusal | None]: ...
    def query(self, id: str) -> str | None: ...
    def tests_headers(self) -> bool: ...
    def header_tests(self, id: str) -> _Header: ...

@final
class CombinedMatcher(DocumentMatcher):
    def __new__(cls, paths: Matcher, keywords: KeywordMatcher) -> Self: ...
