//! Replays a tree as the events of the reader.
//!
//! Spans identify nodes: that of a node in slot `n` starts at `2 n` and is one long, that of an attribute is its
//! owner's. So the spans of adjacent text nodes, which are one text node in queries, stay apart.

use crate::events::{
    Attribute, Context, Handler, NameId, Names, Refusal, Span, StartElement, Stop,
};
use crate::reader::{element_path, error_codes, NameInterner, Reader, Summary};

use super::tree::{DocumentTree, NodeKind, Slot};

/// Bytes that the two tags of an element take besides names and attributes: `<></>`.
const TAGS_BYTES: u64 = 5;

/// Bytes that an attribute takes besides name and value: ` =""`.
const ATTRIBUTE_BYTES: u64 = 4;

/// The span that stands for a node.
fn span_of(slot: Slot) -> Span {
    Span {
        start: u64::from(slot.0) * 2,
        end: u64::from(slot.0) * 2 + 1,
        from_entity: false,
    }
}

/// The node that a span of a replay stands for.
pub(super) fn slot_of(span: Span) -> Slot {
    Slot(u32::try_from(span.start / 2).expect("a span of a replay"))
}

/// The table of names that the ids in events refer to.
trait EventNames {
    fn names(&self) -> &Names;
    /// The id of a name of the tree in this table.
    fn id(&mut self, name: NameId) -> Result<NameId, Stop>;
}

/// The tree's own table.
struct OwnNames<'t>(&'t Names);

impl EventNames for OwnNames<'_> {
    fn names(&self) -> &Names {
        self.0
    }

    fn id(&mut self, name: NameId) -> Result<NameId, Stop> {
        Ok(name)
    }
}

/// The table of a reader, whose ids the caches of matchers refer to.
struct ReaderNames<'t, 'r> {
    tree: &'t Names,
    reader: NameInterner<'r>,
    /// By id in the tree: the id in the reader, if it was needed.
    known: Vec<Option<NameId>>,
}

impl EventNames for ReaderNames<'_, '_> {
    fn names(&self) -> &Names {
        self.reader.names()
    }

    fn id(&mut self, name: NameId) -> Result<NameId, Stop> {
        let known = &mut self.known[name.0 as usize];
        if let Some(id) = *known {
            return Ok(id);
        }
        let (uri, local) = self.tree.get(name);
        let id = self.reader.intern(uri, local)?;
        *known = Some(id);
        Ok(id)
    }
}

/// The names and namespaces at an element.
struct TreeContext<'t> {
    tree: &'t DocumentTree,
    names: &'t Names,
    element: Slot,
}

impl Context for TreeContext<'_> {
    fn names(&self) -> &Names {
        self.names
    }

    fn namespaces_in_scope(&self, visit: &mut dyn FnMut(&str, &str)) {
        let mut seen: Vec<&str> = Vec::new();
        for slot in self.tree.ancestors(self.element) {
            for (prefix, uri) in self.tree.node(slot).declarations() {
                if !seen.contains(&&**prefix) {
                    seen.push(prefix);
                    if !uri.is_empty() {
                        visit(prefix, uri);
                    }
                }
            }
        }
    }

    fn namespace_declarations(&self, visit: &mut dyn FnMut(&str, &str)) {
        for (prefix, uri) in self.tree.node(self.element).declarations() {
            visit(prefix, uri);
        }
    }

    fn scope_id(&self) -> u64 {
        // The innermost element that declares something stands for the scope.
        let declares = |slot: &Slot| !self.tree.node(*slot).declarations().is_empty();
        let mut ancestors = self.tree.ancestors(self.element);
        ancestors
            .find(declares)
            .map_or(0, |slot| u64::from(slot.0) + 1)
    }
}

/// A replay in progress.
struct Replay<'t, N> {
    tree: &'t DocumentTree,
    names: N,
    depth_max: usize,
    /// The open elements.
    open: Vec<Slot>,
    /// What was sent so far; the bytes are those of [`DocumentTree::replayed_bytes`].
    sent: Summary,
}

impl<'t, N: EventNames> Replay<'t, N> {
    fn new(tree: &'t DocumentTree, names: N, depth_max: usize) -> Self {
        Replay {
            tree,
            names,
            depth_max,
            open: Vec::new(),
            sent: Summary {
                encoding: "utf-8",
                ..Summary::default()
            },
        }
    }

