"""XML Schema files: text as it is, and definitions made from the input.

An even first byte means that the rest is the text of an XSD. After an odd one, each byte adds a
part to a definition, since arbitrary changes of a text seldom give one that is accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from penstock.errors import DocumentError, SchemaError
from penstock.schema.limits import UnfoldLimits
from penstock.schema.outline import print_tree, read_tree
from penstock.schema.xsd import tree_from_xsd

DICTIONARY = "xsd.dict"

_UNFOLD_LIMITS = UnfoldLimits(depth_max=8, size_max=500)
_HEAD = (
    "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' xmlns='urn:p' targetNamespace='urn:p'>"
)
_PARTICLES_MAX = 24
"""Particles of one group, so that the text grows linearly with the input."""

_DEPTH_MAX = 40
_OCCURS = ("", " minOccurs='0'", " maxOccurs='unbounded'", " minOccurs='0' maxOccurs='0'")
_NAMES = "abcd"


def seeds() -> list[bytes]:
    """Valid definitions, and bytes for made ones."""
    texts = [
        "<xs:element name='a'><xs:complexType><xs:sequence><xs:element name='b' type='xs:string'/>"
        "<xs:any/></xs:sequence><xs:attribute name='k' use='required'/></xs:complexType>"
        "</xs:element>",
        "<xs:element name='a' type='t'/><xs:complexType name='t' mixed='true'><xs:choice>"
        "<xs:element ref='b'/><xs:group ref='g'/></xs:choice></xs:complexType>"
        "<xs:element name='b' type='xs:int' substitutionGroup='c'/><xs:element name='c'/>"
        "<xs:group name='g'><xs:all><xs:element name='d'/></xs:all></xs:group>",
        "<xs:include schemaLocation='other.xsd'/><xs:element name='a'/>",
    ]
    whole = [b"\0" + f"{_HEAD}{text}</xs:schema>".encode() for text in texts]
    return [*whole, b"\1" + bytes(range(0, 250, 3)), b"\1" + b"\4" * 60, b"\1" + b"\7\1\5\2" * 20]


def run_input(data: bytes) -> None:
    """Read an XSD."""
    if not data:
        return
    text = _made(data[1:]) if data[0] % 2 else data[1:].decode("utf-8", errors="replace")
    try:
        tree = tree_from_xsd(text, limits=_UNFOLD_LIMITS)
    except (SchemaError, DocumentError):
        return
    again = read_tree(print_tree(tree))
    assert (again.root, again.cut_at) == (tree.root, tree.cut_at)


def _made(data: bytes) -> str:
    choices = iter(data)
    parts = [_HEAD]
    for name in _NAMES:
        parts += [f"<xs:group name='g{name}'><xs:sequence>", *_particles(choices, 0)]
        parts += ["</xs:sequence></xs:group>", f"<xs:complexType name='t{name}'><xs:choice>"]
        parts += [*_particles(choices, 0), "</xs:choice></xs:complexType>"]
        substitution = (
            f" substitutionGroup='{chr(ord(name) - 1)}'" if next(choices, 0) % 4 == 1 else ""
        )
        type_ = ("xs:string", f"t{name}", "ta")[next(choices, 0) % 3]
        parts.append(f"<xs:element name='{name}' type='{type_}'{substitution}/>")
    parts.append("<xs:element name='root' type='tb'/></xs:schema>")
    return "".join(parts)


def _particles(choices: Iterator[int], depth: int) -> Iterator[str]:
    for choice in islice(choices, _PARTICLES_MAX):
        occurs = _OCCURS[choice // 64]
        name = _NAMES[choice // 8 % len(_NAMES)]
        match choice % 8:
            case 0:
                return
            case 1:
                yield f"<xs:element ref='{name}'{occurs}/>"
            case 2:
                yield f"<xs:element name='l{name}' type='t{name}'{occurs}/>"
            case 3:
                yield f"<xs:group ref='g{name}'{occurs}/>"
            case 4 | 5 if depth < _DEPTH_MAX:
                kind = "sequence" if choice % 8 == 4 else "choice"
                yield f"<xs:{kind}{occurs}>"
                yield from _particles(choices, depth + 1)
                yield f"</xs:{kind}>"
            case 6:
                yield f"<xs:any processContents='lax'{occurs}/>"
            case _:
                yield f"<xs:element name='m{name}' type='xs:date'{occurs}/>"
