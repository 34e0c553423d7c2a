//! Queries of classes, compiled for relations.

use hashbrown::HashMap;

use crate::path_index::segment::Segment;
use crate::relations::{CompiledQuery, Domain};
use crate::subscription_store::file_format::OpenError;

/// Compiled queries that an index keeps, of a few KB each; past it the cache is flushed.
const COMPILED_CACHED_MAX: usize = 16_384;

/// Compiled queries by serial of the segment and class.
#[derive(Default)]
pub struct CompiledCache {
    compiled: HashMap<(u64, u32), CompiledQuery>,
}

impl CompiledCache {
    /// The compiled query of a class.
    pub fn get(&mut self, segment: &Segment, class: u32) -> Result<&CompiledQuery, OpenError> {
        let key = (segment.serial, class);
        if !self.compiled.contains_key(&key) {
            if self.compiled.len() == COMPILED_CACHED_MAX {
                self.compiled.clear();
            }
            let query = CompiledQuery::new(segment.query_of(class)?, Domain::default());
            self.compiled.insert(key, query);
        }
        Ok(&self.compiled[&key])
    }
}
