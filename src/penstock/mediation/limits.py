"""The limits of mediation."""

from __future__ import annotations

from typing import Final

COPIES_MAX: Final[int] = 1_000_000
"""Elements and texts that Exchange and Downgrade may copy per document, and elements that Insert
may create after the first of each path; beyond it, the document is refused with
``mapping.copies``."""

COPIED_NODE_BYTES: Final[int] = 64
"""Bytes of copied text or attribute values that count as one more copied node, since copies of a
few large nodes could use gigabytes. Fixed: the native core uses the same value."""

HELD_BYTES_MAX: Final[int] = 256 << 20
"""Memory of a native rewriter for content buffered by blocking operators; beyond it, the document
is refused with ``mapping.held``."""

COMPILED_MAX: Final[int] = 1_000
"""Compiled mappings cached per matcher; beyond it, they are compiled again."""

DOMAIN_LENGTH_MAX: Final[int] = 100
"""Characters in a domain name; a longer one is refused with ``schema.domain``."""

MAPPINGS_CACHED_MAX: Final[int] = 1_000
"""Parsed mappings cached per router, by digest; the least recently used one is evicted."""

CARRIED_MAPPING_BYTES_MAX: Final[int] = 64 << 10
"""Bytes of a mapping in a document's header, which is untrusted; beyond it, the document is refused
with ``mediation.carried``. Larger mappings must be registered and named by digest."""

LOCAL_SCHEMAS_MAX: Final[int] = 100_000
"""Registered local schemas per mediator; further ones are refused with ``mediation.limit``."""

EARLIER_MAPPINGS_MAX: Final[int] = 10
"""Former mappings of a local schema that remain available by digest, for documents sent with them;
beyond it, the oldest is removed."""

NAME_CHARACTERS_MAX: Final[int] = 200
"""Characters in the name of a registered publisher or local schema."""

MATCHED_PAIRS_MAX: Final[int] = 4_000_000
"""Product of the numbers of places in automatic schema matching; beyond it, the schemas are refused
with ``mapping.pairs``."""

CLUSTERED_SCHEMAS_MAX: Final[int] = 64
"""Schemas that one integration matches with each other; the smaller ones beyond it are matched only
with the result, one by one."""

CLUSTERED_PAIRS_MAX: Final[int] = 1_000_000
"""Pairs of places that one integration compares when it matches schemas with each other; beyond it,
smaller schemas are matched only with the result, one by one."""

JOINS_MAX: Final[int] = 4
"""Repetitions of merging a local schema until it is stable; then the last result is used. So far
one repetition has always sufficed."""

ALTERNATIVES_MAX: Final[int] = 256
"""Alternatives of conditions in a rewritten query; beyond it, the query is refused with
``mapping.query``."""

QUERY_PLACES_MAX: Final[int] = 20_000
"""Places of the transformed schema tried for the steps of one query; beyond it, the query is
refused with ``mapping.query``."""

TRANSFORMED_DEPTH_MAX: Final[int] = 200
"""Levels of a transformed local schema, inserted paths included: as many as a schema file may have;
beyond it, the mapping is refused with ``mapping.levels``."""
