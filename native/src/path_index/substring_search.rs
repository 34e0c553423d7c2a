//! Multi-pattern search: finds which of many literals a text contains or starts with.

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::Anchored;
use hashbrown::HashSet;

use crate::subscription_store::flat_layout::StringArray;

/// Maximum total bytes of the literals that the conditions of a segment search for; the automaton
/// takes about twenty times as much memory. Conditions past the limit are verified.
pub const SUBSTRING_BYTES_MAX: usize = 1 << 24;

/// Finds the literals that a text contains, in one pass (Aho-Corasick).
#[derive(Default)]
pub struct SubstringSearch {
    automaton: Option<NFA>,
    // By pattern of the automaton.
    literals: Vec<u32>,
}

/// The search of a text that arrives in pieces.
#[derive(Default)]
pub struct SubstringScan {
    state: Option<StateID>,
    found: HashSet<u32, foldhash::fast::RandomState>,
}

/// Steps for each byte of text.
const STEPS_PER_BYTE: usize = 3;

/// Steps for each literal that is looked up among those found before.
const STEPS_PER_LITERAL: usize = 8;

/// Steps to sort each literal that was found.
const STEPS_PER_FOUND: usize = 16;

/// Bytes that are compared in a step.
const BYTES_COMPARED_PER_STEP: usize = 8;

impl SubstringSearch {
    /// A search for the literals with these indexes.
    pub fn new(literals: &StringArray, numbers: &[u32]) -> SubstringSearch {
        if numbers.is_empty() {
            return SubstringSearch::default();
        }
        let automaton = NFA::builder()
            .prefilter(false)
            .build(numbers.iter().map(|&number| literals.get(number)))
            .expect("the literals have fewer bytes than an automaton may have states");
        SubstringSearch {
            automaton: Some(automaton),
            literals: numbers.to_vec(),
        }
    }

    /// Continues a search. Returns the steps it took.
    pub fn feed(&self, scan: &mut SubstringScan, piece: &str) -> usize {
        let Some(automaton) = &self.automaton else {
            return 0;
        };
        let start = || {
            automaton
                .start_state(Anchored::No)
                .expect("unanchored searches are supported")
        };
        let mut state = scan.state.unwrap_or_else(start);
        let mut looked_up = 0;
        for &byte in piece.as_bytes() {
            state = automaton.next_state(Anchored::No, state, byte);
            if automaton.is_match(state) {
                // The longest literal comes first, and each further one is a suffix of it. Where a
                // literal was found before, so were its suffixes: each is visited once in a text.
                for at in 0..automaton.match_len(state) {
                    let pattern = automaton.match_pattern(state, at);
                    looked_up += 1;
                    if !scan.found.insert(self.literals[pattern.as_usize()]) {
                        break;
                    }
                }
            }
        }
        scan.state = Some(state);
        piece.len() * STEPS_PER_BYTE + looked_up * STEPS_PER_LITERAL
    }
}

impl SubstringScan {
    /// Appends the distinct literals in the text so far, ascending. Returns the steps it took.
    pub fn append_found(&self, literals: &mut Vec<u32>) -> usize {
        let start = literals.len();
        literals.extend(&self.found);
        literals[start..].sort_unstable();
        self.found.len() * STEPS_PER_FOUND
    }
}

/// Finds the literals that a text starts with.
///
/// The literals are sorted, so every prefix of the text is the last literal that is not greater
/// than the text, or a prefix of that literal. Each literal links to its longest proper prefix
/// among the others.
#[derive(Default)]
pub struct PrefixSearch {
    literals: Vec<u32>,
    // By position in `literals`: the position of its longest proper prefix, or its own.
    longest_prefixes: Vec<u32>,
}

