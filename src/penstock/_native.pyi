"""The native core, private: everything public wraps it. A test compares this with the module."""

from collections.abc import Iterable
from typing import Any, Self, TypeAlias, final

__version__: str
BUILD_PROFILE: str

def parse_query(
    text: str, namespaces: list[tuple[str, str]], default_namespace: str, normal: bool
) -> tuple[tuple[Any, ...] | None, tuple[str, str, int | None] | None]: ...

_Refusal: TypeAlias = tuple[str, str, int, int, int]
_Summary: TypeAlias = tuple[int, int, int, str, tuple[int, int, bool] | None]

def reader_codes() -> list[str]: ...
def default_limits() -> list[tuple[str, int]]: ...
def decode(bytes: bytes, label: str) -> str | None: ...
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

def select(
    document: bytes, query: str, namespaces: list[tuple[str, str]]
) -> list[tuple[str, list[tuple[int, int]]]]: ...
