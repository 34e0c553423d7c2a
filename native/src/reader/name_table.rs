//! Names as written, names as meant, and the namespaces in scope between the two.
//!
//! A name as written (`p:local`) is checked and split once and then known by number. What it means
//! depends on what its prefix is bound to: that too is remembered, so that a name met again under
//! the same binding costs one lookup.

use std::hash::{BuildHasher, Hasher};

use hashbrown::{HashMap, HashTable};

use crate::events::{Context, NameId, Names};

use super::char_classes::is_name;
use super::parse_error::{refuse, shown, ParseError, ParseResult};
use super::{error_codes, Limits};

const XML_URI: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS_URI: &str = "http://www.w3.org/2000/xmlns/";

/// Numbers of the prefixes and URIs that every name_table begins with.
const NONE: u32 = 0;
const XML: u32 = 1;
const XMLNS: u32 = 2;

/// What an entry costs beside its letters, roughly.
const ENTRY_BYTES: usize = 96;

/// A name as written, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawId(u32);

#[derive(Debug)]
struct RawName {
    text: Box<str>,
    prefix: u32,
    /// Where the local part begins.
    local: usize,
    /// The prefix that an attribute of this name declares, if it is a namespace declaration.
    declares: Option<u32>,
    /// What it last meant as an element's name: under which URI, which name.
    as_element: Option<(u32, NameId)>,
    /// The same as an attribute's name.
    as_attribute: Option<(u32, NameId)>,
    /// The last tag that had an attribute of this name.
    last_tag: u64,
}

/// The names, prefixes and namespaces of the documents read.
#[derive(Debug)]
pub(super) struct NameTable {
    pub names: Names,
    raw: Vec<RawName>,
    raw_ids: HashTable<u32>,
    hashing: foldhash::fast::RandomState,
    prefixes: Vec<Box<str>>,
    prefix_ids: HashMap<Box<str>, u32, foldhash::fast::RandomState>,
    uris: Vec<Box<str>>,
    uri_ids: HashMap<Box<str>, u32, foldhash::fast::RandomState>,
    /// The URI each prefix is bound to; [`NONE`] where it is not.
    bound: Vec<u32>,
    /// What open elements bound, to be undone: the prefix, and its URI before.
    undo: Vec<(u32, u32)>,
    /// The last tag that had an attribute of this expanded name.
    expanded_last_tag: Vec<u64>,
    /// Counts tags with attributes.
    tag: u64,
    bytes_kept: usize,
    bytes_at_start: usize,
    bytes_max: usize,
    name_bytes_max: usize,
}

impl NameTable {
    pub(super) fn new(limits: &Limits) -> Self {
        let mut made = Self {
            names: Names::default(),
            raw: Vec::new(),
            raw_ids: HashTable::new(),
            hashing: foldhash::fast::RandomState::default(),
            prefixes: Vec::new(),
            prefix_ids: HashMap::default(),
            uris: Vec::new(),
            uri_ids: HashMap::default(),
            bound: Vec::new(),
            undo: Vec::new(),
            expanded_last_tag: Vec::new(),
            tag: 0,
            bytes_kept: 0,
            bytes_at_start: 0,
            bytes_max: limits.names_bytes,
            name_bytes_max: limits.name_bytes,
        };
        for (prefix, uri) in [("", ""), ("xml", XML_URI), ("xmlns", XMLNS_URI)] {
            let prefix = made.prefix(prefix);
            let uri = made.uri(uri);
            made.bound[prefix as usize] = uri;
        }
        made.bytes_kept = 0;
        made
    }

    /// Begins a document: no declaration is in scope.
    pub(super) fn begin(&mut self) {
        self.leave(0);
        self.bytes_at_start = self.bytes_kept;
    }

    /// Whether more is kept than may be carried into the next document.
    pub(super) fn is_full(&self) -> bool {
        self.bytes_kept > self.bytes_max
    }

    /// The number of `text` as a name, checked when it is new.
    #[inline(always)]
    pub(super) fn raw(&mut self, text: &str) -> ParseResult<RawId> {
        let hash = hash_of(&self.hashing, text);
        match self
            .raw_ids
            .find(hash, |&id| *self.raw[id as usize].text == *text)
        {
            Some(&id) => Ok(RawId(id)),
            None => self.new_raw(text, hash),
        }
    }