impl PrefixSearch {
    /// A search for the literals with these indexes, which are sorted by text.
    pub fn new(texts: &StringArray, ordered: &[u32]) -> PrefixSearch {
        let mut longest_prefixes: Vec<u32> = Vec::with_capacity(ordered.len());
        let mut open: Vec<u32> = Vec::new();
        for (position, &number) in ordered.iter().enumerate() {
            let text = texts.get(number);
            let starts = |&at: &u32| text.starts_with(texts.get(ordered[at as usize]));
            while open.last().is_some_and(|at| !starts(at)) {
                open.pop();
            }
            let position = position as u32;
            longest_prefixes.push(open.last().copied().unwrap_or(position));
            open.push(position);
        }
        PrefixSearch {
            literals: ordered.to_vec(),
            longest_prefixes,
        }
    }

    /// Appends the literals that `text` starts with. Returns the steps it took.
    pub fn find(&self, texts: &StringArray, text: &str, found: &mut Vec<u32>) -> usize {
        let not_greater = self
            .literals
            .partition_point(|&number| texts.get(number) <= text);
        let Some(mut position) = not_greater.checked_sub(1) else {
            return STEPS_PER_LITERAL;
        };
        let mut steps = STEPS_PER_LITERAL;
        loop {
            let number = self.literals[position];
            let literal = texts.get(number);
            steps += STEPS_PER_LITERAL + literal.len() / BYTES_COMPARED_PER_STEP;
            if text.starts_with(literal) {
                found.push(number);
            }
            let prefix = self.longest_prefixes[position] as usize;
            if prefix == position {
                return steps;
            }
            position = prefix;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::subscription_store::flat_layout::StringArrayBuilder;

    proptest! {
        #[test]
        fn searches_find_exactly_the_literals_that_occur(
            literals in prop::collection::btree_set("[abé]{1,4}", 0..12),
            pieces in prop::collection::vec("[abéc]{1,6}", 0..4),
        ) {
            let mut builder = StringArrayBuilder::default();
            let numbers: Vec<u32> = literals.iter().map(|text| builder.push(text)).collect();
            let texts = builder.finish();
            let text = pieces.concat();
            let those = |holds: &dyn Fn(&str) -> bool| -> Vec<u32> {
                numbers.iter().copied().filter(|&number| holds(texts.get(number))).collect()
            };
            let search = SubstringSearch::new(&texts, &numbers);
            let mut scan = SubstringScan::default();
            for piece in &pieces {
                search.feed(&mut scan, piece);
            }
            let mut found = Vec::new();
            scan.append_found(&mut found);
            prop_assert_eq!(&found, &those(&|literal| text.contains(literal)));
            found.clear();
            PrefixSearch::new(&texts, &numbers).find(&texts, &text, &mut found);
            found.sort_unstable();
            prop_assert_eq!(found, those(&|literal| text.starts_with(literal)));
        }
    }

    #[test]
    fn a_literal_that_occurs_often_is_reported_once() {
        let mut builder = StringArrayBuilder::default();
        let numbers = [builder.push("a"), builder.push("aa")];
        let texts = builder.finish();
        let search = SubstringSearch::new(&texts, &numbers);
        let mut scan = SubstringScan::default();
        for _ in 0..1_000 {
            search.feed(&mut scan, "aaaaaaaaaa");
        }
        let mut found = Vec::new();
        scan.append_found(&mut found);
        assert_eq!(found, numbers);
    }

    #[test]
    fn nested_literals_are_visited_once_in_a_text() {
        let mut builder = StringArrayBuilder::default();
        let numbers: Vec<u32> = (1..=500)
            .map(|length| builder.push(&"x".repeat(length)))
            .collect();
        let search = SubstringSearch::new(&builder.finish(), &numbers);
        let mut scan = SubstringScan::default();
        let steps = search.feed(&mut scan, &"x".repeat(10_000));
        assert!(steps <= 10_000 * (STEPS_PER_BYTE + STEPS_PER_LITERAL) + 500 * STEPS_PER_LITERAL);
    }
}
