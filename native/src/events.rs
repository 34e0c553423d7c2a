//! The seam between reader and engines: names, spans, events, refusals.
//!
//! The reader pushes events into a [`Handler`]. Everything borrowed in an event lives only for the
//! call. Offsets always refer to the publisher's original bytes, whatever their encoding.

use std::fmt;
use std::sync::Arc;

use hashbrown::HashMap;

/// An expanded name (namespace URI, local name), interned in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(pub u32);

/// A range of the original bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Whether this came out of an entity: the range is then the outermost reference's.
    pub from_entity: bool,
}

impl Span {
    /// The empty range behind this one.
    #[inline]
    pub fn after(self) -> Span {
        Span {
            start: self.end,
            ..self
        }
    }
}

/// One attribute of a start tag, its value normalised. Namespace declarations are not attributes.
#[derive(Clone, Copy, Debug)]
pub struct Attribute<'a> {
    /// Expanded name.
    pub name: NameId,
    /// Normalised value, references expanded.
    pub value: &'a str,
    /// `name="value"` in the original bytes; for a default from the DTD, the whole start tag.
    pub span: Span,
}

/// A start tag.
#[derive(Clone, Copy, Debug)]
pub struct StartElement<'a> {
    /// Expanded name.
    pub name: NameId,
    /// In document order, defaults from the DTD last.
    pub attributes: &'a [Attribute<'a>],
    /// The start tag itself.
    pub span: Span,
}

/// Why a document was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Stable code; Python's error table knows every one of them.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Offset in the original bytes.
    pub offset: u64,
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
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

/// A handler's way to stop the document: a code and a message; the reader adds the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Stable code.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
}

/// What a handler can ask about where it is.
pub trait Context {
    /// The names interned so far.
    fn names(&self) -> &Names;
    /// Calls `visit(prefix, uri)` for each namespace in scope at the current element, nearest
    /// declaration of a prefix only, without `xml`; the default namespace has prefix `""`.
    fn namespaces_in_scope(&self, visit: &mut dyn FnMut(&str, &str));
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
/// `text` may come in several pieces: adjacent pieces (character data, CDATA, references) are one
/// text node until `start_element`, `end_element` or `text_break`.
pub trait Handler {
    /// Whether spans are read. Where `false`, the reader may leave them zero.
    const SPANS: bool;
    /// A start tag (also of an empty-element tag, whose `end_element` follows at once).
    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop>;
    /// An end tag; `span` is the whole element, start tag to end tag. Of an empty-element tag
    /// `end_tag` is the empty range behind it.
    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop>;
    /// A piece of text, line ends normalised; never empty.
    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop>;
    /// A comment or processing instruction: the next text is another node.
    fn text_break(&mut self) -> Result<(), Stop>;
    /// A subtree begins that a rewriter has to tell several times, in several places. Whoever knows it
    /// says so, and is not told; else its events follow, and then [`Handler::end_repeated`].
    fn begin_repeated(&mut self, _number: u32) -> Result<bool, Stop> {
        Ok(false)
    }
    /// It has been told.
    fn end_repeated(&mut self, _number: u32) {}
    /// The numbers of subtrees will be those of others.
    fn forget_repeated(&mut self) {}
}

/// Expanded names by number. Ids are dense, from 0, and stay valid while the table lives.
#[derive(Debug, Default)]
pub struct Names {
    ids: HashMap<(Box<str>, Box<str>), NameId, foldhash::fast::RandomState>,
    names: Vec<(Box<str>, Box<str>)>,
}

impl Names {
    /// The id of `(uri, local)`, made if it is new. No namespace is the empty URI.
    pub fn intern(&mut self, uri: &str, local: &str) -> NameId {
        // Two lookups on a miss, none of them allocating on a hit.
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

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
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
    fn the_same_name_has_one_id_and_namespaces_tell_names_apart() {
        let mut names = Names::default();
        let plain = names.intern("", "a");
        let spaced = names.intern("urn:x", "a");
        assert_ne!(plain, spaced);
        assert_eq!(names.intern("", "a"), plain);
        assert_eq!(names.find("urn:x", "a"), Some(spaced));
        assert_eq!(names.find("urn:y", "a"), None);
        assert_eq!(names.get(spaced), ("urn:x", "a"));
        assert_eq!(names.len(), 2);
    }
}
