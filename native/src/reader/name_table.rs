//! Interns qualified names and resolves them by the namespaces in scope.
//!
//! A qualified name (`p:local`) is checked and split once and then identified by a number. Its expanded
//! name depends on the namespace of its prefix and is cached too, so that a name that recurs under the
//! same binding costs one lookup.

use std::hash::{BuildHasher, Hasher};

use hashbrown::{HashMap, HashTable};

use crate::events::{Context, NameId, Names};

use super::char_classes::is_name;
use super::parse_error::{quote, refuse, ParseError, ParseResult};
use super::{error_codes, Limits};

const XML_URI: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS_URI: &str = "http://www.w3.org/2000/xmlns/";

/// Numbers of the prefixes and URIs that every table starts with.
const NONE: u32 = 0;
const XML: u32 = 1;
const XMLNS: u32 = 2;

/// The approximate size of an entry without its characters.
const ENTRY_BYTES: usize = 96;

/// Number of a qualified name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QNameId(u32);

#[derive(Debug)]
struct QName {
    text: Box<str>,
    prefix: u32,
    /// Index of the local part.
    local: usize,
    /// If it is the name of a namespace declaration, the declared prefix.
    declares: Option<u32>,
    /// The last resolution as an element name: the prefix's URI and the expanded name.
    as_element: Option<(u32, NameId)>,
    /// The same as an attribute name.
    as_attribute: Option<(u32, NameId)>,
    /// The last tag with an attribute of this name.
    last_tag: u64,
}

/// The names, prefixes and namespaces seen in documents, and the namespaces in scope.
#[derive(Debug)]
pub(super) struct NameTable {
    pub names: Names,
    qnames: Vec<QName>,
    qname_ids: HashTable<u32>,
    hashing: foldhash::fast::RandomState,
    prefixes: Vec<Box<str>>,
    prefix_ids: HashMap<Box<str>, u32, foldhash::fast::RandomState>,
    uris: Vec<Box<str>>,
    uri_ids: HashMap<Box<str>, u32, foldhash::fast::RandomState>,
    /// The URI of each prefix; [`NONE`] if it is not bound.
    bound: Vec<u32>,
    /// The bindings that open elements have replaced.
    undo_log: Vec<ReplacedBinding>,
    /// Index in `undo_log` of the first declaration of the current element.
    element_mark: usize,
    /// Identifies the bindings.
    scope_id: u64,
    /// The largest id so far; ids are never reused.
    scope_id_max: u64,
    /// The number of bound prefixes, without `xml` and `xmlns`.
    bound_count: usize,
    /// For each expanded name, the last tag with an attribute of that name.
    expanded_last_tag: Vec<u64>,
    /// Number of the current tag; only tags with attributes are counted.
    tag: u64,
    /// The size of the table.
    bytes: usize,
    bytes_at_start: usize,
    bytes_max: usize,
    name_bytes_max: usize,
    bound_count_max: usize,
}

/// A binding that a namespace declaration has replaced.
#[derive(Clone, Copy, Debug)]
struct ReplacedBinding {
    prefix: u32,
    /// The previous URI; [`NONE`] if the prefix was not bound.
    uri: u32,
    /// The previous scope.
    scope_id: u64,
}

impl NameTable {
    pub(super) fn new(limits: &Limits) -> Self {
        let mut table = Self {
            names: Names::default(),
            qnames: Vec::new(),
            qname_ids: HashTable::new(),
            hashing: foldhash::fast::RandomState::default(),
            prefixes: Vec::new(),
            prefix_ids: HashMap::default(),
            uris: Vec::new(),
            uri_ids: HashMap::default(),
            bound: Vec::new(),
            undo_log: Vec::new(),
            element_mark: 0,
            scope_id: 0,
            scope_id_max: 0,
            bound_count: 0,
            expanded_last_tag: Vec::new(),
            tag: 0,
            bytes: 0,
            bytes_at_start: 0,
            bytes_max: limits.names_bytes,
            name_bytes_max: limits.name_bytes,
            bound_count_max: limits.namespaces,
        };
        for (prefix, uri) in [("", ""), ("xml", XML_URI), ("xmlns", XMLNS_URI)] {
            let prefix = table.prefix(prefix);
            let uri = table.uri(uri);
            table.bound[prefix as usize] = uri;
        }
        table.bytes = 0;
        table
    }

