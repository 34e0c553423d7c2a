"""Local subscriptions as text, for a store and for messages of subscribers."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import datetime
from typing import Any

from penstock.errors import PenstockError, error
from penstock.routing.local_subscription import LocalSubscription

_TIMES = ("starts_at", "expires_at")
_TYPES: dict[str, tuple[type, ...]] = {
    "id": (str,),
    "subscriber": (str,),
    "query": (str,),
    "kind": (str,),
    "namespaces": (dict,),
    "default_namespace": (str, type(None)),
    "where": (dict,),
    "returns": (str,),
    "fragments_max": (int,),
    "starts_at": (str, type(None)),
    "expires_at": (str, type(None)),
}


def subscription_to_text(subscription: LocalSubscription) -> str:
    """A subscription as JSON; what has its default is omitted.

    Examples
    --------
    >>> subscription = LocalSubscription(id="s1", subscriber="ada", query="//flash")
    >>> subscription_to_text(subscription)
    '{"id": "s1", "subscriber": "ada", "query": "//flash"}'
    >>> subscription_from_text(subscription_to_text(subscription)) == subscription
    True
    """
    values: dict[str, Any] = {}
    for each in fields(LocalSubscription):
        value = getattr(subscription, each.name)
        if isinstance(value, datetime):
            value = value.isoformat()
        if value not in (None, {}) and value != each.default:
            values[each.name] = value
    return json.dumps(values, ensure_ascii=False)


def subscription_from_text(text: str) -> LocalSubscription:
    """The subscription of a text.

    Raises
    ------
    RoutingError
        ``routing.message``: the text is malformed.
    QueryError
        A value is invalid.
    """
    try:
        values = json.loads(text)
        if not isinstance(values, dict) or not {"id", "subscriber", "query"} <= values.keys():
            raise ValueError("it is not an object with id, subscriber and query")
        for name, value in values.items():
            if not isinstance(value, _TYPES[name]) or isinstance(value, bool):
                raise ValueError(f"the type of {name} is wrong")
            if isinstance(value, dict) and not all(
                isinstance(each, str) for each in value.values()
            ):
                raise ValueError(f"the type of a value of {name} is wrong")
        for name in _TIMES:
            if values.get(name) is not None:
                values[name] = datetime.fromisoformat(values[name])
        return LocalSubscription(**values)
    except PenstockError:
        raise
    except (ValueError, LookupError, RecursionError) as problem:
        raise error("routing.message", f"malformed subscription: {problem}") from None
