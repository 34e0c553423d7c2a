"""Names with bytes that cannot be decoded: Python passes them as lone surrogates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.workspace import Workspace
from penstock.workspace.document_lookup import find_document
from penstock.workspace.stored_subscription import StoredSubscription

LONE = "caf\udce9"


@pytest.mark.parametrize(
    ("use", "code"),
    [
        (lambda space: space.subscriptions.get(LONE), "workspace.name"),
        (lambda space: space.subscriptions.remove([LONE]), "workspace.name"),
        (lambda space: space.subscriptions.set_paused([LONE], True), "workspace.name"),
        (lambda space: list(space.subscriptions.each(LONE)), "workspace.name"),
        (lambda space: space.subscriptions.subscriber_exists(LONE), "workspace.name"),
        (lambda space: space.mailbox(LONE), "workspace.name"),
        (lambda space: space.dead_letters.get(LONE), "dead-letter.unknown"),
        (lambda space: find_document(space, LONE), "document.unknown"),
        (lambda space: find_document(space, "9" * 5_000), "document.unknown"),
        (
            lambda space: space.subscriptions.add(StoredSubscription(subscriber=LONE, query="/a")),
            "workspace.name",
        ),
        (
            lambda space: space.subscriptions.add(
                StoredSubscription(subscriber="anna", query=f"/a[b = '{LONE}']")
            ),
            "query.character",
        ),
    ],
)
def test_a_name_that_is_no_text_has_a_code(
    tmp_path: Path, use: Callable[[Workspace], object], code: str
) -> None:
    with Workspace.create(tmp_path / "space") as space:
        with pytest.raises(PenstockError) as caught:
            use(space)
        assert caught.value.code == code
