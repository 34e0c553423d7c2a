"""Which spellings of a word are the same word: the options of the tokenizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, Self, TypeAlias

OptionFlags: TypeAlias = tuple[bool, bool, bool, bool]
"""The options in the order of the fields, as the native core expects them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerOptions:
    """Options of a keyword index: how its queries and the documents are tokenized.

    All are on by default, because searchers expect to find a word however it is spelled.

    Examples
    --------
    >>> from penstock import KeywordIndex, TokenizerOptions
    >>> document = "<p>Sturm über Zürich</p>".encode()
    >>> index = KeywordIndex()
    >>> index.add("anna", "zurich")
    >>> index.matcher().match(document).ids
    ('anna',)
    >>> index = KeywordIndex(tokenizer=TokenizerOptions(fold_diacritics=False))
    >>> index.add("anna", "zurich")
    >>> index.matcher().match(document).ids
    ()
    """

    fold_diacritics: bool = True
    """Whether Latin, Greek and Cyrillic letters lose their marks: ``Zürich`` is ``zurich``."""
    split_names: bool = True
    """Whether the names of elements and attributes also contain the words of their parts:
    ``eventCode`` and ``event_code`` contain ``event`` and ``code``."""
    unify_apostrophes: bool = True
    """Whether typographic apostrophes are apostrophes: ``don’t`` is ``don't``."""
    unify_abbreviations: bool = True
    """Whether abbreviations lose their dots: ``U.S.A.`` is ``usa``."""

    def __post_init__(self) -> None:
        for name, value in self.by_name().items():
            if not isinstance(value, bool):
                raise ValueError(f"the option {name} must be True or False, not {value!r}")

    def by_name(self) -> dict[str, bool]:
        """Names and values."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def of_names(cls, values: object) -> Self:
        """The options of a file, which names all of them.

        Raises
        ------
        ValueError
            The value is not a mapping, or an option is missing, unknown, or neither true nor false.
        """
        names = {each.name for each in fields(cls)}
        if not isinstance(values, Mapping) or set(values) != names:
            raise ValueError(f"{values!r} does not say whether each of {sorted(names)} is on")
        return cls(**values)

    def flags(self) -> OptionFlags:
        """The values in the order of the fields."""
        return (
            self.fold_diacritics,
            self.split_names,
            self.unify_apostrophes,
            self.unify_abbreviations,
        )

    @classmethod
    def of_flags(cls, flags: Sequence[bool]) -> Self:
        """The inverse of :meth:`flags`."""
        return cls(**dict(zip((each.name for each in fields(cls)), flags, strict=True)))


DEFAULT_TOKENIZER: Final = TokenizerOptions()
"""What a searcher expects."""

TOKENIZER_BEFORE_OPTIONS: Final = TokenizerOptions(fold_diacritics=False)
"""How indexes were tokenized that were written before they had options."""
