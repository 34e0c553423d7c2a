//! Canonical documents: small documents that a query matches.
//!
//! Of a tree pattern, each node becomes a node of the document: wildcards become fresh names, `//` one
//! fresh element, and values are chosen so that the facts about them hold. Negations, functions and the
//! like are not taken into account, so a caller that needs a match must check that the query matches.

use std::fmt::Write;

use super::compiled_query::CompiledQuery;
use super::position_facts::PositionCondition;
use super::tree_pattern::{Label, Node};
use super::value_facts::satisfying_value;
use crate::xpath::ast::{Axis, Kind, NameTest, Path};

/// A local name that queries are unlikely to mention. A query that does costs time, not correctness.
const FRESH_LOCAL: &str = "_fresh";

/// A namespace that queries are unlikely to mention.
const FRESH_URI: &str = "urn:_fresh";

/// Size of a canonical document; a larger one is not made.
const DOCUMENT_BYTES_MAX: usize = 256 * 1024;

/// Siblings that are made to satisfy a condition on a position.
const SIBLINGS_MAX: u32 = 16;

impl CompiledQuery {
    /// Documents of which the query is likely to match each, one per alternative, without those that
    /// could not be made.
    pub fn canonical_documents(&self) -> impl Iterator<Item = String> + '_ {
        let patterns = self.patterns().iter().flatten();
        patterns.filter_map(|pattern| DocumentWriter::default().document(&pattern.document))
    }

    /// Whether the query is known to match no document.
    pub fn never_matches(&self) -> bool {
        let is_linear = |branch: &Path| {
            let mut steps = branch.steps.iter();
            branch.steps[0].kind == Kind::Element && steps.all(|step| step.predicates.is_empty())
        };
        // Such a path matches some document; its patterns are not made for this.
        !self.query().branches.iter().any(is_linear) && self.patterns().iter().all(Vec::is_empty)
    }
}

/// What remains to be written.
enum Task<'a> {
    /// A node, with any siblings that its position requires, and an element above it where its axis is
    /// `//`.
    Node(&'a Node),
    /// A node alone, or a sibling equal to it.
    Copy(&'a Node),
    /// The end tag of an element.
    End(String),
}

#[derive(Default)]
struct DocumentWriter<'a> {
    text: String,
    tasks: Vec<Task<'a>>,
}

