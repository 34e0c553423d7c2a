"""DTD files: decoding, parsing, the schema graph and its tree, which is the same after printing."""

from __future__ import annotations

from penstock.errors import SchemaError
from penstock.schema import SchemaGraph
from penstock.schema.dtd_encoding import decode_dtd
from penstock.schema.limits import DtdLimits, UnfoldLimits
from penstock.schema.outline import print_tree, read_tree

DICTIONARY = "xml.dict"

_DTD_LIMITS = DtdLimits(expansion_max=100_000, entity_depth_max=8, group_depth_max=16)
_UNFOLD_LIMITS = UnfoldLimits(depth_max=8, size_max=500)


def seeds() -> list[bytes]:
    """Valid DTDs in several encodings."""
    texts = [
        "<!ELEMENT a (b+, (c | d)?)><!ELEMENT b (#PCDATA)><!ELEMENT c EMPTY><!ELEMENT d ANY>",
        "<!ELEMENT a (#PCDATA | b)*><!ATTLIST a k CDATA #REQUIRED l (x|y) 'x' m ID #IMPLIED>",
        "<!ENTITY % p 'b?, c*'><!ELEMENT a (%p;)><!ELEMENT b EMPTY><!ELEMENT c EMPTY>",
        "<![INCLUDE[<!ELEMENT a EMPTY>]]><![IGNORE[<!ELEMENT b <![ ]]> ]]><!-- c --><?p i?>",
        "<!ELEMENT p:a EMPTY><!ATTLIST p:a xmlns:p CDATA #FIXED 'urn:p' p:k NMTOKENS #IMPLIED>",
        "<!NOTATION n PUBLIC 'p' 's'><!ENTITY e SYSTEM 'f' NDATA n><!ELEMENT a (a?)>",
    ]
    declared = "<?xml encoding='ISO-8859-1'?><!ELEMENT \u00e9 EMPTY>".encode("latin-1")
    return [*(text.encode() for text in texts), declared, texts[0].encode("utf-16")]


def run_input(data: bytes) -> None:
    """Parse ``data`` as a DTD."""
    try:
        graph = SchemaGraph.from_dtd(decode_dtd(data), limits=_DTD_LIMITS)
        if len(graph.root_labels) != 1:
            return
        tree = graph.tree(limits=_UNFOLD_LIMITS)
    except SchemaError:
        return
    again = read_tree(print_tree(tree))
    assert (again.root, again.cut_at) == (tree.root, tree.cut_at)
