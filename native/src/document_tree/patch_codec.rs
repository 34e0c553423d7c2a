//! The binary form of a patch.
//!
//! A patch starts with a magic number and a version. Then come the tops of the subtrees that leave, and the nodes
//! that enter, move or change, in document order. Numbers are variable-length; names are written once and then
//! referred to by number.

use hashbrown::HashMap;

use super::insertion::NewNode;
use super::node_id::NodeId;
use super::tree::{NodeKind, QualifiedName};
use super::tree_error::{TreeError, TreeResult};

const MAGIC: &[u8; 4] = b"PSP1";

/// What happens to a node of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatchEntry {
    /// It enters; `depth` of the node is unused.
    Enter(Position, NewNode, NodeState),
    /// It moves, and its content may change too.
    Move(Position, NodeId),
    /// Its content changes.
    Change(NewNode, NodeState),
}

/// What a node is besides its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeState {
    /// Whether the cache has only the name of the element, and selected attributes.
    pub is_bare: bool,
    /// Whether it is deleted; only snapshots have deleted nodes.
    pub is_deleted: bool,
}

/// Where a node is in the new view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub parent: NodeId,
    /// The previous sibling in the view.
    pub previous: Option<NodeId>,
}

/// Flags in the byte of a node's kind.
const BARE: u8 = 8;
const DELETED_NODE: u8 = 16;

const ENTER: u8 = 0;
const MOVE: u8 = 1;
const CHANGE: u8 = 2;

/// Writes a patch entry by entry, so that it is in memory only once.
#[derive(Default)]
pub(super) struct PatchWriter {
    left: Encoder,
    left_count: u64,
    entries: Encoder,
    entry_count: u64,
}

impl PatchWriter {
    /// The top of a subtree that leaves; what moves out of it stays.
    pub fn leave(&mut self, id: NodeId) {
        self.left.id(id);
        self.left_count += 1;
    }

    /// Adds an entry; they are in document order of the new view.
    pub fn entry(&mut self, entry: &PatchEntry) {
        self.entries.entry(entry);
        self.entry_count += 1;
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.left_count + self.entry_count == 0
    }

    /// The patch.
    pub fn finish(self) -> Vec<u8> {
        let mut header = Encoder::default();
        header.bytes.extend_from_slice(MAGIC);
        header.number(self.left_count);
        header.bytes.extend_from_slice(&self.left.bytes);
        header.number(self.entry_count);
        let mut bytes = self.entries.bytes;
        bytes.splice(..0, header.bytes);
        bytes
    }
}

/// Reads a patch entry by entry.
pub(super) struct PatchReader<'b> {
    /// The tops of the subtrees that leave.
    pub left: Vec<NodeId>,
    decoder: Decoder<'b>,
    remaining: u64,
}

impl<'b> PatchReader<'b> {
    pub fn open(bytes: &'b [u8]) -> TreeResult<Self> {
        let bytes = bytes.strip_prefix(MAGIC).ok_or(TreeError::Malformed(
            "it is not a patch, or of another version",
        ))?;
        let mut decoder = Decoder {
            bytes,
            names: Vec::new(),
            last: NodeId::DOCUMENT,
        };
        let mut left = Vec::new();
        for _ in 0..decoder.number()? {
            left.push(decoder.id()?);
        }
        let remaining = decoder.number()?;
        decoder.last = NodeId::DOCUMENT;
        Ok(Self {
            left,
            decoder,
            remaining,
        })
    }

    /// The next entry; `None` at the end.
    pub fn next(&mut self) -> TreeResult<Option<PatchEntry>> {
        if self.remaining == 0 {
            return if self.decoder.bytes.is_empty() {
                Ok(None)
            } else {
                Err(TreeError::Malformed("bytes follow the patch"))
            };
        }
        self.remaining -= 1;
        self.decoder.entry().map(Some)
    }
}

#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
    names: HashMap<QualifiedName, u64>,
    /// The identity written last: most are its successor.
    last: Option<NodeId>,
}

/// First bytes of identities.
const SUCCESSOR: u8 = 0;
const NUMBERED: u8 = 1;
const DERIVED: u8 = 2;
const SAME: u8 = 3;

