"""Making errors of links."""

from __future__ import annotations

from penstock.errors import LinkError, error


def link_error(code: str, message: str) -> LinkError:
    """Creates the error for a code ``link.*``, in the class that the table names."""
    problem = error(code, message)
    assert isinstance(problem, LinkError)
    return problem