    /// Starts a document: no declaration is in scope.
    pub(super) fn begin(&mut self) {
        self.leave(0);
        self.bytes_at_start = self.bytes;
    }

    /// Whether the table is too large to be reused for the next document.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > self.bytes_max
    }

    /// Interns a qualified name; a new one is checked.
    #[inline(always)]
    pub(super) fn intern(&mut self, text: &str) -> ParseResult<QNameId> {
        let hash = hash_of(&self.hashing, text);
        match self
            .qname_ids
            .find(hash, |&id| *self.qnames[id as usize].text == *text)
        {
            Some(&id) => Ok(QNameId(id)),
            None => self.intern_new(text, hash),
        }
    }

    #[cold]
    fn intern_new(&mut self, text: &str, hash: u64) -> ParseResult<QNameId> {
        let colon = check_qname(text, self.name_bytes_max)?;
        let (prefix, local) = colon.map_or(("", 0), |colon| (&text[..colon], colon + 1));
        let prefix = self.prefix(prefix);
        let declares = match (prefix, text) {
            (NONE, "xmlns") => Some(NONE),
            (XMLNS, _) => Some(self.prefix(&text[local..])),
            _ => None,
        };
        self.add_bytes(text.len())?;
        let id = u32::try_from(self.qnames.len()).expect("bounded by names_bytes");
        self.qnames.push(QName {
            text: text.into(),
            prefix,
            local,
            declares,
            as_element: None,
            as_attribute: None,
            last_tag: 0,
        });
        let (qnames, hashing) = (&self.qnames, &self.hashing);
        self.qname_ids
            .insert_unique(hash, id, |&id| hash_of(hashing, &qnames[id as usize].text));
        Ok(QNameId(id))
    }

    /// The name as in the source text.
    #[inline]
    pub(super) fn text(&self, qname: QNameId) -> &str {
        &self.qnames[qname.0 as usize].text
    }

    /// Resolves an element name in the current scope.
    #[inline(always)]
    pub(super) fn element_name(&mut self, qname: QNameId) -> ParseResult<NameId> {
        let entry = &self.qnames[qname.0 as usize];
        let uri = self.bound[entry.prefix as usize];
        match entry.as_element {
            Some((known, name)) if known == uri => Ok(name),
            _ => {
                if entry.prefix == XMLNS {
                    return refuse(
                        error_codes::NAMESPACE_RESERVED,
                        0,
                        "an element must not have the prefix xmlns",
                    );
                }
                let name = self.expand(qname, uri)?;
                self.qnames[qname.0 as usize].as_element = Some((uri, name));
                Ok(name)
            }
        }
    }

    /// Resolves an attribute name in the current scope.
    #[inline(always)]
    pub(super) fn attribute_name(&mut self, qname: QNameId) -> ParseResult<NameId> {
        let entry = &self.qnames[qname.0 as usize];
        // The default namespace does not apply to attributes.
        let uri = if entry.prefix == NONE {
            NONE
        } else {
            self.bound[entry.prefix as usize]
        };
        match entry.as_attribute {
            Some((known, name)) if known == uri => Ok(name),
            _ => {
                let name = self.expand(qname, uri)?;
                self.qnames[qname.0 as usize].as_attribute = Some((uri, name));
                Ok(name)
            }
        }
    }

    fn expand(&mut self, qname: QNameId, uri: u32) -> ParseResult<NameId> {
        let entry = &self.qnames[qname.0 as usize];
        if entry.prefix != NONE && uri == NONE {
            let prefix = quote(&self.prefixes[entry.prefix as usize]);
            return refuse(
                error_codes::NAMESPACE_PREFIX,
                0,
                format!("the prefix {prefix} is not declared"),
            );
        }
        let before = self.names.len();
        let name = self
            .names
            .intern(&self.uris[uri as usize], &entry.text[entry.local..]);
        if self.names.len() > before {
            let bytes = self.uris[uri as usize].len() + entry.text.len();
            self.add_bytes(bytes)?;
        }
        Ok(name)
    }

    /// The id of an expanded name, which is added if it is new.
    pub(super) fn intern_expanded(&mut self, uri: &str, local: &str) -> ParseResult<NameId> {
        let before = self.names.len();
        let name = self.names.intern(uri, local);
        if self.names.len() > before {
            self.add_bytes(uri.len() + local.len())?;
        }
        Ok(name)
    }

    /// Starts a tag with attributes.
    pub(super) fn begin_tag(&mut self) {
        self.tag += 1;
    }

    /// Adds an attribute to the current tag; whether it is the first of this name.
    #[inline]
    pub(super) fn is_new_in_tag(&mut self, qname: QNameId) -> bool {
        let entry = &mut self.qnames[qname.0 as usize];
        std::mem::replace(&mut entry.last_tag, self.tag) != self.tag
    }

    /// The same by expanded name; only names with a prefix can have equal ones.
    pub(super) fn is_new_in_tag_expanded(&mut self, qname: QNameId, name: NameId) -> bool {
        if self.qnames[qname.0 as usize].prefix == NONE {
            return true;
        }
        let at = name.0 as usize;
        if self.expanded_last_tag.len() <= at {
            self.expanded_last_tag.resize(self.names.len(), 0);
        }
        std::mem::replace(&mut self.expanded_last_tag[at], self.tag) != self.tag
    }

    /// The prefix of a qualified name; empty if it has none.
    pub(super) fn prefix_of(&self, qname: QNameId) -> &str {
        &self.prefixes[self.qnames[qname.0 as usize].prefix as usize]
    }

    /// Whether an attribute of this name declares a namespace.
    #[inline]
    pub(super) fn is_declaration(&self, qname: QNameId) -> bool {
        self.qnames[qname.0 as usize].declares.is_some()
    }

    /// Binds the prefix that a namespace declaration names to `uri`, until [`NameTable::leave`].
    pub(super) fn declare(&mut self, qname: QNameId, uri: &str) -> ParseResult<()> {
        let prefix = self.qnames[qname.0 as usize]
            .declares
            .expect("a namespace declaration");
        let allowed = match prefix {
            XML => uri == XML_URI,
            XMLNS => false,
            _ => uri != XML_URI && uri != XMLNS_URI,
        };
        if !allowed {
            let message = format!("{} must not declare {}", self.text(qname), quote(uri));
            return refuse(error_codes::NAMESPACE_RESERVED, 0, message);
        }
        if uri.is_empty() && prefix != NONE {
            let message = format!("{} must not declare an empty namespace", self.text(qname));
            return refuse(error_codes::NAMESPACE_EMPTY, 0, message);
        }
        let uri = self.uri(uri);
        self.check_bytes()?;
        self.bind(prefix, uri);
        if self.bound_count > self.bound_count_max {
            let max = self.bound_count_max;
            let message = format!("more than {max} namespace prefixes are in scope");
            return refuse(error_codes::LIMIT_NAMESPACES, 0, message);
        }
        Ok(())
    }

    fn bind(&mut self, prefix: u32, uri: u32) {
        let before = std::mem::replace(&mut self.bound[prefix as usize], uri);
        self.undo_log.push(ReplacedBinding {
            prefix,
            uri: before,
            scope_id: self.scope_id,
        });
        self.bound_count += usize::from(uri != NONE);
        self.bound_count -= usize::from(before != NONE);
        self.scope_id_max += 1;
        self.scope_id = self.scope_id_max;
    }

    /// Starts an element; returns a mark for [`NameTable::leave`].
    #[inline]
    pub(super) fn enter(&mut self) -> usize {
        self.element_mark = self.undo_log.len();
        self.element_mark
    }

    /// Removes the declarations since `mark`.
    #[inline]
    pub(super) fn leave(&mut self, mark: usize) {
        while self.undo_log.len() > mark {
            let replaced = self.undo_log.pop().expect("longer than the mark");
            let bound = &mut self.bound[replaced.prefix as usize];
            self.bound_count -= usize::from(*bound != NONE);
            self.bound_count += usize::from(replaced.uri != NONE);
            *bound = replaced.uri;
            self.scope_id = replaced.scope_id;
        }
    }

    fn prefix(&mut self, prefix: &str) -> u32 {
        if let Some(&id) = self.prefix_ids.get(prefix) {
            return id;
        }
        let id = u32::try_from(self.prefixes.len()).expect("bounded by names_bytes");
        self.prefixes.push(prefix.into());
        self.prefix_ids.insert(prefix.into(), id);
        self.bound.push(NONE);
        self.bytes += 2 * prefix.len() + ENTRY_BYTES;
        id
    }

    fn uri(&mut self, uri: &str) -> u32 {
        if let Some(&id) = self.uri_ids.get(uri) {
            return id;
        }
        let id = u32::try_from(self.uris.len()).expect("bounded by names_bytes");
        self.uris.push(uri.into());
        self.uri_ids.insert(uri.into(), id);
        self.bytes += 2 * uri.len() + ENTRY_BYTES;
        id
    }

    /// Adds the size of an entry with this many bytes of text, which is stored twice.
    fn add_bytes(&mut self, bytes: usize) -> ParseResult<()> {
        self.bytes += 2 * bytes + ENTRY_BYTES;
        self.check_bytes()
    }

    fn check_bytes(&self) -> ParseResult<()> {
        if self.bytes - self.bytes_at_start > self.bytes_max {
            let message = format!(
                "the distinct names and namespaces take more than {} bytes",
                self.bytes_max
            );
            return refuse(error_codes::LIMIT_NAMES_BYTES, 0, message);
        }
        Ok(())
    }
}

