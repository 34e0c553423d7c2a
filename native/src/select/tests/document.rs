//! Documents as trees, and as events.

use crate::events::{Attribute, Context, Handler, Names, Span, StartElement, Stop};

/// A namespace URI and a local name.
pub type Name = (&'static str, &'static str);

/// The content of an element.
#[derive(Clone, Debug)]
pub enum Item {
    Element {
        name: Name,
        attributes: Vec<(Name, String)>,
        items: Vec<Item>,
    },
    /// Adjacent texts are one text node.
    Text(String),
    /// A comment or processing instruction.
    Break,
}

/// A node of the tree. Nodes are numbered in document order: an element, its attributes, its
/// children. Node 0 is the document.
#[derive(Debug)]
pub struct TreeNode {
    pub kind: NodeKind,
    pub parent: usize,
    pub children: Vec<usize>,
    pub attributes: Vec<usize>,
}

#[derive(Debug)]
pub enum NodeKind {
    Document,
    Element(Name),
    Attribute(Name, String),
    Text(String),
}

/// The tree of a document whose root element is `root`.
pub fn tree(root: &Item) -> Vec<TreeNode> {
    let mut nodes = Vec::new();
    add(&mut nodes, NodeKind::Document, 0);
    add_items(&mut nodes, std::slice::from_ref(root), 0);
    nodes
}

fn add(nodes: &mut Vec<TreeNode>, kind: NodeKind, parent: usize) -> usize {
    nodes.push(TreeNode {
        kind,
        parent,
        children: Vec::new(),
        attributes: Vec::new(),
    });
    nodes.len() - 1
}

fn add_items(nodes: &mut Vec<TreeNode>, items: &[Item], parent: usize) {
    let mut open_text: Option<usize> = None;
    for item in items {
        match item {
            Item::Text(text) if text.is_empty() => {}
            Item::Text(text) => match open_text {
                Some(id) => {
                    let NodeKind::Text(value) = &mut nodes[id].kind else {
                        unreachable!()
                    };
                    value.push_str(text);
                }
                None => {
                    let id = add(nodes, NodeKind::Text(text.clone()), parent);
                    nodes[parent].children.push(id);
                    open_text = Some(id);
                }
            },
            Item::Break => open_text = None,
            Item::Element {
                name,
                attributes,
                items,
            } => {
                open_text = None;
                let id = add(nodes, NodeKind::Element(*name), parent);
                nodes[parent].children.push(id);
                for (name, value) in attributes {
                    let attribute = add(nodes, NodeKind::Attribute(*name, value.clone()), id);
                    nodes[id].attributes.push(attribute);
                }
                add_items(nodes, items, id);
            }
        }
    }
}

struct TestContext(Names);

impl Context for TestContext {
    fn names(&self) -> &Names {
        &self.0
    }

    fn namespaces_in_scope(&self, visit: &mut dyn FnMut(&str, &str)) {
        visit("u", "u");
    }

    fn namespace_declarations(&self, _visit: &mut dyn FnMut(&str, &str)) {}

    fn scope_id(&self) -> u64 {
        0
    }
}

/// Sends the events of the document to a handler. Every event has a span of ten bytes.
pub fn read(root: &Item, handler: &mut impl Handler) -> Result<(), Stop> {
    let mut context = TestContext(Names::default());
    let mut offset = 0;
    read_items(
        std::slice::from_ref(root),
        &mut context,
        &mut offset,
        handler,
    )
}

fn next(offset: &mut u64) -> Span {
    *offset += 10;
    Span {
        start: *offset - 10,
        end: *offset,
        from_entity: false,
    }
}

fn read_items(
    items: &[Item],
    context: &mut TestContext,
    offset: &mut u64,
    handler: &mut impl Handler,
) -> Result<(), Stop> {
    for item in items {
        match item {
            Item::Text(text) if text.is_empty() => {}
            Item::Text(text) => handler.text(text, next(offset))?,
            Item::Break => {
                next(offset);
                handler.text_break()?;
            }
            Item::Element {
                name,
                attributes,
                items,
            } => {
                let span = next(offset);
                let name = context.0.intern(name.0, name.1);
                let attributes: Vec<Attribute<'_>> = attributes
                    .iter()
                    .map(|((uri, local), value)| Attribute {
                        name: context.0.intern(uri, local),
                        value,
                        span,
                    })
                    .collect();
                handler.start_element(
                    context,
                    &StartElement {
                        name,
                        attributes: &attributes,
                        span,
                    },
                )?;
                read_items(items, context, offset, handler)?;
                let end_tag = next(offset);
                let complete = Span {
                    end: end_tag.end,
                    ..span
                };
                handler.end_element(complete, end_tag)?;
            }
        }
    }
    Ok(())
}