    /// Sends the events of an element, as the reader would if it were the root element.
    fn send<H: Handler>(&mut self, top: Slot, handler: &mut H) -> Result<(), Stop> {
        let tree = self.tree;
        for slot in tree.visible_subtree(top) {
            let node = tree.node(slot);
            while self.open.last().is_some_and(|last| *last != node.parent) {
                self.end_element(handler)?;
            }
            match node.kind {
                NodeKind::Element => self.start_element(slot, handler)?,
                NodeKind::Text if node.value.is_empty() => {}
                NodeKind::Text => handler.text(tree.heap.get(node.value), span_of(slot))?,
                NodeKind::Comment | NodeKind::Instruction => handler.text_break()?,
                NodeKind::Document => unreachable!("it starts at an element"),
            }
            self.sent.bytes += tree.bytes_of(slot);
        }
        while !self.open.is_empty() {
            self.end_element(handler)?;
        }
        Ok(())
    }

    fn start_element<H: Handler>(&mut self, slot: Slot, handler: &mut H) -> Result<(), Stop> {
        if self.open.len() == self.depth_max {
            return Err(Stop {
                code: error_codes::LIMIT_DEPTH,
                message: format!("elements are nested deeper than {}", self.depth_max),
            });
        }
        let (tree, span) = (self.tree, span_of(slot));
        let node = tree.node(slot);
        let name = self.names.id(tree.expanded(node.name))?;
        let attributes = node.attributes().iter().map(|(name, value)| {
            Ok(Attribute {
                name: self.names.id(tree.expanded(*name))?,
                value: tree.heap.get(*value),
                span,
            })
        });
        let attributes = attributes.collect::<Result<Vec<_>, Stop>>()?;
        let context = TreeContext {
            tree,
            names: self.names.names(),
            element: slot,
        };
        let element = StartElement {
            name,
            attributes: &attributes,
            span,
        };
        handler.start_element(&context, &element)?;
        self.open.push(slot);
        self.sent.elements += 1;
        self.sent.attributes += attributes.len() as u64;
        Ok(())
    }

    fn end_element<H: Handler>(&mut self, handler: &mut H) -> Result<(), Stop> {
        let span = span_of(self.open.pop().expect("an element is open"));
        handler.end_element(span, span.after())
    }

    /// Why the replay stopped, after what was sent so far.
    fn refusal(&self, stop: Stop) -> Refusal {
        let written = |slot: &Slot| {
            let (prefix, name) = &self.tree.qnames[self.tree.node(*slot).name.0 as usize];
            let local = self.tree.names.get(*name).1;
            match &**prefix {
                "" => local.to_owned(),
                prefix => format!("{prefix}:{local}"),
            }
        };
        Refusal {
            code: stop.code,
            message: stop.message,
            offset: self.sent.bytes,
            line: 1,
            column: 1,
            path: element_path(self.open.iter().map(written)),
        }
    }
}

impl DocumentTree {
    /// Sends the events of an element to a handler, as the reader would if it were the root element. The ids
    /// in events are those of the tree.
    pub(super) fn replay<H: Handler>(&self, top: Slot, handler: &mut H) -> Result<(), Stop> {
        Replay::new(self, OwnNames(&self.names), usize::MAX).send(top, handler)
    }

    /// Sends the events of the document to a handler in place of a reader, with the ids of the reader. Of the
    /// reader's limits, those on depth and names apply: the tree has limits of its own. A refusal has the
    /// offset in [`DocumentTree::replayed_bytes`], and no line.
    pub(crate) fn replay_as<H: Handler>(
        &self,
        reader: &mut Reader,
        handler: &mut H,
    ) -> Result<Summary, Refusal> {
        let depth_max = reader.limits().depth;
        reader.replay(|interner| {
            let names = ReaderNames {
                tree: &self.names,
                reader: interner,
                known: vec![None; self.names.len()],
            };
            let mut replay = Replay::new(self, names, depth_max);
            let sent = match self.root() {
                Some(root) => replay.send(root, handler),
                None => Err(Stop {
                    code: error_codes::ROOT,
                    message: "there is no root element".to_owned(),
                }),
            };
            sent.map(|()| replay.sent)
                .map_err(|stop| replay.refusal(stop))
        })
    }

    /// The size of what a replay of the document sends: that of its tags and texts, without namespace
    /// declarations and references.
    pub(crate) fn replayed_bytes(&self) -> u64 {
        let root = self.root().into_iter();
        root.flat_map(|root| self.visible_subtree(root))
            .map(|slot| self.bytes_of(slot))
            .sum()
    }

    fn bytes_of(&self, slot: Slot) -> u64 {
        let node = self.node(slot);
        if node.kind != NodeKind::Element {
            return self.heap.get(node.value).len() as u64;
        }
        let name_bytes = |name| self.names.get(self.expanded(name)).1.len() as u64;
        let attributes = node.attributes().iter().map(|(name, value)| {
            ATTRIBUTE_BYTES + name_bytes(*name) + self.heap.get(*value).len() as u64
        });
        TAGS_BYTES + 2 * name_bytes(node.name) + attributes.sum::<u64>()
    }
}
