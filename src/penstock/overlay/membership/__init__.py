"""A peer's membership in one tree: its states, and what it does in them."""

from penstock.overlay.membership.membership import Membership

__all__ = ["Membership"]
