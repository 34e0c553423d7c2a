//! Mappings bound to a reader's table of names.

use std::sync::Arc;

use hashbrown::HashMap;

use super::mapping::{Mapping, Name, SchemaNodeId, Symbol, NO_SYMBOL, UNKNOWN};
use crate::events::{Context, NameId, Names};

/// Translates between the symbols of a mapping and the name ids of a reader.
#[derive(Debug)]
pub(super) struct BoundMapping {
    symbols: Vec<Symbol>,
    ids: Vec<NameId>,
}

impl BoundMapping {
    /// Binds a mapping, adding its names to the table.
    fn new(mapping: &Mapping, names: &mut Names) -> BoundMapping {
        let intern = |(uri, local): &Name| names.intern(uri, local);
        let ids: Vec<NameId> = mapping.names.iter().map(intern).collect();
        // Names interned later do not occur in the mapping, so the table need not cover them.
        let mut symbols = vec![NO_SYMBOL; names.len()];
        for (symbol, id) in (0..).zip(&ids) {
            symbols[id.0 as usize] = symbol;
        }
        BoundMapping { symbols, ids }
    }

    #[inline]
    pub fn symbol(&self, name: NameId) -> Symbol {
        let symbol = self.symbols.get(name.0 as usize);
        symbol.copied().unwrap_or(NO_SYMBOL)
    }

    #[inline]
    pub fn name(&self, symbol: Symbol) -> NameId {
        self.ids[symbol as usize]
    }

    /// The name of a symbol that may be [`NO_SYMBOL`].
    #[inline]
    pub fn name_if_any(&self, symbol: Symbol) -> Option<NameId> {
        (symbol != NO_SYMBOL).then(|| self.name(symbol))
    }

    /// The schema node of a child element.
    #[inline]
    pub fn child(&self, mapping: &Mapping, parent: SchemaNodeId, name: NameId) -> SchemaNodeId {
        if parent == UNKNOWN {
            return UNKNOWN;
        }
        mapping.nodes[parent as usize].child(self.symbol(name))
    }
}

/// Bound mappings in the cache; when it is full, all are evicted.
const CACHED_MAX: usize = 1_000;

/// Caches the mappings bound to one reader, reused across documents.
#[derive(Default)]
pub(super) struct BoundMappingCache {
    /// Identifies the table of names that the mappings are bound to.
    names_table: u64,
    mappings: HashMap<u64, Arc<BoundMapping>, foldhash::fast::RandomState>,
}

impl BoundMappingCache {
    /// Binds a mapping to `names`, which `names_table` identifies, and updates the copy of the names.
    pub fn bind(
        &mut self,
        mapping: &Mapping,
        names_table: u64,
        names: &mut Names,
        copy: &mut NamesCopy,
    ) {
        if self.names_table != names_table {
            self.names_table = names_table;
            self.mappings.clear();
            *copy = NamesCopy::default();
        }
        if !self.mappings.contains_key(&mapping.serial) {
            if self.mappings.len() == CACHED_MAX {
                self.mappings.clear();
            }
            let bound = Arc::new(BoundMapping::new(mapping, names));
            self.mappings.insert(mapping.serial, bound);
            copy.update(names);
        }
    }

    /// A mapping that was bound for the current document.
    pub fn get(&self, mapping: &Mapping) -> Arc<BoundMapping> {
        let bound = self.mappings.get(&mapping.serial);
        Arc::clone(bound.expect("the mapping was bound for this document"))
    }
}

/// A copy of the reader's names: the context of events that are sent after the reader's own event.
#[derive(Default)]
pub(super) struct NamesCopy(Names);

impl NamesCopy {
    /// Adds the names that are new in the reader's table.
    #[inline]
    pub fn update(&mut self, names: &Names) {
        for id in self.0.len()..names.len() {
            let number = u32::try_from(id).expect("fewer than 2^32 names");
            let (uri, local) = names.get(NameId(number));
            self.0.intern(uri, local);
        }
    }
}

impl Context for NamesCopy {
    fn names(&self) -> &Names {
        &self.0
    }

    fn namespaces_in_scope(&self, _visit: &mut dyn FnMut(&str, &str)) {
        // Fragments are cut out of the original, where other namespaces may be in scope.
    }

    fn namespace_declarations(&self, _visit: &mut dyn FnMut(&str, &str)) {}

    fn scope_id(&self) -> u64 {
        0
    }
}
