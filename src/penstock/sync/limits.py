"""The limits of synchronisation."""

from __future__ import annotations

from typing import Final

AFFECTED_CACHE_BYTES_MAX: Final[int] = 64 << 20
"""Bytes of cached automaton states of an index of affected subscriptions; at the limit, the cache
is cleared and rebuilt on demand."""

AFFECTED_SUBSCRIPTIONS_MAX: Final[int] = 16_000_000
"""Subscriptions of an index of affected subscriptions."""

TREE_NODES_MAX: Final = 50_000_000
"""Nodes of a document, deleted ones within the horizon included; beyond it, the document or the
operation is refused with ``limit.tree``."""

TREE_TEXT_BYTES_MAX: Final = 2 << 30
"""Bytes of the values in a document, replaced ones within the horizon included; likewise."""

STATEMENT_OPERATIONS_MAX: Final = 100_000
"""Operations that a statement may be resolved to; beyond it, it is refused with
``update.limit``."""

STATEMENT_VISITS_MAX: Final = 20_000_000
"""Nodes that the paths of a statement may visit, each as often as it is visited; beyond it, the
statement is refused with ``update.limit``."""

STATEMENT_NODES_MAX: Final = 1_000_000
"""Nodes that the insertions and copies of a statement may create; beyond it, a client refuses the
statement with ``update.limit``. A server applies the operations before the one that exceeds it, and
refuses and reports that and those after it."""

STATEMENT_WORK_MAX: Final = 3_000_000
"""Nodes that the operations of a statement may touch, each as often as it is touched: those that
they create, those of moved subtrees, up to ``LISTED_CONTENT_MAX`` of deleted, restored and renamed
ones, and those above all of these; likewise."""

ROUND_WORK_MAX: Final = 1_000_000
"""Nodes that the statements of a client may touch in one round, counted as those of a statement;
after the statement that exceeds it, the client's others wait for the next round, which serves the
other clients first."""

STATEMENT_TEXT_CHARACTERS_MAX: Final = 10_000
"""Characters that are kept of a statement's text; the operations are what counts."""

INSERTED_NODES_MAX: Final = 1_000_000
"""Nodes of an inserted subtree; beyond it, the operation is refused with ``sync.message``."""

PENDING_STATEMENTS_MAX: Final = 10_000
"""Statements that a client may hold until the server has decided them; beyond it, a statement is
refused with ``sync.pending``."""

REQUEST_STATEMENTS_MAX: Final = 1_000
"""Statements in one request; a client sends the others in later requests."""

NODE_ATTRIBUTES_MAX: Final = 10_000
"""Attributes, and namespace declarations, of a node in a message; beyond it, the message is refused
with ``sync.message``."""

SUBSCRIPTION_NAMESPACES_MAX: Final = 1_000
"""Prefixes that a client's subscription binds; likewise."""

UNDO_STATEMENTS_MAX: Final = 1_000
"""Statements that a client can undo; older ones are forgotten."""

HORIZON_ENTRIES: Final = 100_000
"""Entries of the server's log, and so the statements of others that a client may miss; beyond it,
the client has to clone again."""

HORIZON_OPERATIONS: Final = 4_000_000
"""Operations and reports in the entries of the server's log, about 200 bytes of memory each; beyond
it, the older half of them is forgotten, as beyond ``HORIZON_ENTRIES``."""

CLIENTS_MAX: Final = 2_000_000
"""Clients of a server; beyond it, a clone is refused with ``sync.clients``."""

CLIENT_NAME_CHARACTERS_MAX: Final = 256
"""Characters of a client's name."""

PREVIOUS_REPLICAS_MAX: Final = 16
"""Earlier clones of a client whose identities its pending statements may use; statements that
create nodes with older ones are refused."""

SKIPPED_REPLICAS_MAX: Final = 16_384
"""Replicas that a server skips at most, at random, after it was started: it may have been restored
from an older state, and nodes must not get identities that clients gave to others."""

INCARNATIONS_MAX: Final = 1_000
"""Starts of a server, since each of which it has decided a statement, that it remembers: clients
with versions of earlier ones are believed to have what the server has."""

CACHED_VIEW_NODES_MAX: Final = 5_000_000
"""Nodes of the restrictions that a server keeps for the next round; beyond it, the oldest are
evaluated again."""

TOUCHED_NODES_MAX: Final = 16
"""Nodes that a round touches, and their parents, up to which they are looked up in the restriction
of a client before its message is made; with more, making it is quicker."""

LISTED_CONTENT_MAX: Final = 1_000
"""Nodes of a subtree whose label paths are listed in the search for affected clients; of a larger
one, everything counts as touched, and more clients are found in vain."""

LISTED_LABELS_MAX: Final = 10_000
"""Labels of these paths; likewise."""

DIFFERENCE_NODES_MAX: Final = 2_000_000
"""Nodes of a document that is compared with an edited one; beyond it, the edited file is refused
with ``update.limit``."""

ALIGNED_PAIRS_MAX: Final = 4_096
"""Pairs of siblings that are compared to align two lists; longer lists are paired in order, equal
siblings first, then those with equal names."""
