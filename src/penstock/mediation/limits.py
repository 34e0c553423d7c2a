"""The named limits of mediation, all in one place."""

from __future__ import annotations

from typing import Final

COPIES_MAX: Final[int] = 1_000_000
"""Elements and texts that Exchange and Downgrade may copy while one document is rewritten; past it
the document is refused with ``mapping.copies``."""

COPIED_NODE_BYTES: Final[int] = 64
"""For each so many bytes a text that is copied counts as one node more, and so do the values of an
element's attributes: a few nodes could be copied into gigabytes. Fixed: the native core has the
same."""

HELD_BYTES_MAX: Final[int] = 256 << 20
"""Memory for what a native rewriter holds back of one document at once because an operator blocks;
past it the document is refused with ``mapping.held``."""

COMPILED_MAX: Final[int] = 1_000
"""Mappings that one matcher keeps ready for the native core; past it they are made ready anew."""

DOMAIN_LENGTH_MAX: Final[int] = 100
"""Characters in the name of a domain; a longer one is refused with ``schema.domain``."""

MAPPINGS_CACHED_MAX: Final[int] = 1_000
"""Mappings that a router keeps as they were read, by digest; past it the one not used for longest
is read again when it is needed."""

CARRIED_MAPPING_BYTES_MAX: Final[int] = 64 << 10
"""Bytes of a mapping in a document's header, where anyone may put one; past it the document is
refused with ``mediation.carried``. A larger mapping is registered, and named by its digest."""

LOCAL_SCHEMAS_MAX: Final[int] = 100_000
"""Local schemas that a mediator knows; one more is refused with ``mediation.limit``."""

EARLIER_MAPPINGS_MAX: Final[int] = 10
"""Mappings that a local schema had before and that are still handed out by digest, to documents
that were sent with them; past it the oldest is forgotten."""

NAME_CHARACTERS_MAX: Final[int] = 200
"""Characters in the name of a publisher or a local schema that is registered."""

MATCHED_PAIRS_MAX: Final[int] = 4_000_000
"""Places of one schema times places of the other, when schemas are matched automatically; past it
they are refused with ``mapping.pairs``."""

JOINS_MAX: Final[int] = 4
"""How often a local schema is let join a global one anew, because it would add something else if it
joined once more; past it the last result counts. Once was always enough so far."""

ALTERNATIVES_MAX: Final[int] = 256
"""Alternatives of conditions that a query may have while it is rewritten for a local schema; past
it the query is refused with ``mapping.query``."""

QUERY_PLACES_MAX: Final[int] = 20_000
"""Places of the transformed schema that one query's steps may be tried at while it is rewritten;
past it the query is refused with ``mapping.query``."""
