//! What open nodes wait for, by name: an element that nothing waits for costs next to nothing,
//! however many queries there are.
//!
//! When a node is bound to a step, the steps that follow are noted under the names they accept; when
//! it ends they are taken back. Notes are stacks. The children of the innermost open node are the
//! next nodes to come, so what waits for them is on top.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::events::{NameId, Names};
use crate::xpath::ast::{Kind, NameTest};

/// The list of steps that accept more than one name; each name is tested when it comes.
pub(super) const ANY_NAME: u32 = 0;
/// The list of steps to text nodes.
pub(super) const TEXT: u32 = 1;
const FIRST_NAME: u32 = 2;

/// A step that waits for children of the node of a binding.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub step: u32,
    pub target: u32,
    /// The number of the parent's frame.
    depth: u32,
}

#[derive(Default)]
pub(super) struct Expectations {
    /// The names of tests and of elements, which both have lists.
    names: Names,
    /// The document's numbers of names, by list.
    lists: HashMap<NameId, u32, RandomState>,
    children: Vec<Vec<Expected>>,
    descendants: Vec<Vec<u32>>,
    attributes: Vec<Vec<u32>>,
    /// What was noted, to be taken back.
    notes: Vec<(Note, u32)>,
}

#[derive(Clone, Copy)]
enum Note {
    Child,
    Descendant,
    Attribute,
}

impl Expectations {
    /// The list for what a step accepts.
    pub fn list_of_test(&mut self, kind: Kind, test: &NameTest) -> u32 {
        match (kind, test.uri.as_deref(), test.local.as_deref()) {
            (Kind::Text, _, _) => TEXT,
            (_, Some(uri), Some(local)) => self.list_of_name(uri, local),
            _ => ANY_NAME,
        }
    }

    /// The list for a name of the document.
    pub fn list_of(&mut self, names: &Names, name: NameId) -> u32 {
        if let Some(list) = self.lists.get(&name) {
            return *list;
        }
        let (uri, local) = names.get(name);
        let list = self.list_of_name(uri, local);
        self.lists.insert(name, list);
        list
    }

    fn list_of_name(&mut self, uri: &str, local: &str) -> u32 {
        FIRST_NAME + self.names.intern(uri, local).0
    }

    /// Notes that a step waits for children of a binding's node, whose frame has the number `depth`.
    pub fn expect_child(&mut self, list: u32, step: u32, target: u32, depth: u32) {
        at(&mut self.children, list).push(Expected {
            step,
            target,
            depth,
        });
        self.notes.push((Note::Child, list));
    }

    /// Notes that a step waits for elements or texts anywhere below, or for attributes.
    pub fn expect_descendant(&mut self, list: u32, step: u32, kind: Kind) {
        let (lists, note) = match kind {
            Kind::Attribute => (&mut self.attributes, Note::Attribute),
            Kind::Element | Kind::Text => (&mut self.descendants, Note::Descendant),
        };
        at(lists, list).push(step);
        self.notes.push((note, list));
    }

    /// How much was noted so far; for [`Expectations::take_back`].
    pub fn mark(&self) -> usize {
        self.notes.len()
    }

    /// Takes back what was noted since the mark.
    pub fn take_back(&mut self, mark: usize) {
        for (note, list) in self.notes.drain(mark..) {
            let list = list as usize;
            match note {
                Note::Child => drop(self.children[list].pop()),
                Note::Descendant => drop(self.descendants[list].pop()),
                Note::Attribute => drop(self.attributes[list].pop()),
            }
        }
    }

    /// Where in the list of children those begin that wait for children of the frame `depth`, and
    /// where they end.
    pub fn children(&self, list: u32, depth: u32) -> std::ops::Range<usize> {
        let noted = self
            .children
            .get(list as usize)
            .map_or(&[][..], Vec::as_slice);
        let count = noted
            .iter()
            .rev()
            .take_while(|expected| expected.depth == depth)
            .count();
        noted.len() - count..noted.len()
    }

    pub fn child(&self, list: u32, at: usize) -> Expected {
        self.children[list as usize][at]
    }

    /// The steps that wait for descendants.
    pub fn descendants(&self, list: u32) -> &[u32] {
        self.descendants
            .get(list as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// The steps that wait for attributes of descendants.
    pub fn attributes(&self, list: u32) -> &[u32] {
        self.attributes
            .get(list as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// Whether anything waits for attributes of descendants, or ever did.
    pub fn no_attributes(&self) -> bool {
        self.attributes.is_empty()
    }
}

fn at<T>(lists: &mut Vec<Vec<T>>, list: u32) -> &mut Vec<T> {
    let list = list as usize;
    if lists.len() <= list {
        lists.resize_with(list + 1, Vec::new);
    }
    &mut lists[list]
}

/// Whether a test accepts an expanded name.
pub(super) fn accepts(test: &NameTest, (uri, local): (&str, &str)) -> bool {
    test.local.as_deref().is_none_or(|wanted| wanted == local)
        && test.uri.as_deref().is_none_or(|wanted| wanted == uri)
}
