"""The difference between a cache and an edited document, as operations on the cache's nodes."""

from penstock.sync.difference.edit_script import (
    apply_difference,
    submit_edited,
    submit_edited_tree,
)

__all__ = ["apply_difference", "submit_edited", "submit_edited_tree"]
