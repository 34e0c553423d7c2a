"""The options of the tokenizer on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from penstock.language import TokenizerOptions

FoldDiacriticsOption = Annotated[
    bool | None,
    typer.Option(
        "--fold-diacritics/--no-fold-diacritics",
        help="Whether `Zürich` and `zurich` are the same keyword.",
        show_default=False,
    ),
]
SplitNamesOption = Annotated[
    bool | None,
    typer.Option(
        "--split-names/--no-split-names",
        help="Whether the keywords `event` and `code` find the element `eventCode`.",
        show_default=False,
    ),
]
UnifyApostrophesOption = Annotated[
    bool | None,
    typer.Option(
        "--unify-apostrophes/--no-unify-apostrophes",
        help="Whether `don’t` and `don't` are the same keyword.",
        show_default=False,
    ),
]
UnifyAbbreviationsOption = Annotated[
    bool | None,
    typer.Option(
        "--unify-abbreviations/--no-unify-abbreviations",
        help="Whether `U.S.A.` and `usa` are the same keyword.",
        show_default=False,
    ),
]


def chosen_tokenizer(
    given: Mapping[str, bool | None], base: TokenizerOptions | None = None
) -> TokenizerOptions:
    """The base options, by default the defaults, with those that were given."""
    from dataclasses import replace

    from penstock.language import TokenizerOptions

    changed = {name: value for name, value in given.items() if value is not None}
    return replace(TokenizerOptions() if base is None else base, **changed)
