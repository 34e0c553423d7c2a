//! Compound conditions: several that one nested element must meet, as in `[a[@k = '1']/b = 'x']`.
//!
//! The segment stores them in a trie for each set of operands. When an element ends, its values are
//! followed through that trie. Each node they reach is a value of the compound operand, which
//! propagates like any other value, up to the condition that compares it with the node at the end
//! of its compound.

use crate::matching::condition_lookup::satisfied_by_any;
use crate::matching::operand_value::OperandValue;
use crate::path_index::segment::Segment;

/// Appends the values of a compound operand of an element with these `values`; `open` is an empty
/// buffer. Returns the steps it took; it stops once they exceed `steps_max`.
pub(super) fn compound_values(
    segment: &Segment,
    operand: u32,
    values: &[OperandValue],
    open: &mut Vec<u32>,
    steps_max: usize,
    mut add: impl FnMut(OperandValue),
) -> usize {
    let mut node = segment.operands[operand as usize].inner;
    let mut steps = 0;
    loop {
        let start = open.len();
        steps += satisfied_by_any(segment, segment.conditions_of(node), values, open);
        if steps > steps_max {
            open.clear();
            break;
        }
        // Several values may satisfy one condition.
        open[start..].sort_unstable();
        dedup_from(open, start);
        let Some(next) = open.pop() else {
            break;
        };
        node = next;
        add(OperandValue::of_literal(operand, node));
    }
    steps
}

/// Removes repetitions among the items from `start` on, which are sorted.
fn dedup_from(items: &mut Vec<u32>, start: usize) {
    let mut kept = start;
    for at in start..items.len() {
        if kept == start || items[kept - 1] != items[at] {
            items[kept] = items[at];
            kept += 1;
        }
    }
    items.truncate(kept);
}
