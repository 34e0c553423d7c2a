//! Memory of a rewriter, reused across documents to avoid reallocation.

use super::bound_mapping::{BoundMappingCache, NamesCopy};
use super::element_placement::PlacementTask;
use super::mapping::Mapping;
use super::open_elements::OpenElements;
use super::tree_buffer::TreeBuffer;
use crate::events::Names;

/// The buffers of one thread's rewriting.
#[derive(Default)]
pub struct RewriterBuffers {
    pub(super) mappings: BoundMappingCache,
    pub(super) names: NamesCopy,
    pub(super) elements: OpenElements,
    pub(super) trees: TreeBuffer,
    pub(super) tasks: Vec<PlacementTask>,
    /// The attribute values of a buffered element while it is placed.
    pub(super) attribute_values: String,
    /// Attributes that become elements while these are made: index in
    /// [`super::mapping::NodeOperators::attribute_elements`], and index of the attribute.
    pub(super) attribute_elements: Vec<(u32, usize)>,
}

impl RewriterBuffers {
    /// Prepares for a document that is read with `names`, a table that `names_table` identifies.
    pub fn begin(&mut self, mapping: &Mapping, names_table: u64, names: &mut Names) {
        self.mappings
            .bind(mapping, names_table, names, &mut self.names);
        self.elements.clear();
        self.trees.clear();
        self.tasks.clear();
    }
}
