//! A mapping tied to a reader's table of names.

use super::mapping::{Mapping, Name, SchemaNodeId, Symbol, NO_SYMBOL, UNKNOWN};
use crate::events::{NameId, Names};

/// Which of a mapping's names is which of the reader's.
#[derive(Debug)]
pub struct BoundMapping {
    symbols: Vec<Symbol>,
    ids: Vec<NameId>,
}

impl BoundMapping {
    /// Makes the mapping's names known to the table.
    pub fn new(mapping: &Mapping, names: &mut Names) -> BoundMapping {
        let intern = |(uri, local): &Name| names.intern(uri, local);
        let ids: Vec<NameId> = mapping.names.iter().map(intern).collect();
        // Names that the table gets later are none of the mapping's.
        let mut symbols = vec![NO_SYMBOL; names.len()];
        for (symbol, id) in (0..).zip(&ids) {
            symbols[id.0 as usize] = symbol;
        }
        BoundMapping { symbols, ids }
    }

    /// The mapping's number of a name.
    #[inline]
    pub fn symbol(&self, name: NameId) -> Symbol {
        let symbol = self.symbols.get(name.0 as usize);
        symbol.copied().unwrap_or(NO_SYMBOL)
    }

    /// The table's number of a name of the mapping.
    #[inline]
    pub fn name(&self, symbol: Symbol) -> NameId {
        self.ids[symbol as usize]
    }

    /// The same, if there is a new name at all.
    #[inline]
    pub fn renamed(&self, symbol: Symbol) -> Option<NameId> {
        (symbol != NO_SYMBOL).then(|| self.name(symbol))
    }

    /// The place of a child.
    #[inline]
    pub fn child(&self, mapping: &Mapping, parent: SchemaNodeId, name: NameId) -> SchemaNodeId {
        if parent == UNKNOWN {
            return UNKNOWN;
        }
        mapping.places[parent as usize].child(self.symbol(name))
    }
}
