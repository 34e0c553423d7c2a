//! Replays a tree as the events of the reader.
//!
//! Spans identify nodes: that of a node in slot `n` starts at `2 n` and is one long, that of an attribute is its
//! owner's. So the spans of adjacent text nodes, which are one text node in queries, stay apart.

use crate::events::{Attribute, Context, Handler, Names, Span, StartElement, Stop};

use super::tree::{DocumentTree, NodeKind, Slot};

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

/// The names and namespaces at an element.
struct TreeContext<'t> {
    tree: &'t DocumentTree,
    element: Slot,
}

impl Context for TreeContext<'_> {
    fn names(&self) -> &Names {
        &self.tree.names
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

impl DocumentTree {
    /// Sends the events of an element to a handler, as the reader would if it were the root element.
    pub(super) fn replay<H: Handler>(&self, top: Slot, handler: &mut H) -> Result<(), Stop> {
        let mut open: Vec<Slot> = Vec::new();
        let end = |slot: Slot, handler: &mut H| {
            let span = span_of(slot);
            handler.end_element(span, span.after())
        };
        for slot in self.visible_subtree(top) {
            let node = self.node(slot);
            while open.last().is_some_and(|last| *last != node.parent) {
                end(open.pop().expect("checked above"), handler)?;
            }
            let span = span_of(slot);
            match node.kind {
                NodeKind::Element => {
                    let attributes: Vec<Attribute<'_>> = node
                        .attributes()
                        .iter()
                        .map(|(name, value)| Attribute {
                            name: self.expanded(*name),
                            value: self.heap.get(*value),
                            span,
                        })
                        .collect();
                    let context = TreeContext {
                        tree: self,
                        element: slot,
                    };
                    let element = StartElement {
                        name: self.expanded(node.name),
                        attributes: &attributes,
                        span,
                    };
                    handler.start_element(&context, &element)?;
                    open.push(slot);
                }
                NodeKind::Text if node.value.is_empty() => {}
                NodeKind::Text => handler.text(self.heap.get(node.value), span)?,
                NodeKind::Comment | NodeKind::Instruction => handler.text_break()?,
                NodeKind::Document => unreachable!("it starts at an element"),
            }
        }
        while let Some(slot) = open.pop() {
            end(slot, handler)?;
        }
        Ok(())
    }
}
