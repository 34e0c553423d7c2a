//! The way to a node, as a query that leads to it.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::xpath::ast::Kind;

/// The open elements, and what was counted below each.
pub(super) struct Paths {
    /// The document first.
    levels: Vec<Level>,
}

#[derive(Default)]
struct Level {
    /// `/name[3]`; empty for the document.
    step: String,
    children: HashMap<String, Alike, RandomState>,
    texts: u64,
}

/// Children of one local name.
#[derive(Default)]
struct Alike {
    /// In no namespace.
    plain: u64,
    /// In any, or none.
    all: u64,
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            levels: vec![Level::default()],
        }
    }
}

impl Paths {
    pub fn start_element(&mut self, (uri, local): (&str, &str)) {
        let parent = self
            .levels
            .last_mut()
            .expect("the document's level is always there");
        let alike = parent.children.entry_ref(local).or_default();
        alike.all += 1;
        alike.plain += u64::from(uri.is_empty());
        let number = if uri.is_empty() {
            alike.plain
        } else {
            alike.all
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

    /// A text node begins.
    pub fn text(&mut self) {
        self.levels
            .last_mut()
            .expect("the document's level is always there")
            .texts += 1;
    }

    /// The path to the innermost element, an attribute of it, or its last text node.
    pub fn to(&self, kind: Kind, name: Option<&(Box<str>, Box<str>)>) -> Box<str> {
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

/// A test that accepts the name and needs no prefix.
pub(crate) fn name_test(uri: &str, local: &str) -> String {
    if uri.is_empty() {
        local.to_owned()
    } else {
        format!("*:{local}")
    }
}