impl Encoder {
    fn number(&mut self, number: u64) {
        let mut rest = number;
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn id(&mut self, id: NodeId) {
        let last = self.last.unwrap_or(NodeId::DOCUMENT);
        match id.parts() {
            _ if id == last => self.bytes.push(SAME),
            Some(_) if Some(id) == successor(last) => self.bytes.push(SUCCESSOR),
            Some((replica, number)) => {
                self.bytes.push(NUMBERED);
                self.number(replica.into());
                self.number(number);
            }
            None => {
                self.bytes.push(DERIVED);
                self.bytes.extend_from_slice(&id.to_bytes());
            }
        }
        self.last = Some(id);
    }

    fn name(&mut self, name: &QualifiedName) {
        let next = self.names.len() as u64;
        if let Some(&known) = self.names.get(name) {
            self.number(known + 1);
            return;
        }
        self.names.insert(name.clone(), next);
        self.number(0);
        self.text(&name.prefix);
        self.text(&name.uri);
        self.text(&name.local);
    }

    fn entry(&mut self, entry: &PatchEntry) {
        match entry {
            PatchEntry::Enter(position, node, state) => {
                self.bytes.push(ENTER);
                self.position(*position);
                self.node(node, *state);
            }
            PatchEntry::Move(position, id) => {
                self.bytes.push(MOVE);
                self.position(*position);
                self.id(*id);
            }
            PatchEntry::Change(node, state) => {
                self.bytes.push(CHANGE);
                self.node(node, *state);
            }
        }
    }

    fn position(&mut self, position: Position) {
        self.bytes.push(u8::from(position.previous.is_some()));
        self.id(position.parent);
        if let Some(previous) = position.previous {
            self.id(previous);
        }
    }

    fn node(&mut self, node: &NewNode, state: NodeState) {
        let kind = match node.kind {
            NodeKind::Document | NodeKind::Element => 0,
            NodeKind::Text => 1,
            NodeKind::Comment => 2,
            NodeKind::Instruction => 3,
        };
        let flags = u8::from(state.is_bare) * BARE + u8::from(state.is_deleted) * DELETED_NODE;
        self.bytes.push(kind | flags);
        self.id(node.id);
        if matches!(node.kind, NodeKind::Element | NodeKind::Instruction) {
            self.name(&node.name);
        }
        if node.kind != NodeKind::Element {
            self.text(&node.value);
            return;
        }
        self.number(node.attributes.len() as u64);
        for (name, value) in &node.attributes {
            self.name(name);
            self.text(value);
        }
        self.number(node.declarations.len() as u64);
        for (prefix, uri) in &node.declarations {
            self.text(prefix);
            self.text(uri);
        }
    }
}

/// The identity with the next number.
fn successor(id: NodeId) -> Option<NodeId> {
    let (replica, number) = id.parts()?;
    Some(NodeId::new(replica, number.checked_add(1)?))
}

struct Decoder<'b> {
    bytes: &'b [u8],
    names: Vec<QualifiedName>,
    last: NodeId,
}

const TRUNCATED: TreeError = TreeError::Malformed("the patch is truncated");

impl<'b> Decoder<'b> {
    fn take(&mut self, count: usize) -> TreeResult<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(TRUNCATED)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> TreeResult<u8> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> TreeResult<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(TreeError::Malformed("a number of the patch is too large"))
    }

    fn text(&mut self) -> TreeResult<String> {
        let length = usize::try_from(self.number()?).map_err(|_| TRUNCATED)?;
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes);
        text.map(str::to_owned)
            .map_err(|_| TreeError::Malformed("a text of the patch is not UTF-8"))
    }

    fn id(&mut self) -> TreeResult<NodeId> {
        let malformed = TreeError::Malformed("an identity of the patch is malformed");
        let id = match self.byte()? {
            SAME => Some(self.last),
            SUCCESSOR => successor(self.last),
            NUMBERED => {
                let replica = u32::try_from(self.number()?).map_err(|_| malformed.clone())?;
                Some(NodeId::new(replica, self.number()?))
            }
            DERIVED => {
                let bytes = self.take(16)?.try_into().expect("16 bytes");
                NodeId::from_bytes(bytes).filter(|id| id.is_derived())
            }
            _ => None,
        };
        self.last = id.ok_or(malformed)?;
        Ok(self.last)
    }

    fn name(&mut self) -> TreeResult<QualifiedName> {
        match usize::try_from(self.number()?).map_err(|_| TRUNCATED)? {
            0 => {
                let name = QualifiedName {
                    prefix: self.text()?,
                    uri: self.text()?,
                    local: self.text()?,
                };
                self.names.push(name.clone());
                Ok(name)
            }
            known => {
                let name = self.names.get(known - 1).cloned();
                name.ok_or(TreeError::Malformed("a name of the patch is missing"))
            }
        }
    }

    fn entry(&mut self) -> TreeResult<PatchEntry> {
        Ok(match self.byte()? {
            ENTER => {
                let position = self.position()?;
                let (node, state) = self.node()?;
                PatchEntry::Enter(position, node, state)
            }
            MOVE => PatchEntry::Move(self.position()?, self.id()?),
            CHANGE => {
                let (node, state) = self.node()?;
                PatchEntry::Change(node, state)
            }
            _ => return Err(TreeError::Malformed("an entry of the patch is unknown")),
        })
    }

    fn position(&mut self) -> TreeResult<Position> {
        let has_previous = match self.byte()? {
            0 => false,
            1 => true,
            _ => return Err(TreeError::Malformed("a position of the patch is malformed")),
        };
        let parent = self.id()?;
        let previous = if has_previous { Some(self.id()?) } else { None };
        Ok(Position { parent, previous })
    }

    fn node(&mut self) -> TreeResult<(NewNode, NodeState)> {
        let first = self.byte()?;
        let kind = match first & 7 {
            0 => NodeKind::Element,
            1 => NodeKind::Text,
            2 => NodeKind::Comment,
            3 => NodeKind::Instruction,
            _ => return Err(TreeError::Malformed("a kind of node is unknown")),
        };
        let state = NodeState {
            is_bare: first & BARE != 0,
            is_deleted: first & DELETED_NODE != 0,
        };
        let flags = first & !7 & !BARE & !DELETED_NODE;
        if flags != 0 || state.is_bare && kind != NodeKind::Element {
            return Err(TreeError::Malformed("a kind of node is unknown"));
        }
        let mut node = NewNode {
            id: self.id()?,
            depth: 0,
            kind,
            name: QualifiedName::default(),
            value: String::new(),
            attributes: Vec::new(),
            declarations: Vec::new(),
        };
        if matches!(kind, NodeKind::Element | NodeKind::Instruction) {
            node.name = self.name()?;
        }
        if kind != NodeKind::Element {
            node.value = self.text()?;
            return Ok((node, state));
        }
        for _ in 0..self.number()? {
            let name = self.name()?;
            node.attributes.push((name, self.text()?));
        }
        for _ in 0..self.number()? {
            let prefix = self.text()?;
            node.declarations.push((prefix, self.text()?));
        }
        Ok((node, state))
    }
}
