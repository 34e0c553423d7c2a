"""What a mediator hands to routers: which mapping the documents of which schema have."""

from __future__ import annotations

import json
from collections.abc import Mapping as Mapped
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from penstock.errors import error

UnknownSchema: TypeAlias = Literal["refuse", "as-is"]
"""What becomes of a document that names a schema which nobody registered: a dead letter, or it is
matched as it is."""

UNKNOWN_SCHEMA: Final[tuple[UnknownSchema, ...]] = get_args(UnknownSchema)

FORMAT: Final = 1
"""Of the text; what a newer Penstock writes may not be read."""

ANY_PUBLISHER: Final = ""
"""In place of a publisher's name: a schema that several use, and mean the same by."""


@dataclass(frozen=True, slots=True)
class MappingTable:
    """The mappings of one moment, by schema and by digest. It never changes.

    >>> table = MappingTable({("north", "catalogue"): "sha256:1"}, frozenset({"courses"}))
    >>> table.digest_for("north", "catalogue"), table.digest_for("south", "catalogue")
    ('sha256:1', None)
    >>> table.is_global("courses")
    True
    """

    by_schema: Mapped[tuple[str, str], str]
    """The digest of the mapping for the documents of a publisher and a schema."""
    domains: frozenset[str] = frozenset()
    """Names of global schemas: documents that name one of them need no mapping."""
    texts: Mapped[str, str] = field(default_factory=dict)
    """Mappings by digest, as :meth:`~penstock.mediation.Mapping.to_text` prints them."""
    unknown_schema: UnknownSchema = "refuse"

    def __post_init__(self) -> None:
        if self.unknown_schema not in UNKNOWN_SCHEMA:
            choices = " and ".join(map(repr, UNKNOWN_SCHEMA))
            raise ValueError(f"unknown_schema is one of {choices}, not {self.unknown_schema!r}")

    def digest_for(self, publisher: str, schema: str) -> str | None:
        """The mapping of a publisher's own schema, or else of one for any publisher."""
        own = self.by_schema.get((publisher, schema))
        return self.by_schema.get((ANY_PUBLISHER, schema)) if own is None else own

    def is_global(self, schema: str) -> bool:
        """Whether documents of this schema are what subscriptions are written for."""
        return schema in self.domains

    def to_text(self) -> str:
        """The table as text; the same table is the same text."""
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
        """Read what :meth:`to_text` gave.

        Raises
        ------
        IndexFileError
            ``index.too-new``
        """
        found = json.loads(text)
        if found["format"] > FORMAT:
            raise error("index.too-new", "these mappings are of a format of the future")
        return cls(
            {(publisher, schema): digest for publisher, schema, digest in found["schemas"]},
            frozenset(found["domains"]),
            found["mappings"],
            found["unknown_schema"],
        )
