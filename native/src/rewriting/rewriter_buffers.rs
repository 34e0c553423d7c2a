//! What rewriting keeps from document to document, and while one is read.

use std::sync::Arc;

use hashbrown::HashMap;

use super::bound_mapping::BoundMapping;
use super::mapping::{Destination, Mapping, SchemaNodeId};
use super::replay::Task;
use super::tree_buffer::{Mark, NodeId, TreeBuffer};
use crate::events::{Context, NameId, Names, Span};

/// Mappings tied to the reader's names that are kept; past it all are dropped.
const BOUND_MAX: usize = 1_000;

/// The memory of one thread's rewriting.
#[derive(Default)]
pub struct RewriterBuffers {
    /// The table that mappings are tied to.
    names_table: u64,
    bound: HashMap<u64, Arc<BoundMapping>, foldhash::fast::RandomState>,
    pub(super) names: KnownNames,
    pub(super) frames: Vec<Frame>,
    pub(super) states: Vec<State>,
    /// How many of the states are in use.
    pub(super) states_open: usize,
    pub(super) trees: TreeBuffer,
    pub(super) tasks: Vec<Task>,
    /// The values of a kept element's attributes while it is placed.
    pub(super) values: String,
    /// Which elements an element's attributes become, and of which they are made.
    pub(super) made: Vec<(u32, usize)>,
}

/// The reader's names, for what is placed when the reader is not at hand.
#[derive(Default)]
pub(super) struct KnownNames(Names);

impl KnownNames {
    /// Takes up names that are new.
    #[inline]
    pub fn follow(&mut self, names: &Names) {
        for id in self.0.len()..names.len() {
            let number = u32::try_from(id).expect("fewer than 2^32 names");
            let (uri, local) = names.get(NameId(number));
            self.0.intern(uri, local);
        }
    }
}

impl Context for KnownNames {
    fn names(&self) -> &Names {
        &self.0
    }

    fn namespaces_in_scope(&self, _visit: &mut dyn FnMut(&str, &str)) {
        // Fragments are cut out of the original, where other namespaces may be in scope.
    }
}

/// No state.
pub(super) const NO_STATE: u32 = u32::MAX;

/// An open element of which the children pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub place: SchemaNodeId,
    /// Where operators are for the element, how far they are.
    pub state: u32,
}

/// How far the operators of an open element are.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Whether something stands around the element, so that others can stand beside it.
    pub upgrades: bool,
    /// Whether its children wait for the element's end, since one may be moved into another.
    pub waits: bool,
    /// Whether it is known which of them are.
    pub decided: bool,
    /// Whether the inserted path is open in which all that follows passes.
    pub path_open: bool,
    /// Whether it has ended for whoever hears: what follows stands behind it.
    pub ended: bool,
    /// Its range, where ranges matter: itself, or a sign while its end is not read.
    pub span: Option<Span>,
    /// What was kept before it.
    pub mark: Mark,
    /// Children that wait, in order.
    pub waiting: Vec<NodeId>,
    /// Children that were set aside, and for what.
    pub aside: Vec<(Destination, NodeId)>,
}

impl RewriterBuffers {
    /// Prepares for a document that is read with the table of names numbered `names_table`.
    pub fn begin(&mut self, mapping: &Mapping, names_table: u64, names: &mut Names) {
        if self.names_table != names_table {
            self.names_table = names_table;
            self.bound.clear();
            self.names = KnownNames::default();
        }
        if !self.bound.contains_key(&mapping.serial) {
            if self.bound.len() == BOUND_MAX {
                self.bound.clear();
            }
            let bound = Arc::new(BoundMapping::new(mapping, names));
            self.bound.insert(mapping.serial, bound);
            self.names.follow(names);
        }
        self.frames.clear();
        self.states_open = 0;
        self.trees.clear();
        self.tasks.clear();
    }

    /// How a mapping is tied to the names.
    pub(super) fn bound(&self, mapping: &Mapping) -> Arc<BoundMapping> {
        let bound = self.bound.get(&mapping.serial);
        Arc::clone(bound.expect("the document was begun with this mapping"))
    }
}
