//! Builds a tree from the events of the reader.

use crate::events::{Context, Handler, MarkupKind, Refusal, Span, StartElement, Stop};
use crate::reader::{Reader, ReaderOptions};

use super::node_id::NodeId;
use super::tree::{DocumentTree, Node, NodeKind, Slot, TreeLimits};
use super::tree_error::{TreeError, TreeResult};

/// The code of a document that exceeds a limit of the tree.
const LIMIT_TREE: &str = "limit.tree";

impl DocumentTree {
    /// Reads a document. Its nodes get identities of replica 0, numbered from 1 in document order.
    pub fn read(
        document: &[u8],
        options: ReaderOptions,
        limits: TreeLimits,
    ) -> Result<Self, Refusal> {
        let mut loader = Loader {
            tree: DocumentTree::new(limits),
            open: Slot::DOCUMENT,
            number: 0,
            text: None,
            markup: String::new(),
            prefixes: Vec::new(),
            prefix_count: 0,
        };
        Reader::new(options).read_slice(document, &mut loader)?;
        Ok(loader.tree)
    }
}

struct Loader {
    tree: DocumentTree,
    /// The innermost open element, or the document node.
    open: Slot,
    /// Number of the last node.
    number: u64,
    /// The text node that the next chunk belongs to.
    text: Option<String>,
    /// The chunks of a comment or instruction so far.
    markup: String,
    /// The prefixes of the current tag; only the first `prefix_count` count.
    prefixes: Vec<String>,
    prefix_count: usize,
}

fn stop(error: &TreeError) -> Stop {
    Stop {
        code: LIMIT_TREE,
        message: error.to_string(),
    }
}

impl Loader {
    /// Adds a node as the last child of the open one.
    fn append(&mut self, kind: NodeKind) -> TreeResult<Slot> {
        self.number += 1;
        let id = NodeId::new(0, self.number);
        let slot = self.tree.add(Node::new(id, kind))?;
        let last = self.tree.node(self.open).last_child;
        self.tree.link_after(slot, self.open, last);
        Ok(slot)
    }

    fn append_value(&mut self, kind: NodeKind, value: &str) -> TreeResult<Slot> {
        let slot = self.append(kind)?;
        let value = self.tree.add_text(value)?;
        self.tree.node_mut(slot).value = value;
        Ok(slot)
    }

    fn end_text(&mut self) -> TreeResult<()> {
        if let Some(text) = self.text.take() {
            self.append_value(NodeKind::Text, &text)?;
        }
        Ok(())
    }

    fn end_markup(&mut self, kind: MarkupKind) -> TreeResult<()> {
        self.end_text()?;
        let content = std::mem::take(&mut self.markup);
        let content = content.replace("\r\n", "\n").replace('\r', "\n");
        match kind {
            MarkupKind::Comment => {
                self.append_value(NodeKind::Comment, &content)?;
            }
            MarkupKind::Instruction => {
                let is_space = |c: char| matches!(c, ' ' | '\t' | '\n');
                let (target, data) = content.split_once(is_space).unwrap_or((&content, ""));
                let slot =
                    self.append_value(NodeKind::Instruction, data.trim_start_matches(is_space))?;
                self.tree.node_mut(slot).name = self.tree.qname("", "", target);
            }
        }
        Ok(())
    }

    fn start(&mut self, context: &dyn Context, element: &StartElement<'_>) -> TreeResult<()> {
        self.end_text()?;
        let slot = self.append(NodeKind::Element)?;
        let names = context.names();
        let (uri, local) = names.get(element.name);
        self.tree.node_mut(slot).name = self.tree.qname(&self.prefixes[0], uri, local);
        let mut declarations = Vec::new();
        context.namespace_declarations(&mut |prefix, uri| {
            declarations.push((prefix.into(), uri.into()));
        });
        if !element.attributes.is_empty() || !declarations.is_empty() {
            let mut attributes = Vec::with_capacity(element.attributes.len());
            for (attribute, prefix) in element.attributes.iter().zip(&self.prefixes[1..]) {
                let (uri, local) = names.get(attribute.name);
                let name = self.tree.qname(prefix, uri, local);
                attributes.push((name, self.tree.add_text(attribute.value)?));
            }
            let data = self.tree.node_mut(slot).element.get_or_insert_default();
            data.attributes = attributes;
            data.declarations = declarations;
        }
        self.open = slot;
        self.prefix_count = 0;
        Ok(())
    }
}

impl Handler for Loader {
    const SPANS: bool = false;
    const LEXICAL: bool = true;

    fn prefix(&mut self, prefix: &str) {
        match self.prefixes.get_mut(self.prefix_count) {
            Some(known) => {
                known.clear();
                known.push_str(prefix);
            }
            None => self.prefixes.push(prefix.to_owned()),
        }
        self.prefix_count += 1;
    }

    fn markup(&mut self, kind: MarkupKind, chunk: &str, is_last: bool) -> Result<(), Stop> {
        self.markup.push_str(chunk);
        if is_last {
            self.end_markup(kind).map_err(|error| stop(&error))?;
        }
        Ok(())
    }

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.start(context, element).map_err(|error| stop(&error))
    }

    fn end_element(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        self.end_text().map_err(|error| stop(&error))?;
        self.open = self.tree.node(self.open).parent;
        Ok(())
    }

    fn text(&mut self, text: &str, _: Span) -> Result<(), Stop> {
        self.text.get_or_insert_default().push_str(text);
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}
