//! The restriction of a tree to a query: what the query selects, with subtrees, and bare ancestors.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use crate::events::NameId;
use crate::select::{
    QuerySteps, ResultDetail, SelectedNode, Selection, SelectionOptions, Selector,
};
use crate::xpath::ast::Kind;

use super::node_id::NodeId;
use super::replay::slot_of;
use super::staged_query::{Stage, StagedQuery};
use super::tree::{DocumentTree, NodeKind, Slot};
use super::tree_error::{TreeError, TreeResult};

/// A node of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ViewNode {
    pub slot: Slot,
    /// The parent when the view was made.
    pub parent: Slot,
    /// Whether only the name of the element, and selected attributes, belong to the view.
    pub is_bare: bool,
}

/// What a query keeps of a version of a tree. It is valid until nodes are forgotten.
#[derive(Debug, Default)]
pub struct View {
    /// In document order.
    pub(super) nodes: Vec<ViewNode>,
    /// Whether each node is bare.
    pub(super) bare: HashMap<Slot, bool, RandomState>,
    /// The selected attributes of bare elements, sorted.
    pub(super) attributes: HashMap<Slot, Vec<NameId>, RandomState>,
    selection: NodeSelection,
}

/// The nodes that a query selects.
#[derive(Clone, Debug, Default)]
struct NodeSelection {
    /// Elements and texts.
    nodes: Vec<Slot>,
    /// The selected attributes of elements, sorted.
    attributes: HashMap<Slot, Vec<NameId>, RandomState>,
}

impl View {
    /// The selected attributes of a bare element.
    pub(super) fn attributes_of(&self, slot: Slot) -> &[NameId] {
        self.attributes.get(&slot).map_or(&[], Vec::as_slice)
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn push(&mut self, node: ViewNode) {
        self.nodes.push(node);
        self.bare.insert(node.slot, node.is_bare);
    }
}

impl DocumentTree {
    /// The restriction to a query.
    pub fn view(&self, query: &StagedQuery) -> TreeResult<View> {
        let mut selection = NodeSelection::default();
        for branch in query.branches() {
            self.select_branch(branch, &mut selection)?;
        }
        for names in selection.attributes.values_mut() {
            names.sort_unstable();
            names.dedup();
        }
        Ok(self.restriction_to(selection))
    }

    /// Adds what a branch selects. Each stage but the last picks the element that the next one starts from.
    fn select_branch(&self, stages: &[Stage], selection: &mut NodeSelection) -> TreeResult<()> {
        let Some(mut top) = self.root() else {
            return Ok(());
        };
        for (number, stage) in stages.iter().enumerate() {
            let selected = self.selected_from(top, &stage.selector)?;
            let is_last = number + 1 == stages.len();
            let Some(index) = stage.index else {
                debug_assert!(is_last, "only an index leads to a next stage");
                selected
                    .iter()
                    .for_each(|node| self.add_selected(node, selection));
                return Ok(());
            };
            let Some(picked) = index.of(&selected) else {
                return Ok(());
            };
            if is_last {
                self.add_selected(picked, selection);
            } else if picked.kind == Kind::Element {
                top = slot_of(picked.spans[0]);
            } else {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The nodes that a query selects if an element is the root element, in document order.
    fn selected_from(&self, top: Slot, selector: &Selector) -> TreeResult<Vec<SelectedNode>> {
        let options = SelectionOptions {
            detail: ResultDetail::AllNodes,
            selected_bytes_max: u64::MAX,
            ..SelectionOptions::default()
        };
        let steps = QuerySteps::new(&[selector]);
        let mut selection = Selection::new(&steps, options);
        self.replay(top, &mut selection)
            .map_err(|stop| TreeError::Stopped(stop.code, stop.message))?;
        Ok(selection.finish().pop().expect("one query").nodes)
    }

    fn add_selected(&self, node: &SelectedNode, selection: &mut NodeSelection) {
        for span in &node.spans {
            let slot = slot_of(*span);
            if node.kind == Kind::Attribute {
                let name = node.name.as_ref().expect("an attribute has a name");
                let name = self.names.find(&name.0, &name.1);
                let names = selection.attributes.entry(slot).or_default();
                names.push(name.expect("a name of the tree"));
            } else {
                selection.nodes.push(slot);
            }
        }
    }

    /// The view of the current version by the query of another view, if the query selects the same nodes as
    /// then. It costs as much as the view is large, with the siblings of its nodes.
    pub fn view_of_same_selection(&self, view: &View) -> View {
        self.restriction_to(view.selection.clone())
    }

    fn restriction_to(&self, selection: NodeSelection) -> View {
        let full: HashSet<Slot, RandomState> = selection.nodes.iter().copied().collect();
        let mut bare: HashSet<Slot, RandomState> = HashSet::default();
        let parents = selection.nodes.iter().map(|slot| self.node(*slot).parent);
        for above in parents.chain(selection.attributes.keys().copied()) {
            for ancestor in self.ancestors(above) {
                if !bare.insert(ancestor) {
                    break;
                }
            }
        }
        let mut view = View::default();
        if let Some(root) = self.root() {
            self.collect(root, &full, &bare, &mut view);
        }
        for (slot, names) in &selection.attributes {
            if view.bare.get(slot) == Some(&true) {
                view.attributes.insert(*slot, names.clone());
            }
        }
        view.selection = selection;
        view
    }

    /// Everything, with deleted nodes and the nodes outside the root element.
    pub(super) fn whole_view(&self) -> View {
        let mut view = View::default();
        for slot in self.present_subtree(Slot::DOCUMENT).skip(1) {
            view.push(ViewNode {
                slot,
                parent: self.node(slot).parent,
                is_bare: self.node(slot).is_bare(),
            });
        }
        for node in &view.nodes {
            if node.is_bare {
                let names = self.node(node.slot).attributes().iter();
                let mut names: Vec<NameId> = names.map(|(name, _)| self.expanded(*name)).collect();
                names.sort_unstable();
                view.attributes.insert(node.slot, names);
            }
        }
        view
    }

    /// Adds what is kept below and at `top`.
    fn collect(
        &self,
        top: Slot,
        full: &HashSet<Slot, RandomState>,
        bare: &HashSet<Slot, RandomState>,
        view: &mut View,
    ) {
        // The nodes to visit, the next one last, and whether an ancestor is full.
        let mut waiting = vec![(top, false)];
        while let Some((slot, is_inside)) = waiting.pop() {
            let is_full = is_inside || full.contains(&slot);
            if !is_full && !bare.contains(&slot) {
                continue;
            }
            view.push(ViewNode {
                slot,
                parent: self.node(slot).parent,
                is_bare: !is_full,
            });
            let mut child = self.node(slot).last_child;
            while let Some(at) = child.some() {
                let node = self.node(at);
                if node.is_visible() {
                    waiting.push((at, is_full));
                }
                child = node.previous;
            }
        }
    }

    /// Whether a view has a node.
    pub fn is_in_view(&self, id: NodeId, view: &View) -> bool {
        self.find(id)
            .is_some_and(|slot| view.bare.contains_key(&slot))
    }

    /// Whether a node is an element of which the tree has only the name.
    pub(super) fn is_bare_element(&self, slot: Slot) -> bool {
        let node = self.node(slot);
        node.kind == NodeKind::Element && node.is_bare()
    }
}
