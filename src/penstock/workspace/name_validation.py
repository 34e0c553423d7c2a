"""The check of names that users choose: of subscribers, subscriptions and cursors."""

from __future__ import annotations

import unicodedata

from penstock.errors import error
from penstock.workspace.limits import NAME_CHARACTERS_MAX


def validate_name(kind: str, name: str) -> None:
    """Refuse a name that is ambiguous or cannot be displayed on one line.

    Raises
    ------
    WorkspaceError
        ``workspace.name``
    """
    if not name.strip() or name != name.strip():
        raise error(
            "workspace.name", f"invalid {kind} name `{name}`: empty, or with surrounding whitespace"
        )
    if len(name) > NAME_CHARACTERS_MAX:
        raise error(
            "workspace.name",
            f"the {kind} name has {len(name)} characters, more than {NAME_CHARACTERS_MAX}",
        )
    # isprintable() is the fast path, as there may be millions of names.
    if not name.isprintable() and any(map(_is_invisible, name)):
        raise error(
            "workspace.name", f"invalid {kind} name {name!r}: it contains invisible characters"
        )


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character).startswith(("C", "Zl", "Zp"))
