//! Builds queries that select a given node, such as `/news[1]/item[2]/@lang`.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::xpath::ast::Kind;

/// Tracks the open elements and counts the children of each by name.
pub(super) struct NodePathTracker {
    /// The document comes first.
    levels: Vec<Level>,
}

#[derive(Default)]
struct Level {
    /// `/name[3]`; empty for the document.
    step: String,
    children: HashMap<String, NameCounts, RandomState>,
    texts: u64,
}

/// How many children have a given local name.
#[derive(Default)]
struct NameCounts {
    without_namespace: u64,
    all: u64,
}

impl Default for NodePathTracker {
    fn default() -> Self {
        Self {
            levels: vec![Level::default()],
        }
    }
}

impl NodePathTracker {
    pub fn start_element(&mut self, (uri, local): (&str, &str)) {
        let parent = self
            .levels
            .last_mut()
            .expect("the document's level is never removed");
        let counts = parent.children.entry_ref(local).or_default();
        counts.all += 1;
        counts.without_namespace += u64::from(uri.is_empty());
        let number = if uri.is_empty() {
            counts.without_namespace
        } else {
            counts.all
        };
        let step = format!("/{}[{number}]", name_test(uri, local));
        self.levels.push(Level {
            step,
            ..Level::default()
        });
    }

    pub fn end_element(&mut self) {
        self.levels.pop();
    }

    /// Counts a text node that begins.
    pub fn start_text(&mut self) {
        self.levels
            .last_mut()
            .expect("the document's level is never removed")
            .texts += 1;
    }

    /// A query that selects the innermost element, an attribute of it, or its latest text node.
    pub fn path_to(&self, kind: Kind, name: Option<&(Box<str>, Box<str>)>) -> Box<str> {
        let mut path: String = self
            .levels
            .iter()
            .map(|level| level.step.as_str())
            .collect();
        match (kind, name) {
            (Kind::Attribute, Some((uri, local))) => {
                path.push_str("/@");
                path.push_str(&name_test(uri, local));
            }
            (Kind::Text, _) => {
                let texts = self.levels.last().map_or(0, |level| level.texts);
                path.push_str(&format!("/text()[{texts}]"));
            }
            (Kind::Element | Kind::Attribute, _) => {}
        }
        path.into_boxed_str()
    }
}

/// A name test that accepts the name and needs no prefix: `local`, or `*:local` in a namespace.
pub(crate) fn name_test(uri: &str, local: &str) -> String {
    if uri.is_empty() {
        local.to_owned()
    } else {
        format!("*:{local}")
    }
}
