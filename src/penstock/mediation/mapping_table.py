"""The mapping table that a mediator distributes to routers: mappings by schema."""

from __future__ import annotations

import json
from collections.abc import Mapping as Mapped
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, Literal, TypeAlias, get_args

from penstock.errors import IndexFileError, error

UnknownSchema: TypeAlias = Literal["refuse", "as-is"]
"""Treatment of documents with an unregistered schema: refuse them, or match them without a
mapping."""

UNKNOWN_SCHEMA: Final[tuple[UnknownSchema, ...]] = get_args(UnknownSchema)

FORMAT: Final = 1
"""Version of the text format."""

ANY_PUBLISHER: Final = ""
"""The publisher of a schema shared by all publishers."""


@dataclass(frozen=True, slots=True)
class MappingTable:
    """An immutable snapshot of the mappings, by schema and by digest.

    >>> table = MappingTable({("north", "catalogue"): "sha256:1"}, frozenset({"courses"}))
    >>> table.digest_for("north", "catalogue"), table.digest_for("south", "catalogue")
    ('sha256:1', None)
    >>> table.is_global("courses")
    True
    """

    by_schema: Mapped[tuple[str, str], str]
    """Digests of mappings by publisher and schema."""
    domains: frozenset[str] = frozenset()
    """Names of global schemas, whose documents need no mapping."""
    texts: Mapped[str, str] = field(default_factory=dict)
    """Mapping texts by digest."""
    unknown_schema: UnknownSchema = "refuse"

    def __post_init__(self) -> None:
        if self.unknown_schema not in UNKNOWN_SCHEMA:
            choices = " and ".join(map(repr, UNKNOWN_SCHEMA))
            raise ValueError(
                f"unknown_schema must be one of {choices}, not {self.unknown_schema!r}"
            )

    def digest_for(self, publisher: str, schema: str) -> str | None:
        """The mapping digest of a publisher's own schema, else of a shared one."""
        own = self.by_schema.get((publisher, schema))
        return self.by_schema.get((ANY_PUBLISHER, schema)) if own is None else own

    def is_global(self, schema: str) -> bool:
        """Whether this is a global schema."""
        return schema in self.domains

    def to_text(self) -> str:
        """The table as canonical text."""
        return json.dumps(
            {
                "format": FORMAT,
                "unknown_schema": self.unknown_schema,
                "domains": sorted(self.domains),
                "schemas": [[*key, digest] for key, digest in sorted(self.by_schema.items())],
                "mappings": dict(sorted(self.texts.items())),
            },
            ensure_ascii=False,
        )

    @classmethod
    def from_text(cls, text: str) -> MappingTable:
        """Parse the result of :meth:`to_text`.

        Raises
        ------
        IndexFileError
            ``index.too-new`` or ``index.damaged``
        """
        try:
            found = json.loads(text)
            if found["format"] > FORMAT:
                raise error("index.too-new", "the mapping table has a newer format version")
            schemas = [
                (publisher, schema, digest) for publisher, schema, digest in found["schemas"]
            ]
            domains, texts = frozenset(found["domains"]), dict(found["mappings"])
            for each in (*chain.from_iterable(schemas), *domains, *chain(*texts.items())):
                if not isinstance(each, str):
                    raise TypeError(f"{each!r} is not a string")
            by_schema = {(publisher, schema): digest for publisher, schema, digest in schemas}
            return cls(by_schema, domains, texts, found["unknown_schema"])
        except IndexFileError:
            raise
        except (ValueError, LookupError, TypeError, RecursionError) as reason:
            raise error("index.damaged", "the content of the mapping table is invalid") from reason