impl Context for NameTable {
    fn names(&self) -> &Names {
        &self.names
    }

    fn namespaces_in_scope(&self, visit: &mut dyn FnMut(&str, &str)) {
        let uri = |prefix: u32| &*self.uris[self.bound[prefix as usize] as usize];
        if self.bound[NONE as usize] != NONE {
            visit("", uri(NONE));
        }
        for replaced in &self.undo_log {
            // Visits each prefix once: only the default namespace can be undeclared and declared again.
            if replaced.uri == NONE && replaced.prefix != NONE {
                visit(
                    &self.prefixes[replaced.prefix as usize],
                    uri(replaced.prefix),
                );
            }
        }
    }

    fn namespace_declarations(&self, visit: &mut dyn FnMut(&str, &str)) {
        for declared in &self.undo_log[self.element_mark..] {
            if declared.prefix != XML {
                let uri = self.bound[declared.prefix as usize];
                let prefix = &self.prefixes[declared.prefix as usize];
                visit(prefix, &self.uris[uri as usize]);
            }
        }
    }

    fn scope_id(&self) -> u64 {
        self.scope_id
    }
}

#[inline]
fn hash_of(hashing: &foldhash::fast::RandomState, text: &str) -> u64 {
    let mut hasher = hashing.build_hasher();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Checks a qualified name (production `QName`); returns the index of its colon, if it has one.
pub(super) fn check_qname(text: &str, name_bytes_max: usize) -> ParseResult<Option<usize>> {
    if text.len() > name_bytes_max {
        let message = format!("a name is longer than {name_bytes_max} bytes");
        return refuse(error_codes::LIMIT_NAME_BYTES, 0, message);
    }
    if !is_name(text) {
        return refuse(
            error_codes::NAME,
            0,
            format!("{} is not a name", quote(text)),
        );
    }
    let Some(colon) = text.find(':') else {
        return Ok(None);
    };
    let local = &text[colon + 1..];
    if colon == 0 || local.contains(':') || !is_name(local) {
        return Err(not_a_qname(text));
    }
    Ok(Some(colon))
}

fn not_a_qname(text: &str) -> ParseError {
    let message = format!("{} is not a qualified name", quote(text));
    ParseError::new(error_codes::NAMESPACE_COLON, 0, message)
}
