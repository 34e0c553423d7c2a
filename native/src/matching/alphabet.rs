//! The alphabet of a segment's automaton.
//!
//! Names that pass the same name tests are one symbol; all names that no query mentions share one.
//! The size of the alphabet is therefore bounded by the queries' vocabulary, whatever the documents
//! contain.

use std::ops::Range;

use hashbrown::HashMap;

use crate::events::{Context, NameId};
use crate::path_index::segment::{OperandRecord, Segment};

/// An operand that attributes supply.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttributeOperand {
    /// Its number.
    pub operand: u32,
    /// Whether it is the string-value of the element's own attribute. The value may then be
    /// resolved lazily.
    pub is_lazy: bool,
}

/// Symbols by name, filled as names occur.
pub(super) struct Alphabet {
    /// By symbol: the name tests that its names pass, at most four.
    tests: Vec<Vec<u32>>,
    symbols: HashMap<Vec<u32>, u32>,
    /// By name test: the operands that an attribute supplies if it passes the test.
    operands_of_test: HashMap<u32, Vec<AttributeOperand>>,
    names: NameCache,
}

/// What is known of the names of one table of names.
#[derive(Default)]
struct NameCache {
    table: u64,
    /// By name: its symbol, or [`UNKNOWN`].
    symbols: Vec<u32>,
    /// By name: its range of `attribute_operands`.
    ranges: Vec<Option<Range<u32>>>,
    attribute_operands: Vec<AttributeOperand>,
}

const UNKNOWN: u32 = u32::MAX;

impl Alphabet {
    /// The alphabet of `segment`, without any symbols.
    pub fn new(segment: &Segment) -> Alphabet {
        let mut operands_of_test: HashMap<u32, Vec<AttributeOperand>> = HashMap::new();
        for operand in 0..segment.operands.len() as u32 {
            let source = segment.source_operand(operand);
            if source.kind == OperandRecord::ATTRIBUTE {
                let own = segment.operands[operand as usize].kind == OperandRecord::ATTRIBUTE;
                let is_lazy = own && source.view as usize == OperandRecord::WHOLE;
                let supplied = AttributeOperand { operand, is_lazy };
                operands_of_test
                    .entry(source.test)
                    .or_default()
                    .push(supplied);
            }
        }
        Alphabet {
            tests: Vec::new(),
            symbols: HashMap::new(),
            operands_of_test,
            names: NameCache::default(),
        }
    }

    /// Sets the table of names that name ids refer to; a different one invalidates the cache by
    /// name.
    pub fn use_names(&mut self, table: u64) {
        if self.names.table != table {
            self.names.table = table;
            self.names.symbols.clear();
            self.names.ranges.clear();
            self.names.attribute_operands.clear();
        }
    }

    /// The symbol of a name.
    #[inline]
    pub fn symbol_of(&mut self, segment: &Segment, context: &dyn Context, name: NameId) -> u32 {
        match self.names.symbols.get(name.0 as usize) {
            Some(&symbol) if symbol != UNKNOWN => symbol,
            _ => self.add_name(segment, context, name),
        }
    }

    #[cold]
    fn add_name(&mut self, segment: &Segment, context: &dyn Context, name: NameId) -> u32 {
        let (uri, local) = context.names().get(name);
        let tests = segment.matching_tests(uri, local);
        let symbol = match self.symbols.get(&tests) {
            Some(&symbol) => symbol,
            None => {
                let symbol = self.tests.len() as u32;
                self.tests.push(tests.clone());
                self.symbols.insert(tests, symbol);
                symbol
            }
        };
        *entry(&mut self.names.symbols, name, UNKNOWN) = symbol;
        symbol
    }

    /// The operands that an attribute with this name supplies, as positions for
    /// [`Alphabet::attribute_operand`].
    #[inline]
    pub fn attribute_operands(
        &mut self,
        segment: &Segment,
        context: &dyn Context,
        name: NameId,
    ) -> Range<u32> {
        match self.names.ranges.get(name.0 as usize) {
            Some(Some(positions)) => positions.clone(),
            _ => self.add_attribute_name(segment, context, name),
        }
    }

    /// The operand at one of those positions.
    #[inline]
    pub fn attribute_operand(&self, position: u32) -> AttributeOperand {
        self.names.attribute_operands[position as usize]
    }

    #[cold]
    fn add_attribute_name(
        &mut self,
        segment: &Segment,
        context: &dyn Context,
        name: NameId,
    ) -> Range<u32> {
        let (uri, local) = context.names().get(name);
        let operands = &mut self.names.attribute_operands;
        let start = operands.len() as u32;
        for test in segment.matching_tests(uri, local) {
            operands.extend(self.operands_of_test.get(&test).into_iter().flatten());
        }
        let positions = start..operands.len() as u32;
        *entry(&mut self.names.ranges, name, None) = Some(positions.clone());
        positions
    }

    /// The name tests that the names of a symbol pass.
    #[inline]
    pub fn tests_of(&self, symbol: u32) -> &[u32] {
        &self.tests[symbol as usize]
    }
}

fn entry<T: Clone>(table: &mut Vec<T>, name: NameId, missing: T) -> &mut T {
    let at = name.0 as usize;
    if table.len() <= at {
        table.resize(at + 1, missing);
    }
    &mut table[at]
}
