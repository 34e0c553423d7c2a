"""Encodes frozen dataclasses as MessagePack, and decodes them strictly.

msgspec validates tagged unions of its own structures only. For each dataclass, a structure with the
same fields is made once; an instance is an array: the name of the class, then the fields. Values
are checked against the fields' types while they are decoded, so hostile bytes never become objects
of other types.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from operator import attrgetter
from typing import Annotated, Any, Final, Generic, TypeVar, Union, cast, get_args, get_origin
from typing import get_type_hints as type_hints

import msgspec

from penstock.errors import PenstockError, error

_T = TypeVar("_T")

NUMBER_MAX: Final = 2**53
"""The greatest integer of a message; every language has it."""

_NUMBER: Final = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]
_PLAIN: Final = (str, bytes, bool, types.NoneType)


class DataclassCodec(Generic[_T]):
    """Encodes and decodes values of a type: dataclasses, tuples and unions of them.

    Parameters
    ----------
    of_type
        The type.
    prefix
        Begins every encoded value; names the format and its version.
    lengths
        Maximum lengths of tuples, by class and name of the field.
    added
        Fields, the last of their class, that values from before they were added do not have: they
        are decoded with the default. Those with the default at the end of a value are not encoded,
        so that an earlier release can decode it.
    """

    def __init__(
        self,
        of_type: object,
        *,
        prefix: bytes,
        lengths: Mapping[tuple[type, str], int] | None = None,
        added: Collection[tuple[type, str]] = (),
    ) -> None:
        self._prefix = prefix
        self._structures = _Structures(lengths or {}, added)
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(
            self._structures.type_of(of_type)
        )
        self._encoder = msgspec.msgpack.Encoder()

    def encode(self, value: _T) -> bytes:
        """The bytes of a value.

        Raises
        ------
        SyncError
            ``sync.message``: a text has a lone surrogate, or a number is too great.
        """
        try:
            return self._prefix + self._encoder.encode(self._structures.encoded(value))
        except (UnicodeEncodeError, OverflowError) as problem:
            raise error("sync.message", f"it cannot be encoded: {problem}") from None

    def decode(self, data: bytes) -> _T:
        """The value of bytes.

        Raises
        ------
        SyncError
            ``sync.message``: they are malformed, or of another version.
        PenstockError
            A decoded value is invalid, such as the query of a subscription.
        """
        size = len(self._prefix)
        if data[:size] != self._prefix:
            is_other = data[: size - 1] == self._prefix[:-1]
            reason = "another version of the format" if is_other else "not a sync message"
            raise error("sync.message", reason)
        try:
            decoded = self._decoder.decode(memoryview(data)[size:])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
            raise error("sync.message", f"malformed: {problem}") from None
        try:
            return cast("_T", self._structures.decoded(decoded))
        except PenstockError:
            raise
        except (ValueError, TypeError) as problem:
            raise error("sync.message", f"malformed: {problem}") from None


class _Structures:
    """The structures of dataclasses."""

    def __init__(
        self, lengths: Mapping[tuple[type, str], int], added: Collection[tuple[type, str]]
    ) -> None:
        self._lengths = lengths
        self._added = added
        self._layouts: dict[type, _Layout] = {}
        """By dataclass."""
        self._decoded_layouts: dict[type, _Layout] = {}
        """By structure."""

    def type_of(self, annotation: object, length: int | None = None) -> Any:  # noqa: ANN401
        """What msgspec decodes for an annotation of a field."""
        if annotation is int:
            return _NUMBER
        if annotation in _PLAIN or (isinstance(annotation, type) and issubclass(annotation, Enum)):
            return annotation
        if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
            return self._structure(annotation)
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is tuple:
            inner = tuple(each if each is Ellipsis else self.type_of(each) for each in arguments)
            made = tuple[inner]  # type: ignore[valid-type]
            return made if length is None else Annotated[made, msgspec.Meta(max_length=length)]
        if origin in (Union, types.UnionType):
            return Union[tuple(map(self.type_of, arguments))]  # noqa: UP007
        raise TypeError(f"no message has a field of type {annotation}")

    def _structure(self, of_class: type) -> type[msgspec.Struct]:
        known = self._layouts.get(of_class)
        if known is not None:
            return known.structure
        hints = type_hints(of_class)
        fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
        for each in dataclasses.fields(of_class):
            of_type = self.type_of(hints[each.name], self._lengths.get((of_class, each.name)))
            if (of_class, each.name) in self._added:
                fields.append((each.name, of_type, each.default))
            else:
                fields.append((each.name, of_type))
        made = msgspec.defstruct(
            of_class.__name__,
            fields,
            tag=of_class.__name__,
            array_like=True,
            frozen=True,
            forbid_unknown_fields=True,
            gc=False,
        )
        names = made.__struct_fields__
        are_compound = tuple(_is_compound(hints[name]) for name in names)
        by_name = names if any(each.kw_only for each in dataclasses.fields(of_class)) else None
        added_defaults = tuple(
            each.default
            for each in dataclasses.fields(of_class)
            if (of_class, each.name) in self._added
        )
        layout = _Layout(of_class, made, _fields_of(names), are_compound, by_name, added_defaults)
        self._layouts[of_class] = self._decoded_layouts[made] = layout
        return made

    def encoded(self, value: object) -> object:
        """A value with structures instead of dataclasses."""
        if isinstance(value, tuple):
            return tuple(map(self.encoded, value))
        layout = self._layouts.get(type(value))
        if layout is None:
            return value
        encoded = self.encoded
        fields = [
            encoded(field) if is_compound else field
            for field, is_compound in zip(layout.fields_of(value), layout.are_compound, strict=True)
        ]
        if not layout.added_defaults:
            return layout.structure(*fields)
        # msgspec omits defaults only of structures that are objects, not of those that are arrays.
        for default in reversed(layout.added_defaults):
            if fields[-1] != default:
                break
            fields.pop()
        return (layout.of_class.__name__, *fields)

    def decoded(self, value: object) -> object:
        """A value with dataclasses instead of structures."""
        if isinstance(value, tuple):
            return tuple(map(self.decoded, value))
        layout = self._decoded_layouts.get(type(value))
        if layout is None:
            return value
        decoded = self.decoded
        fields = [
            decoded(field) if is_compound else field
            for field, is_compound in zip(layout.fields_of(value), layout.are_compound, strict=True)
        ]
        if layout.by_name is None:
            return layout.of_class(*fields)
        return layout.of_class(**dict(zip(layout.by_name, fields, strict=True)))


@dataclasses.dataclass(frozen=True, slots=True)
class _Layout:
    """A dataclass and its structure, which have the same fields."""

    of_class: type
    structure: type[msgspec.Struct]
    fields_of: Callable[[object], tuple[object, ...]]
    are_compound: tuple[bool, ...]
    """Whether each field may contain dataclasses; others are as they are."""
    by_name: tuple[str, ...] | None
    """The names of the fields, if the dataclass takes them by name only."""
    added_defaults: tuple[object, ...]
    """The defaults of the last fields, which earlier releases do not have."""


def _fields_of(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _is_compound(annotation: object) -> bool:
    """Whether values of a field's type are or contain dataclasses."""
    if isinstance(annotation, type):
        return dataclasses.is_dataclass(annotation)
    return any(map(_is_compound, get_args(annotation)))