    #[cold]
    fn new_raw(&mut self, text: &str, hash: u64) -> ParseResult<RawId> {
        let colon = qualified(text, self.name_bytes_max)?;
        let (prefix, local) = colon.map_or(("", 0), |colon| (&text[..colon], colon + 1));
        let prefix = self.prefix(prefix);
        let declares = match (prefix, text) {
            (NONE, "xmlns") => Some(NONE),
            (XMLNS, _) => Some(self.prefix(&text[local..])),
            _ => None,
        };
        self.keep(text.len())?;
        let id = u32::try_from(self.raw.len()).expect("bounded by names_bytes");
        self.raw.push(RawName {
            text: text.into(),
            prefix,
            local,
            declares,
            as_element: None,
            as_attribute: None,
            last_tag: 0,
        });
        let (raw, hashing) = (&self.raw, &self.hashing);
        self.raw_ids
            .insert_unique(hash, id, |&id| hash_of(hashing, &raw[id as usize].text));
        Ok(RawId(id))
    }

    /// The name as written.
    #[inline]
    pub(super) fn text(&self, raw: RawId) -> &str {
        &self.raw[raw.0 as usize].text
    }

    /// What `raw` means as an element's name, in the present scope.
    #[inline(always)]
    pub(super) fn element_name(&mut self, raw: RawId) -> ParseResult<NameId> {
        let entry = &self.raw[raw.0 as usize];
        let uri = self.bound[entry.prefix as usize];
        match entry.as_element {
            Some((known, name)) if known == uri => Ok(name),
            _ => {
                if entry.prefix == XMLNS {
                    return refuse(
                        error_codes::NAMESPACE_RESERVED,
                        0,
                        "an element may not have the prefix xmlns",
                    );
                }
                let name = self.expand(raw, uri)?;
                self.raw[raw.0 as usize].as_element = Some((uri, name));
                Ok(name)
            }
        }
    }

    /// What `raw` means as an attribute's name, in the present scope.
    #[inline(always)]
    pub(super) fn attribute_name(&mut self, raw: RawId) -> ParseResult<NameId> {
        let entry = &self.raw[raw.0 as usize];
        // The default namespace does not apply to attributes.
        let uri = if entry.prefix == NONE {
            NONE
        } else {
            self.bound[entry.prefix as usize]
        };
        match entry.as_attribute {
            Some((known, name)) if known == uri => Ok(name),
            _ => {
                let name = self.expand(raw, uri)?;
                self.raw[raw.0 as usize].as_attribute = Some((uri, name));
                Ok(name)
            }
        }
    }

    fn expand(&mut self, raw: RawId, uri: u32) -> ParseResult<NameId> {
        let entry = &self.raw[raw.0 as usize];
        if entry.prefix != NONE && uri == NONE {
            let prefix = shown(&self.prefixes[entry.prefix as usize]);
            return refuse(
                error_codes::NAMESPACE_PREFIX,
                0,
                format!("nothing declares the prefix {prefix}"),
            );
        }
        let before = self.names.len();
        let name = self
            .names
            .intern(&self.uris[uri as usize], &entry.text[entry.local..]);
        if self.names.len() > before {
            let bytes = self.uris[uri as usize].len() + entry.text.len();
            self.keep(bytes)?;
        }
        Ok(name)
    }

    /// Begins a tag with attributes.
    pub(super) fn begin_tag(&mut self) {
        self.tag += 1;
    }

    /// Whether the tag begun has no attribute of this name yet; it has now.
    #[inline]
    pub(super) fn is_new_in_tag(&mut self, raw: RawId) -> bool {
        let entry = &mut self.raw[raw.0 as usize];
        std::mem::replace(&mut entry.last_tag, self.tag) != self.tag
    }

