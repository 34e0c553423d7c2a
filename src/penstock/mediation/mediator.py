"""The mediator: registered local schemas, global schemas of domains, and mappings.

It performs no input or output: other components store its state and distribute its
:class:`~penstock.mediation.mapping_table.MappingTable`, which routers select mappings from.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Mapped
from dataclasses import dataclass

from penstock.errors import error
from penstock.mediation import limits
from penstock.mediation.global_schema import GlobalSchema
from penstock.mediation.mapping import Mapping
from penstock.mediation.mapping_table import ANY_PUBLISHER, MappingTable, UnknownSchema
from penstock.mediation.schema_comparison import Comparison, compare
from penstock.schema import SchemaTree


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSchema:
    """A registered schema that documents name in their headers, with its mapping."""

    publisher: str = ANY_PUBLISHER
    """The publisher of the documents; empty for any publisher."""
    name: str
    domain: str
    version: int
    """The version of the domain's global schema that the mapping was registered for."""
    digest: str
    """Digest of the mapping."""
    earlier: tuple[str, ...] = ()
    """Digests of former mappings, latest first."""


class Mediator:
    """Registers local schemas and provides their mappings.

    Parameters
    ----------
    global_schemas
        The versions of each domain's global schema.
    local_schemas, texts
        The registered local schemas, and the mapping texts by digest.

    Examples
    --------
    >>> from penstock.schema import read_tree
    >>> mediator = Mediator()
    >>> first = mediator.next_version("courses", read_tree('''penstock schema 1
    ... catalogue
    ...   course* text
    ... '''))
    >>> mediator.add(first)
    True
    >>> mapping = Mapping.from_text('''penstock mapping 1
    ... katalog
    ...   => rename catalogue
    ...   kurs* text
    ...     => rename course
    ... ''')
    >>> mediator.register("katalog", mapping, publisher="south").version
    1
    >>> mediator.mapping_of("south", "katalog") == mapping
    True
    """

    def __init__(
        self,
        global_schemas: Iterable[GlobalSchema] = (),
        local_schemas: Iterable[LocalSchema] = (),
        texts: Mapped[str, str] | None = None,
    ) -> None:
        self._versions: dict[str, dict[int, GlobalSchema]] = {}
        for schema in global_schemas:
            self._versions.setdefault(schema.domain, {})[schema.version] = schema
        self._local = {(each.publisher, each.name): each for each in local_schemas}
        self._texts = dict(texts or {})

    def __repr__(self) -> str:
        return f"<Mediator: {len(self._versions)} domains, {len(self._local)} local schemas>"

    @property
    def global_schemas(self) -> list[GlobalSchema]:
        """All versions of all global schemas, in order."""
        return [
            versions[number]
            for _, versions in sorted(self._versions.items())
            for number in sorted(versions)
        ]

    @property
    def local_schemas(self) -> list[LocalSchema]:
        """The registered local schemas, sorted by publisher and name."""
        return [self._local[key] for key in sorted(self._local)]

    @property
    def texts(self) -> Mapped[str, str]:
        """The mapping texts by digest."""
        return self._texts

    @property
    def domains(self) -> list[str]:
        """The names of the domains."""
        return sorted(self._versions)

    def global_schema(self, domain: str, version: int | None = None) -> GlobalSchema:
        """A version of a domain's global schema, by default the latest.

        Raises
        ------
        MappingError
            ``mediation.domain``
        """
        versions = self._versions.get(domain)
        if versions is None:
            raise error("mediation.domain", f"unknown domain `{domain}`")
        found = versions.get(max(versions) if version is None else version)
        if found is None:
            raise error("mediation.domain", f"the domain `{domain}` has no version {version}")
        return found

    def next_version(self, domain: str, tree: SchemaTree) -> GlobalSchema:
        """The global schema of a tree: the next version, or the latest if it is equal."""
        if domain not in self._versions:
            return GlobalSchema(domain, 1, tree)
        last = self.global_schema(domain)
        return (
            last if last.tree == tree else GlobalSchema(domain, last.version + 1, tree, last.digest)
        )

    def add(self, schema: GlobalSchema) -> bool:
        """Add a version of a global schema; returns whether it is new.

        Raises
        ------
        MappingError
            ``mediation.version``: the version number is taken by another schema, or the schema
            lacks places of the previous version.
        """
        versions = self._versions.setdefault(schema.domain, {})
        if versions.get(schema.version) == schema:
            return False
        if versions:
            _check_follows(versions[max(versions)], schema)
        versions[schema.version] = schema
        return True

    def remove(self, domain: str) -> None:
        """Remove a domain without local schemas.

        Raises
        ------
        MappingError
            ``mediation.domain``: the domain is unknown or in use.
        """
        self.global_schema(domain)
        for local in self.local_schemas:
            if local.domain == domain:
                text = f"the schema `{local.name}` of {_owner(local.publisher)} is registered"
                raise error("mediation.domain", f"{text} for the domain `{domain}`")
        del self._versions[domain]

    def register(
        self,
        name: str,
        mapping: Mapping,
        *,
        publisher: str = ANY_PUBLISHER,
        domain: str | None = None,
    ) -> LocalSchema:
        """Register a local schema, or replace its mapping.

        Parameters
        ----------
        name
            The name of the schema in headers.
        mapping
            The mapping to the latest version of the domain's global schema.
        publisher
            The publisher of the schema; by default any publisher.
        domain
            Optional if there is only one.

        Raises
        ------
        MappingError
            ``mediation.domain``, ``mediation.name`` or ``mediation.limit``.
        """
        if publisher != ANY_PUBLISHER:
            _check_name("publisher", publisher)
        _check_name("schema", name)
        target = self.global_schema(self._only_domain() if domain is None else domain)
        digest = mapping.digest
        known = self._local.get((publisher, name))
        if known is None and len(self._local) >= limits.LOCAL_SCHEMAS_MAX:
            raise error(
                "mediation.limit", f"{len(self._local)} local schemas are already registered"
            )
        before = () if known is None else (known.digest, *known.earlier)
        made = LocalSchema(
            publisher=publisher,
            name=name,
            domain=target.domain,
            version=target.version,
            digest=digest,
            earlier=tuple(each for each in before if each != digest)[: limits.EARLIER_MAPPINGS_MAX],
        )
        self._local[publisher, name] = made
        self._texts[digest] = mapping.to_text()
        self._remove_unused()
        return made

    def withdraw(self, publisher: str, name: str) -> None:
        """Remove a local schema with its mappings.

        Raises
        ------
        MappingError
            ``mediation.unregistered``
        """
        self.local_schema(publisher, name)
        del self._local[publisher, name]
        self._remove_unused()

    def local_schema(self, publisher: str, name: str) -> LocalSchema:
        """The local schema registered for exactly this publisher, or for any if empty.

        Raises
        ------
        MappingError
            ``mediation.unregistered``
        """
        found = self._local.get((publisher, name))
        if found is None:
            message = f"no schema `{name}` is registered for {_owner(publisher)}"
            raise error("mediation.unregistered", message)
        return found

    def mapping(self, digest: str) -> Mapping:
        """A mapping by its digest.

        Raises
        ------
        MappingError
            ``mediation.unregistered``
        """
        text = self._texts.get(digest)
        if text is None:
            raise error("mediation.unregistered", f"no mapping {digest} is registered")
        return Mapping.from_text(text)

    def mapping_of(self, publisher: str, name: str) -> Mapping:
        """The mapping for a publisher's documents of a schema.

        Raises
        ------
        MappingError
            ``mediation.unregistered``
        """
        own = (publisher, name) in self._local
        return self.mapping(self.local_schema(publisher if own else ANY_PUBLISHER, name).digest)

    def comparison(self, local: LocalSchema) -> Comparison:
        """Compares the transformed local schema with the current global schema."""
        transformed = self.mapping(local.digest).transformed.tree
        return compare(transformed, self.global_schema(local.domain).tree)

    def table(self, *, unknown_schema: UnknownSchema = "refuse") -> MappingTable:
        """The mapping table for routers."""
        return MappingTable(
            {key: local.digest for key, local in self._local.items()},
            frozenset(self._versions),
            dict(self._texts),
            unknown_schema,
        )

    def _only_domain(self) -> str:
        if len(self._versions) != 1:
            several = f"there are several domains: {', '.join(self.domains)}"
            raise error("mediation.domain", several if self._versions else "there are no domains")
        return next(iter(self._versions))

    def _remove_unused(self) -> None:
        used = {digest for each in self._local.values() for digest in (each.digest, *each.earlier)}
        self._texts = {digest: text for digest, text in self._texts.items() if digest in used}


def _check_follows(last: GlobalSchema, schema: GlobalSchema) -> None:
    text = f"version {schema.version} of `{schema.domain}`"
    if schema.version <= last.version:
        raise error("mediation.version", f"{text} differs, and {last.version} is the latest")
    places = set(schema.tree.places())
    for place in last.tree.places():
        if place not in places:
            raise error("mediation.version", f"{text} lacks {place} of version {last.version}")


def _owner(publisher: str) -> str:
    return "any publisher" if publisher == ANY_PUBLISHER else f"`{publisher}`"


def _check_name(what: str, name: str) -> None:
    if not name or name != name.strip() or not name.isprintable():
        raise error("mediation.name", f"{name!r} is not a valid {what} name")
    if len(name) > limits.NAME_CHARACTERS_MAX:
        text = f"the {what} name has {len(name)} characters, more than"
        raise error("mediation.name", f"{text} {limits.NAME_CHARACTERS_MAX}")
