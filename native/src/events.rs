//! The interface between the reader and the engines: names, spans, events and refusals.
//!
//! The reader sends events to a [`Handler`]. Data borrowed by an event is valid only during the call.
//! Offsets refer to the bytes of the original document, whatever its encoding.

use std::fmt;
use std::sync::Arc;

use hashbrown::HashMap;

/// An expanded name (namespace URI, local name), interned in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(pub u32);

/// A byte span of the original document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset past the last byte.
    pub end: u64,
    /// Whether the node comes from an entity; the span is then that of the outermost reference.
    pub from_entity: bool,
}

impl Span {
    /// The empty span after this one.
    #[inline]
    pub fn after(self) -> Span {
        Span {
            start: self.end,
            ..self
        }
    }
}

/// An attribute of a start tag. Namespace declarations are not attributes.
#[derive(Clone, Copy, Debug)]
pub struct Attribute<'a> {
    /// Expanded name.
    pub name: NameId,
    /// The normalised value, with references expanded.
    pub value: &'a str,
    /// The span of `name="value"`; for a default from the DTD, that of the start tag.
    pub span: Span,
}

/// A start tag.
#[derive(Clone, Copy, Debug)]
pub struct StartElement<'a> {
    /// Expanded name.
    pub name: NameId,
    /// In document order; defaults from the DTD come last.
    pub attributes: &'a [Attribute<'a>],
    /// The span of the start tag.
    pub span: Span,
}

/// What a chunk of markup belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkupKind {
    /// The text between `<!--` and `-->`.
    Comment,
    /// The text between `<?` and `?>`: target, white space, data.
    Instruction,
}

/// Why a document was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Stable code, listed in Python's error table.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Offset in the original bytes.
    pub offset: u64,
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    /// The open elements, from the root down, as `/a/p:b`; empty outside the root element.
    pub path: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at line {}, column {}: {}",
            self.code, self.line, self.column, self.message
        )
    }
}

impl std::error::Error for Refusal {}

/// The code of a document whose work budget is spent.
pub const WORK_SPENT: &str = "limit.work";

/// The code of a [`Stop`] because too many matches or nodes are undecided.
pub const CANDIDATES_HELD: &str = "limit.candidates";

/// The code of a [`Stop`] because counting and comparing nodes stores too much.
pub const VALUES_STORED: &str = "limit.comparison";

/// A handler's request to stop reading; the reader adds the position and refuses the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Stable code.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
}

/// The names and namespaces at the current position.
pub trait Context {
    /// The names that ids in events refer to.
    fn names(&self) -> &Names;
    /// Calls `visit(prefix, uri)` for each namespace in scope at the current element, nearest
    /// declaration of a prefix only, without `xml`; the default namespace has prefix `""`.
    fn namespaces_in_scope(&self, visit: &mut dyn FnMut(&str, &str));
    /// Calls `visit(prefix, uri)` for each namespace that the current element declares, without `xml`;
    /// the URI is empty if the element undeclares the default namespace.
    fn namespace_declarations(&self, visit: &mut dyn FnMut(&str, &str));
    /// Identifies the namespaces in scope: while a document is read, equal ids mean equal scopes.
    fn scope_id(&self) -> u64;
}

/// Namespaces in scope as `(prefix, uri)`, sorted by prefix; the default namespace has prefix `""`.
/// Nodes with the same scope share it.
pub type NamespaceScope = Arc<[(Box<str>, Box<str>)]>;

/// A namespace URI (empty for none) and a local name. Unlike a [`NameId`], it outlives the reader.
pub type ExpandedName = Arc<(Box<str>, Box<str>)>;

/// The namespaces in scope at the current element, sorted by prefix.
pub fn sorted_bindings(context: &dyn Context) -> Vec<(Box<str>, Box<str>)> {
    let mut bindings: Vec<(Box<str>, Box<str>)> = Vec::new();
    context.namespaces_in_scope(&mut |prefix, uri| bindings.push((prefix.into(), uri.into())));
    bindings.sort_unstable();
    bindings
}