    /// The same by expanded name; only names with a prefix can clash.
    pub(super) fn is_new_in_tag_expanded(&mut self, raw: RawId, name: NameId) -> bool {
        if self.raw[raw.0 as usize].prefix == NONE {
            return true;
        }
        let at = name.0 as usize;
        if self.expanded_last_tag.len() <= at {
            self.expanded_last_tag.resize(self.names.len(), 0);
        }
        std::mem::replace(&mut self.expanded_last_tag[at], self.tag) != self.tag
    }

    /// Whether an attribute of this name declares a namespace.
    #[inline]
    pub(super) fn is_declaration(&self, raw: RawId) -> bool {
        self.raw[raw.0 as usize].declares.is_some()
    }

    /// Binds the prefix that `raw` declares to `uri`, until [`NameTable::leave`].
    pub(super) fn declare(&mut self, raw: RawId, uri: &str) -> ParseResult<()> {
        let prefix = self.raw[raw.0 as usize]
            .declares
            .expect("a namespace declaration");
        let allowed = match prefix {
            XML => uri == XML_URI,
            XMLNS => false,
            _ => uri != XML_URI && uri != XMLNS_URI,
        };
        if !allowed {
            let message = format!("{} may not declare {}", self.text(raw), shown(uri));
            return refuse(error_codes::NAMESPACE_RESERVED, 0, message);
        }
        if uri.is_empty() && prefix != NONE {
            let message = format!("{} declares no namespace", self.text(raw));
            return refuse(error_codes::NAMESPACE_EMPTY, 0, message);
        }
        let uri = self.uri(uri);
        self.keep(0)?;
        let before = std::mem::replace(&mut self.bound[prefix as usize], uri);
        self.undo.push((prefix, before));
        Ok(())
    }

    /// A mark to [`NameTable::leave`] to.
    #[inline]
    pub(super) fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Undoes the declarations made since `mark`.
    #[inline]
    pub(super) fn leave(&mut self, mark: usize) {
        while self.undo.len() > mark {
            let (prefix, before) = self.undo.pop().expect("longer than the mark");
            self.bound[prefix as usize] = before;
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
        self.bytes_kept += 2 * prefix.len() + ENTRY_BYTES;
        id
    }

    fn uri(&mut self, uri: &str) -> u32 {
        if let Some(&id) = self.uri_ids.get(uri) {
            return id;
        }
        let id = u32::try_from(self.uris.len()).expect("bounded by names_bytes");
        self.uris.push(uri.into());
        self.uri_ids.insert(uri.into(), id);
        self.bytes_kept += 2 * uri.len() + ENTRY_BYTES;
        id
    }

    /// Accounts for one entry more.
    fn keep(&mut self, bytes: usize) -> ParseResult<()> {
        self.bytes_kept += 2 * bytes + ENTRY_BYTES;
        if self.bytes_kept - self.bytes_at_start > self.bytes_max {
            let message = format!(
                "its distinct names and namespaces take more than {} bytes",
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
        for (id, (prefix, &uri)) in self.prefixes.iter().zip(&self.bound).enumerate() {
            if uri != NONE && id != XML as usize && id != XMLNS as usize {
                visit(prefix, &self.uris[uri as usize]);
            }
        }
    }
}

#[inline]
fn hash_of(hashing: &foldhash::fast::RandomState, text: &str) -> u64 {
    let mut hasher = hashing.build_hasher();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Where the colon of a qualified name (production `QName`) is, if it has one.
pub(super) fn qualified(text: &str, name_bytes_max: usize) -> ParseResult<Option<usize>> {
    if text.len() > name_bytes_max {
        let message = format!("a name is longer than {name_bytes_max} bytes");
        return refuse(error_codes::LIMIT_NAME_BYTES, 0, message);
    }
    if !is_name(text) {
        return refuse(
            error_codes::NAME,
            0,
            format!("{} is not a name", shown(text)),
        );
    }
    let Some(colon) = text.find(':') else {
        return Ok(None);
    };
    let local = &text[colon + 1..];
    if colon == 0 || local.contains(':') || !is_name(local) {
        return Err(not_qualified(text));
    }
    Ok(Some(colon))
}

fn not_qualified(text: &str) -> ParseError {
    let message = format!("{} is not a prefix, a colon and a local name", shown(text));
    ParseError::new(error_codes::NAMESPACE_COLON, 0, message)
}
