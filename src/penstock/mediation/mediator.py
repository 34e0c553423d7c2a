"""The mediator: publishers and their schemas, domains and their global schemas, and the mappings.

It is a state without input or output. Someone who has a disk keeps it, someone who has a network
carries what it hands out: a :class:`~penstock.mediation.mapping_table.MappingTable`, which routers
choose by, or single mappings.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Mapped
from dataclasses import dataclass

from penstock.errors import error
from penstock.mediation import limits
from penstock.mediation.comparison import Comparison, compare
from penstock.mediation.global_schema import GlobalSchema
from penstock.mediation.mapping import Mapping
from penstock.mediation.mapping_table import ANY_PUBLISHER, MappingTable, UnknownSchema
from penstock.schema import SchemaTree


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSchema:
    """A schema that documents name in their headers, and how they meet the global one."""

    publisher: str = ANY_PUBLISHER
    """Whose documents; empty where any publisher's that name the schema."""
    name: str
    domain: str
    version: int
    """The version of the domain's global schema that the mapping was registered for."""
    digest: str
    """The mapping's."""
    earlier: tuple[str, ...] = ()
    """Digests of mappings that it had before, the last first."""


class Mediator:
    """Knows every publisher's schema, and hands mappings out.

    Parameters
    ----------
    global_schemas
        Of each domain its versions.
    local_schemas, texts
        What was registered, and the mappings by digest as they are printed.

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

    @property
    def global_schemas(self) -> list[GlobalSchema]:
        """Every version of every domain's global schema, in order."""
        return [
            versions[number]
            for _, versions in sorted(self._versions.items())
            for number in sorted(versions)
        ]

    @property
    def local_schemas(self) -> list[LocalSchema]:
        """What is registered, by publisher and name."""
        return [self._local[key] for key in sorted(self._local)]

    @property
    def texts(self) -> Mapped[str, str]:
        """The mappings by digest, as they are printed."""
        return self._texts

    @property
    def domains(self) -> list[str]:
        """The names of the domains."""
        return sorted(self._versions)

    def global_schema(self, domain: str, version: int | None = None) -> GlobalSchema:
        """A version of a domain's global schema; by default the last.

        Raises
        ------
        MappingError
            ``mediation.domain``
        """
        versions = self._versions.get(domain)
        if versions is None:
            raise error("mediation.domain", f"there is no domain `{domain}`")
        found = versions.get(max(versions) if version is None else version)
        if found is None:
            raise error("mediation.domain", f"the domain `{domain}` has no version {version}")
        return found

    def next_version(self, domain: str, tree: SchemaTree) -> GlobalSchema:
        """The version that a tree would be of a domain: the next, or the last where it is that."""
        if domain not in self._versions:
            return GlobalSchema(domain, 1, tree)
        last = self.global_schema(domain)
        return (
            last if last.tree == tree else GlobalSchema(domain, last.version + 1, tree, last.digest)
        )

    def add(self, schema: GlobalSchema) -> bool:
        """Add a version of a global schema, the first or a later one; whether it was new.

        Raises
        ------
        MappingError
            ``mediation.version``: it is another schema of a number that is taken, or lacks
            something that subscriptions may be about.
        """
        versions = self._versions.setdefault(schema.domain, {})
        if versions.get(schema.version) == schema:
            return False
        if versions:
            _check_follows(versions[max(versions)], schema)
        versions[schema.version] = schema
        return True

    def remove(self, domain: str) -> None:
        """Remove a domain that no local schema belongs to.

        Raises
        ------
        MappingError
            ``mediation.domain``: there is none, or it is in use.
        """
        self.global_schema(domain)
        for local in self.local_schemas:
            if local.domain == domain:
                told = f"the schema `{local.name}` of {_owner(local.publisher)} is registered"
                raise error("mediation.domain", f"{told} for the domain `{domain}`")
        del self._versions[domain]

    def register(
        self,
        name: str,
        mapping: Mapping,
        *,
        publisher: str = ANY_PUBLISHER,
        domain: str | None = None,
    ) -> LocalSchema:
        """Register a local schema, or give it another mapping.

        Parameters
        ----------
        name
            What headers call the schema.
        mapping
            Turns its documents into those of the domain's global schema, as its last version is.
        publisher
            Whose schema it is; by default that of any publisher who names it.
        domain
            May be left out where there is only one.

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
            raise error("mediation.limit", f"{len(self._local)} local schemas are registered")
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
        self._forget_unused()
        return made

    def withdraw(self, publisher: str, name: str) -> None:
        """Forget a local schema, with its mappings.

        Raises
        ------
        MappingError
            ``mediation.unregistered``
        """
        self.local_schema(publisher, name)
        del self._local[publisher, name]
        self._forget_unused()

    def local_schema(self, publisher: str, name: str) -> LocalSchema:
        """What is registered for exactly this publisher, or, without a name, for any.

        Raises
        ------
        MappingError
            ``mediation.unregistered``
        """
        found = self._local.get((publisher, name))
        if found is None:
            told = f"no schema `{name}` is registered for {_owner(publisher)}"
            raise error("mediation.unregistered", told)
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
        """How what a local schema becomes differs from its domain's global schema of now."""
        transformed = self.mapping(local.digest).transformed.tree
        return compare(transformed, self.global_schema(local.domain).tree)

    def table(self, *, unknown_schema: UnknownSchema = "refuse") -> MappingTable:
        """What routers choose by."""
        return MappingTable(
            {key: local.digest for key, local in self._local.items()},
            frozenset(self._versions),
            dict(self._texts),
            unknown_schema,
        )

    def _only_domain(self) -> str:
        if len(self._versions) != 1:
            several = f"there are several domains: {', '.join(self.domains)}"
            raise error("mediation.domain", several if self._versions else "there is no domain")
        return next(iter(self._versions))

    def _forget_unused(self) -> None:
        used = {digest for each in self._local.values() for digest in (each.digest, *each.earlier)}
        self._texts = {digest: text for digest, text in self._texts.items() if digest in used}


def _check_follows(last: GlobalSchema, schema: GlobalSchema) -> None:
    told = f"version {schema.version} of `{schema.domain}`"
    if schema.version <= last.version:
        raise error("mediation.version", f"{told} is another, and {last.version} is the last")
    places = set(schema.tree.places())
    for place in last.tree.places():
        if place not in places:
            raise error(
                "mediation.version", f"{told} has no {place}, which version {last.version} has"
            )


def _owner(publisher: str) -> str:
    return "any publisher" if publisher == ANY_PUBLISHER else f"`{publisher}`"


def _check_name(what: str, name: str) -> None:
    if not name or name != name.strip() or not name.isprintable():
        raise error("mediation.name", f"{name!r} is no name of a {what}")
    if len(name) > limits.NAME_CHARACTERS_MAX:
        told = f"the name of a {what} has {len(name)} characters, more than"
        raise error("mediation.name", f"{told} {limits.NAME_CHARACTERS_MAX}")
