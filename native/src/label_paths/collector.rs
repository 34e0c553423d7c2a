//! Records the label paths of documents while they are read.
//!
//! Documents of one feed share most of their label paths. The collector therefore keeps the tree of all
//! label paths it has seen, as long as the reader keeps its names, and marks those of each document.

use std::sync::Arc;

use hashbrown::HashMap;

use super::{LabelPath, LabelPaths, NameList, PathNumber, NO_PARENT};
use crate::events::{Context, NameId, Span, StartElement};

type Hashing = foldhash::fast::RandomState;

/// Paths and attributes that a collector keeps from one document to the next; beyond it, it starts from an empty set.
const KNOWN_MAX: usize = 1 << 14;

/// The label paths of a document, if they are to be recorded.
#[derive(Debug)]
pub struct LabelPathRequest {
    /// Maximum number of paths and attribute names at them, together.
    pub paths_max: usize,
    /// The label paths of the document that was read; `None` if there are more than the limit.
    pub found: Option<LabelPaths>,
}

impl LabelPathRequest {
    /// A request for at most this many paths and attribute names at them, together.
    pub fn new(paths_max: usize) -> LabelPathRequest {
        LabelPathRequest {
            paths_max,
            found: None,
        }
    }
}

/// Number of a path that the collector knows.
type NodeNumber = u32;

/// A path that occurred in this document or an earlier one.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: NodeNumber,
    /// Number in the list of names.
    name: u32,
    /// The document in which it occurred last.
    document: u64,
    /// Its number in that document.
    number: PathNumber,
    /// Where its last element ended in that document. End tags come in the order of their offsets.
    end: u64,
    /// The child that occurred last: many elements have siblings of the same name.
    latest_child: Option<(NameId, NodeNumber)>,
}

/// An attribute at a path.
#[derive(Clone, Copy, Debug)]
struct AttributeMark {
    /// Number in the list of names.
    name: u32,
    /// The document in which it occurred last.
    document: u64,
}

/// Records label paths, one document after the other.
#[derive(Debug, Default)]
pub(crate) struct LabelPathCollector {
    /// The table of names that `NameId`s refer to.
    names_table: u64,
    /// Shared with the label paths of earlier documents; copied if there are new names.
    names: Arc<NameList>,
    name_numbers: HashMap<NameId, u32, Hashing>,
    nodes: Vec<Node>,
    /// By parent and name: see [`key`].
    children: HashMap<u64, NodeNumber, Hashing>,
    /// By path and name, likewise.
    attributes: HashMap<u64, AttributeMark, Hashing>,

    /// Number of the current document, from 1.
    document: u64,
    /// What the current document may still have.
    remaining: usize,
    is_exceeded: bool,
    open: Vec<NodeNumber>,
    /// The paths of the current document, in the order in which they occurred.
    found: Vec<NodeNumber>,
    /// The attributes at them, as numbers in the list of names.
    found_attributes: Vec<(PathNumber, u32)>,
}

/// A node and a name as one number, which is hashed in one step.
#[inline]
fn key(node: NodeNumber, name: NameId) -> u64 {
    u64::from(node) << 32 | u64::from(name.0)
}

impl LabelPathCollector {
    /// Starts a document whose names are numbered by `names_table`.
    pub fn begin(&mut self, names_table: u64, paths_max: usize) {
        let known = self.nodes.len() + self.attributes.len();
        if self.names_table != names_table || known > KNOWN_MAX {
            *self = LabelPathCollector {
                names_table,
                document: self.document,
                ..LabelPathCollector::default()
            };
        }
        self.document += 1;
        self.remaining = paths_max;
        self.is_exceeded = false;
        self.open.clear();
        self.found.clear();
        self.found_attributes.clear();
    }

    /// A start tag.
    #[inline]
    pub fn start_element(&mut self, context: &dyn Context, element: &StartElement<'_>) {
        if self.is_exceeded {
            return;
        }
        let parent = self.open.last().copied().unwrap_or(NO_PARENT);
        let latest = match self.open.last() {
            Some(&parent) => self.nodes[parent as usize].latest_child,
            None => None,
        };
        let number = match latest {
            Some((name, child)) if name == element.name => child,
            _ => self.child_of(context, parent, element.name),
        };
        let node = &mut self.nodes[number as usize];
        if node.document != self.document {
            node.document = self.document;
            node.number = self.found.len() as PathNumber;
            self.found.push(number);
            self.count_one();
        }
        self.open.push(number);
        for attribute in element.attributes {
            self.mark_attribute(context, number, attribute.name);
        }
    }

    /// The end of the innermost open element.
    #[inline]
    pub fn end_element(&mut self, span: Span) {
        if let Some(number) = self.open.pop() {
            self.nodes[number as usize].end = span.end;
        }
    }

    /// The label paths of the document; `None` if there are more than the limit.
    pub fn finish(&mut self) -> Option<LabelPaths> {
        if self.is_exceeded || self.found.is_empty() {
            return None;
        }
        let path = |&number: &NodeNumber| {
            let Node {
                parent, name, end, ..
            } = self.nodes[number as usize];
            let parent = match parent {
                NO_PARENT => NO_PARENT,
                parent => self.nodes[parent as usize].number,
            };
            LabelPath { parent, name, end }
        };
        Some(LabelPaths {
            paths: self.found.iter().map(path).collect(),
            attributes: self.found_attributes.clone(),
            names: Arc::clone(&self.names),
        })
    }

    fn child_of(
        &mut self,
        context: &dyn Context,
        parent: NodeNumber,
        name_id: NameId,
    ) -> NodeNumber {
        let number = match self.children.get(&key(parent, name_id)) {
            Some(&known) => known,
            None => {
                let number = self.nodes.len() as NodeNumber;
                let name = self.name_number(context, name_id);
                self.nodes.push(Node {
                    parent,
                    name,
                    document: 0,
                    number: 0,
                    end: 0,
                    latest_child: None,
                });
                self.children.insert(key(parent, name_id), number);
                number
            }
        };
        if let Some(parent) = self.nodes.get_mut(parent as usize) {
            parent.latest_child = Some((name_id, number));
        }
        number
    }

    #[inline]
    fn mark_attribute(&mut self, context: &dyn Context, node: NodeNumber, name_id: NameId) {
        let document = self.document;
        let name = match self.attributes.get_mut(&key(node, name_id)) {
            Some(mark) if mark.document == document => return,
            Some(mark) => {
                mark.document = document;
                mark.name
            }
            None => {
                let name = self.name_number(context, name_id);
                let mark = AttributeMark { name, document };
                self.attributes.insert(key(node, name_id), mark);
                name
            }
        };
        let path = self.nodes[node as usize].number;
        self.found_attributes.push((path, name));
        self.count_one();
    }

    #[cold]
    fn name_number(&mut self, context: &dyn Context, name_id: NameId) -> u32 {
        if let Some(&known) = self.name_numbers.get(&name_id) {
            return known;
        }
        let names = Arc::make_mut(&mut self.names);
        let number = names.push(context.names().get(name_id));
        self.is_exceeded |= number.is_none();
        let number = number.unwrap_or(0);
        self.name_numbers.insert(name_id, number);
        number
    }

    /// Counts a path or an attribute against the limit.
    fn count_one(&mut self) {
        match self.remaining.checked_sub(1) {
            Some(remaining) => self.remaining = remaining,
            None => self.is_exceeded = true,
        }
    }
}
