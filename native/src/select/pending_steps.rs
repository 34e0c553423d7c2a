//! The steps that open nodes wait for, indexed by the names they accept: an element that no step waits
//! for costs next to nothing, however many queries there are.
//!
//! When a node is bound to a step, the steps that start from it are added under the names they accept;
//! when the node ends they are removed. Each list is a stack: the steps that wait for children of the
//! innermost node are on top, because its children are the next nodes to arrive.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::events::{NameId, Names};
use crate::xpath::ast::{Kind, NameTest};

use super::open_nodes::BindingId;
use super::query_steps::StepId;
use super::selector::Step;

/// Number of a list of pending steps.
pub(super) type ListId = u32;

/// The list of steps whose name test accepts more than one name; each arriving name is tested.
pub(super) const ANY_NAME: ListId = 0;
/// The list of steps to text nodes.
pub(super) const TEXT: ListId = 1;
const FIRST_NAME: ListId = 2;

/// The list of a step is not known yet.
const NO_LIST: ListId = ListId::MAX;

/// A step that waits for children of a bound node.
#[derive(Clone, Copy)]
pub(super) struct PendingChild {
    pub step: StepId,
    /// The binding of the parent.
    pub target: BindingId,
    /// Index of the parent's frame.
    depth: u32,
}

pub(super) struct PendingSteps {
    /// The names of name tests and of elements; each has a list.
    names: Names,
    /// Lists by the reader's name ids.
    lists_by_id: HashMap<NameId, ListId, RandomState>,
    /// The list of each step, computed on first use.
    lists_by_step: Vec<ListId>,
    children: Vec<Vec<PendingChild>>,
    descendants: Vec<Vec<StepId>>,
    attributes: Vec<Vec<StepId>>,
    /// The lists that were pushed to, in order; see [`PendingSteps::roll_back`].
    undo_log: Vec<(Pushed, ListId)>,
}

#[derive(Clone, Copy)]
enum Pushed {
    Child,
    Descendant,
    Attribute,
}

impl PendingSteps {
    /// No pending steps; `steps` is the number of steps of all queries.
    pub fn new(steps: usize) -> Self {
        Self {
            names: Names::default(),
            lists_by_id: HashMap::default(),
            lists_by_step: vec![NO_LIST; steps],
            children: Vec::new(),
            descendants: Vec::new(),
            attributes: Vec::new(),
            undo_log: Vec::new(),
        }
    }

    /// The list of a name in the document.
    #[inline]
    pub fn list_of(&mut self, names: &Names, name: NameId) -> ListId {
        if let Some(list) = self.lists_by_id.get(&name) {
            return *list;
        }
        let (uri, local) = names.get(name);
        let list = self.list_of_name(uri, local);
        self.lists_by_id.insert(name, list);
        list
    }

    fn list_of_name(&mut self, uri: &str, local: &str) -> ListId {
        FIRST_NAME + self.names.intern(uri, local).0
    }

    fn list_of_step(&mut self, id: StepId, step: &Step) -> ListId {
        let known = self.lists_by_step[id as usize];
        if known != NO_LIST {
            return known;
        }
        let list = match (
            step.kind,
            step.test.uri.as_deref(),
            step.test.local.as_deref(),
        ) {
            (Kind::Text, _, _) => TEXT,
            (_, Some(uri), Some(local)) => self.list_of_name(uri, local),
            _ => ANY_NAME,
        };
        self.lists_by_step[id as usize] = list;
        list
    }

    /// Adds a step that waits for children of the node bound as `target`, whose frame is `depth`.
    pub fn add_child(&mut self, id: StepId, step: &Step, target: BindingId, depth: u32) {
        let list = self.list_of_step(id, step);
        list_mut(&mut self.children, list).push(PendingChild {
            step: id,
            target,
            depth,
        });
        self.undo_log.push((Pushed::Child, list));
    }

    /// Adds a step that waits for descendants, or for attributes of descendants.
    pub fn add_descendant(&mut self, id: StepId, step: &Step) {
        let list = self.list_of_step(id, step);
        let (lists, pushed) = match step.kind {
            Kind::Attribute => (&mut self.attributes, Pushed::Attribute),
            Kind::Element | Kind::Text => (&mut self.descendants, Pushed::Descendant),
        };
        list_mut(lists, list).push(id);
        self.undo_log.push((pushed, list));
    }

    /// A mark for [`PendingSteps::roll_back`].
    #[inline]
    pub fn mark(&self) -> usize {
        self.undo_log.len()
    }

    /// Removes the steps added since `mark`.
    pub fn roll_back(&mut self, mark: usize) {
        for (pushed, list) in self.undo_log.drain(mark..) {
            let list = list as usize;
            match pushed {
                Pushed::Child => drop(self.children[list].pop()),
                Pushed::Descendant => drop(self.descendants[list].pop()),
                Pushed::Attribute => drop(self.attributes[list].pop()),
            }
        }
    }

    /// The indexes in a list of the steps that wait for children of frame `depth`.
    #[inline]
    pub fn children(&self, list: ListId, depth: u32) -> std::ops::Range<usize> {
        let pending = self
            .children
            .get(list as usize)
            .map_or(&[][..], Vec::as_slice);
        let count = pending
            .iter()
            .rev()
            .take_while(|child| child.depth == depth)
            .count();
        pending.len() - count..pending.len()
    }

    #[inline]
    pub fn child(&self, list: ListId, at: usize) -> PendingChild {
        self.children[list as usize][at]
    }

    /// The steps that wait for descendants.
    #[inline]
    pub fn descendants(&self, list: ListId) -> &[StepId] {
        self.descendants
            .get(list as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// The steps that wait for attributes of descendants.
    #[inline]
    pub fn attributes(&self, list: ListId) -> &[StepId] {
        self.attributes
            .get(list as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a step ever waited for attributes of descendants.
    #[inline]
    pub fn had_attributes(&self) -> bool {
        !self.attributes.is_empty()
    }
}

fn list_mut<T>(lists: &mut Vec<Vec<T>>, list: ListId) -> &mut Vec<T> {
    let list = list as usize;
    if lists.len() <= list {
        lists.resize_with(list + 1, Vec::new);
    }
    &mut lists[list]
}

/// Whether a name test accepts an expanded name.
pub(super) fn accepts(test: &NameTest, (uri, local): (&str, &str)) -> bool {
    test.local.as_deref().is_none_or(|wanted| wanted == local)
        && test.uri.as_deref().is_none_or(|wanted| wanted == uri)
}