/// Receives the events of a document.
///
/// A text node may arrive in several chunks (character data, CDATA, references); it continues until
/// `start_element`, `end_element` or `text_break`.
pub trait Handler {
    /// Whether the handler uses spans. If not, the reader may leave them zero.
    const SPANS: bool;
    /// Whether it uses where the span of an element ends, and whether the element is from an entity. A
    /// handler that uses nothing else saves the reader the other spans.
    const ELEMENT_ENDS: bool = Self::SPANS;
    /// Whether it uses what most handlers do not: prefixes, and the content of comments and processing
    /// instructions. If not, the reader skips the methods that report them.
    const LEXICAL: bool = false;
    /// The prefix of an element, before its `start_element`, and then those of its attributes in order;
    /// empty if there is none.
    fn prefix(&mut self, _prefix: &str) {}
    /// A chunk of a comment or processing instruction, inside or outside the root element. Line ends are
    /// not normalised. Inside the root, `text_break` follows the last chunk.
    fn markup(&mut self, _kind: MarkupKind, _chunk: &str, _is_last: bool) -> Result<(), Stop> {
        Ok(())
    }
    /// A start tag, or an empty-element tag, which `end_element` follows immediately.
    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop>;
    /// An end tag; `span` is the span of the element from start tag to end tag. For an empty-element tag,
    /// `end_tag` is the empty span after it.
    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop>;
    /// A chunk of text with normalised line ends; never empty.
    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop>;
    /// A comment or processing instruction: the next text belongs to another text node.
    fn text_break(&mut self) -> Result<(), Stop>;
    /// A subtree begins that a rewriter sends several times, at different positions. A handler that has
    /// cached its effect returns `true`, and the events are skipped; otherwise the events follow, and then
    /// [`Handler::end_repeated`].
    fn begin_repeated(&mut self, _number: u32) -> Result<bool, Stop> {
        Ok(false)
    }
    /// The subtree ends.
    fn end_repeated(&mut self, _number: u32) {}
    /// The numbers of repeated subtrees will be reused for other subtrees.
    fn forget_repeated(&mut self) {}
}

/// Interned expanded names. Ids are dense, start at 0, and stay valid as long as the table.
#[derive(Debug, Default)]
pub struct Names {
    ids: HashMap<(Box<str>, Box<str>), NameId, foldhash::fast::RandomState>,
    names: Vec<(Box<str>, Box<str>)>,
}

impl Names {
    /// The id of `(uri, local)`, which is added if it is new. The empty URI means no namespace.
    pub fn intern(&mut self, uri: &str, local: &str) -> NameId {
        // A miss takes two lookups, so that a hit does not allocate.
        if let Some(id) = self.find(uri, local) {
            return id;
        }
        let id = NameId(u32::try_from(self.names.len()).expect("fewer than 2^32 names"));
        let key: (Box<str>, Box<str>) = (uri.into(), local.into());
        self.names.push(key.clone());
        self.ids.insert(key, id);
        id
    }

    /// The id of `(uri, local)` if it was interned.
    pub fn find(&self, uri: &str, local: &str) -> Option<NameId> {
        self.ids.get(&NameRef(uri, local)).copied()
    }

    /// The namespace URI (empty for none) and the local name.
    pub fn get(&self, id: NameId) -> (&str, &str) {
        let (uri, local) = &self.names[id.0 as usize];
        (uri, local)
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[derive(Hash)]
struct NameRef<'a>(&'a str, &'a str);

impl hashbrown::Equivalent<(Box<str>, Box<str>)> for NameRef<'_> {
    fn equivalent(&self, key: &(Box<str>, Box<str>)) -> bool {
        self.0 == &*key.0 && self.1 == &*key.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_identify_local_name_and_namespace() {
        let mut names = Names::default();
        let without_namespace = names.intern("", "a");
        let with_namespace = names.intern("urn:x", "a");
        assert_ne!(without_namespace, with_namespace);
        assert_eq!(names.intern("", "a"), without_namespace);
        assert_eq!(names.find("urn:x", "a"), Some(with_namespace));
        assert_eq!(names.find("urn:y", "a"), None);
        assert_eq!(names.get(with_namespace), ("urn:x", "a"));
        assert_eq!(names.len(), 2);
    }
}