impl<'a> DocumentWriter<'a> {
    fn document(mut self, document: &'a Node) -> Option<String> {
        self.write_content(document);
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Node(node) => self.push_siblings(node)?,
                Task::Copy(node) => self.write_node(node)?,
                Task::End(name) => write!(self.text, "</{name}>").ok()?,
            }
            if self.text.len() > DOCUMENT_BYTES_MAX {
                return None;
            }
        }
        Some(self.text)
    }

    /// Enqueues the children of a node that are not among its attributes.
    fn write_content(&mut self, node: &'a Node) {
        let children = node.facts.children.iter().rev();
        let content = children.filter(|child| !is_own_attribute(&child.label));
        self.tasks.extend(content.map(|child| Task::Node(child)));
    }

    fn push_siblings(&mut self, node: &'a Node) -> Option<()> {
        let count = sibling_count(node)?;
        if node.label.axis == Axis::Descendant && node.label.kind != Kind::Attribute {
            self.begin(FRESH_LOCAL, "", &[])?;
            self.text.push('>');
            self.tasks.push(Task::End(FRESH_LOCAL.to_owned()));
        }
        self.tasks.extend((0..count).map(|_| Task::Copy(node)));
        Some(())
    }

    fn write_node(&mut self, node: &'a Node) -> Option<()> {
        match node.label.kind {
            Kind::Element => self.write_element(node),
            // Fresh elements keep adjacent texts apart.
            Kind::Text => {
                write!(self.text, "<{FRESH_LOCAL}/>").ok()?;
                let value = satisfying_value(&node.facts.values, true)?;
                self.write_escaped(&value);
                write!(self.text, "<{FRESH_LOCAL}/>").ok()
            }
            Kind::Attribute => {
                self.begin(FRESH_LOCAL, "", &[node])?;
                self.text.push_str("/>");
                Some(())
            }
        }
    }

    fn write_element(&mut self, node: &'a Node) -> Option<()> {
        let (local, uri) = name_of(&node.label.test);
        let children = node.facts.children.iter().map(|child| &**child);
        let attributes: Vec<&Node> = children
            .filter(|child| is_own_attribute(&child.label))
            .collect();
        self.begin(local, uri, &attributes)?;
        self.text.push('>');
        if !node.facts.values.is_empty() {
            let value = satisfying_value(&node.facts.values, false)?;
            self.write_escaped(&value);
        }
        self.tasks.push(Task::End(local.to_owned()));
        self.write_content(node);
        Some(())
    }

    /// Writes a start tag without its end.
    fn begin(&mut self, local: &str, uri: &str, attributes: &[&Node]) -> Option<()> {
        write!(self.text, "<{local} xmlns=\"").ok()?;
        self.write_escaped(uri);
        self.text.push('"');
        for (index, attribute) in attributes.iter().enumerate() {
            let (local, uri) = name_of(&attribute.label.test);
            if uri.is_empty() {
                write!(self.text, " {local}").ok()?;
            } else {
                write!(self.text, " xmlns:_{index}=\"").ok()?;
                self.write_escaped(uri);
                write!(self.text, "\" _{index}:{local}").ok()?;
            }
            if attribute.label.test.local.is_none() {
                write!(self.text, "{index}").ok()?;
            }
            let value = satisfying_value(&attribute.facts.values, false)?;
            self.text.push_str("=\"");
            self.write_escaped(&value);
            self.text.push('"');
        }
        Some(())
    }

    fn write_escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' | '<' | '>' | '"' | '\t' | '\r' | '\n' => {
                    let code = u32::from(character);
                    write!(self.text, "&#{code};").expect("a string can be written to");
                }
                _ => self.text.push(character),
            }
        }
    }
}

fn is_own_attribute(label: &Label) -> bool {
    label.kind == Kind::Attribute && label.axis == Axis::Child
}

/// A name that the test accepts: local name and namespace URI.
fn name_of(test: &NameTest) -> (&str, &str) {
    let local = test.local.as_deref().unwrap_or(FRESH_LOCAL);
    let of_any = if test.local.is_some() { FRESH_URI } else { "" };
    (local, test.uri.as_deref().unwrap_or(of_any))
}

/// How many equal siblings satisfy the conditions on the node's position, if few do.
fn sibling_count(node: &Node) -> Option<u32> {
    let facts = &node.facts.positions;
    (1..=SIBLINGS_MAX).find(|&last| {
        (1..=last).any(|position| {
            let (position, last) = (f64::from(position), f64::from(last));
            facts.iter().all(|fact| match fact.condition {
                PositionCondition::Position(op, value) => op.compare(position, value),
                PositionCondition::PositionLast(op) => op.compare(position, last),
                PositionCondition::Last(op, value) => op.compare(last, value),
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relations::Domain;
    use crate::xpath::{parse, Namespaces};

    fn first_document(query: &str) -> String {
        let query = parse(query, &Namespaces::default()).expect("a query");
        let compiled = CompiledQuery::new(query, Domain::default());
        let mut documents = compiled.canonical_documents();
        documents.next().expect("the query has a pattern")
    }

    #[test]
    fn wildcards_and_gaps_become_fresh_names() {
        let document = first_document("/a//*[@n > 3]");
        assert_eq!(
            document,
            "<a xmlns=\"\"><_fresh xmlns=\"\"><_fresh xmlns=\"\" n=\"4\"></_fresh></_fresh></a>"
        );
    }

    #[test]
    fn a_position_gets_siblings() {
        let document = first_document("/a/b[2]");
        assert_eq!(document.matches("<b ").count(), 2);
    }

    #[test]
    fn values_are_escaped() {
        let document = first_document("/a[@n = '<&\"']");
        assert!(document.contains("n=\"&#60;&#38;&#34;\""), "{document}");
    }
}
