"""The global schema of a domain: what subscribers write their queries against."""

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
    """A schema tree with the domain that it is for, and a version that counts from 1.

    Every place of a version is a place of all later ones, so subscriptions stay as they are.

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
    """The digest of the version before; ``None`` for the first, and where it is not known."""

    def __post_init__(self) -> None:
        if not _DOMAIN.fullmatch(self.domain) or len(self.domain) > DOMAIN_LENGTH_MAX:
            raise error("schema.domain", f"{self.domain!r} is no name of a domain")
        if self.version < 1:
            raise error("schema.domain", f"versions count from 1, and this is {self.version}")

    @classmethod
    def from_text(cls, text: str) -> GlobalSchema:
        """Read a schema file that names its domain.

        Raises :class:`~penstock.errors.SchemaError`: ``schema.file`` where it is no schema file,
        ``schema.domain`` where it does not say of which domain.
        """
        outline = read_outline(text, "schema", "schema.file")
        for note in outline.notes:
            raise error("schema.file", "a schema has no operators: this is a mapping", note.where)
        edition = outline.edition
        if edition is None:
            raise error("schema.domain", "the schema does not say of which domain it is")
        return cls(edition.domain, edition.version, outline.tree, edition.predecessor)

    def to_text(self) -> str:
        """The schema file: read again, it gives the same global schema."""
        edition = Edition(self.domain, self.version, self.predecessor)
        return print_schema(self.tree, [str(edition)])

    @property
    def digest(self) -> str:
        """The same for equal global schemas, and only for those."""
        return f"sha256:{hashlib.sha256(self.to_text().encode()).hexdigest()}"
