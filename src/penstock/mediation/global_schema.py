"""The global schema of a domain, which subscriptions refer to."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from penstock.errors import error
from penstock.mediation.limits import DOMAIN_LENGTH_MAX
from penstock.schema import SchemaTree
from penstock.schema.outline import Edition, print_schema, read_outline

_DOMAIN = re.compile(r"[^\W_][\w.-]*")


@dataclass(frozen=True, slots=True)
class GlobalSchema:
    """A schema tree with its domain and a version number, from 1.

    Later versions keep all places of earlier ones, so subscriptions remain valid.

    >>> first = GlobalSchema.from_text('''penstock schema 1
    ... domain courses version 1
    ...
    ... catalogue
    ...   course*
    ... ''')
    >>> first.domain, first.version
    ('courses', 1)
    """

    domain: str
    version: int
    tree: SchemaTree
    predecessor: str | None = None
    """Digest of the previous version; ``None`` for the first or if unknown."""

    def __post_init__(self) -> None:
        if not _DOMAIN.fullmatch(self.domain) or len(self.domain) > DOMAIN_LENGTH_MAX:
            raise error("schema.domain", f"{self.domain!r} is not a valid domain name")
        if self.version < 1:
            raise error("schema.domain", f"versions start at 1, not {self.version}")

    @classmethod
    def from_text(cls, text: str) -> GlobalSchema:
        """Parse a schema file that names its domain.

        Raises :class:`~penstock.errors.SchemaError`: ``schema.file`` for an invalid file,
        ``schema.domain`` if the domain is missing.
        """
        outline = read_outline(text, "schema", "schema.file")
        for note in outline.notes:
            raise error(
                "schema.file",
                "a schema must not contain operators; this is a mapping file",
                note.where,
            )
        edition = outline.edition
        if edition is None:
            raise error("schema.domain", "the schema does not name its domain")
        return cls(edition.domain, edition.version, outline.tree, edition.predecessor)

    def to_text(self) -> str:
        """The text of the schema file; parsing it yields the same global schema."""
        edition = Edition(self.domain, self.version, self.predecessor)
        return print_schema(self.tree, [str(edition)])

    @property
    def digest(self) -> str:
        """A digest that identifies the global schema."""
        return f"sha256:{hashlib.sha256(self.to_text().encode()).hexdigest()}"
