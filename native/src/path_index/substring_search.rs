//! Which of many literals a text contains, or starts with, found all at once.

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::Anchored;

use crate::subscription_store::flat_layout::Texts;

/// The literals that the conditions of a segment look for in values have at most so many bytes
/// together: the automaton that finds them takes some twenty times that. Conditions past it are
/// verified query by query.
pub const PART_BYTES_MAX: usize = 1 << 24;

/// Finds the literals that a text contains, in one pass whatever their number.
#[derive(Default)]
pub struct Parts {
    automaton: Option<NFA>,
    // By the automaton's number of a pattern.
    literals: Vec<u32>,
}

/// A text being searched, piece by piece.
#[derive(Default)]
pub struct Search {
    state: Option<StateID>,
    found: Vec<u32>,
    // How many there were when they were last put in order.
    ordered: usize,
}

/// Past this many, what was found is put in order while the search goes on.
const FOUND_ORDERED_PAST: usize = 64;

impl Parts {
    /// Looks for the literals of these numbers.
    pub fn new(literals: &Texts, numbers: &[u32]) -> Parts {
        if numbers.is_empty() {
            return Parts::default();
        }
        let automaton = NFA::builder()
            .prefilter(false)
            .build(numbers.iter().map(|&number| literals.get(number)))
            .expect("the literals have fewer bytes than an automaton may have states");
        Parts {
            automaton: Some(automaton),
            literals: numbers.to_vec(),
        }
    }

    /// Goes on with a search.
    pub fn feed(&self, search: &mut Search, piece: &str) {
        let Some(automaton) = &self.automaton else {
            return;
        };
        let start = || {
            automaton
                .start_state(Anchored::No)
                .expect("unanchored searches are supported")
        };
        let mut state = search.state.unwrap_or_else(start);
        for &byte in piece.as_bytes() {
            state = automaton.next_state(Anchored::No, state, byte);
            if automaton.is_match(state) {
                for at in 0..automaton.match_len(state) {
                    let pattern = automaton.match_pattern(state, at);
                    search.found.push(self.literals[pattern.as_usize()]);
                }
                if search.found.len() > FOUND_ORDERED_PAST.max(2 * search.ordered) {
                    search.order();
                }
            }
        }
        search.state = Some(state);
    }
}

impl Search {
    /// The literals that the pieces contain together, ascending, each once.
    pub fn found(&mut self) -> &[u32] {
        self.order();
        &self.found
    }

    fn order(&mut self) {
        self.found.sort_unstable();
        self.found.dedup();
        self.ordered = self.found.len();
    }
}

/// Finds the literals that a text starts with.
///
/// They stand in order, so the last one that is not greater than the text either starts it, or begins
/// as all those do that start it. Each knows the longest other that starts it.
#[derive(Default)]
pub struct Starts {
    literals: Vec<u32>,
    // By place in `literals`: the place of the longest other that starts this one, or itself.
    shorter: Vec<u32>,
}

impl Starts {
    /// Looks for the literals of these numbers, which are ordered by their texts.
    pub fn new(texts: &Texts, ordered: &[u32]) -> Starts {
        let mut shorter: Vec<u32> = Vec::with_capacity(ordered.len());
        let mut open: Vec<u32> = Vec::new();
        for (place, &number) in ordered.iter().enumerate() {
            let text = texts.get(number);
            let starts = |&at: &u32| text.starts_with(texts.get(ordered[at as usize]));
            while open.last().is_some_and(|at| !starts(at)) {
                open.pop();
            }
            let place = place as u32;
            shorter.push(open.last().copied().unwrap_or(place));
            open.push(place);
        }
        Starts {
            literals: ordered.to_vec(),
            shorter,
        }
    }

    /// Adds the literals that `text` starts with.
    pub fn find(&self, texts: &Texts, text: &str, found: &mut Vec<u32>) {
        let not_greater = self
            .literals
            .partition_point(|&number| texts.get(number) <= text);
        let Some(mut place) = not_greater.checked_sub(1) else {
            return;
        };
        loop {
            let number = self.literals[place];
            if text.starts_with(texts.get(number)) {
                found.push(number);
            }
            let shorter = self.shorter[place] as usize;
            if shorter == place {
                return;
            }
            place = shorter;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::subscription_store::flat_layout::TextsBuilder;

    proptest! {
        #[test]
        fn what_is_found_is_what_is_there(
            literals in prop::collection::btree_set("[abé]{1,4}", 0..12),
            pieces in prop::collection::vec("[abéc]{1,6}", 0..4),
        ) {
            let mut builder = TextsBuilder::default();
            let numbers: Vec<u32> = literals.iter().map(|text| builder.push(text)).collect();
            let texts = builder.finish();
            let whole = pieces.concat();
            let those = |holds: &dyn Fn(&str) -> bool| -> Vec<u32> {
                numbers.iter().copied().filter(|&number| holds(texts.get(number))).collect()
            };
            let parts = Parts::new(&texts, &numbers);
            let mut search = Search::default();
            for piece in &pieces {
                parts.feed(&mut search, piece);
            }
            prop_assert_eq!(search.found(), those(&|text| whole.contains(text)));
            let mut found = Vec::new();
            Starts::new(&texts, &numbers).find(&texts, &whole, &mut found);
            found.sort_unstable();
            prop_assert_eq!(found, those(&|text| whole.starts_with(text)));
        }
    }

    #[test]
    fn a_literal_found_very_often_is_kept_once() {
        let mut builder = TextsBuilder::default();
        let numbers = [builder.push("a"), builder.push("aa")];
        let texts = builder.finish();
        let parts = Parts::new(&texts, &numbers);
        let mut search = Search::default();
        for _ in 0..1_000 {
            parts.feed(&mut search, "aaaaaaaaaa");
        }
        assert!(search.found.len() <= 2 * FOUND_ORDERED_PAST);
        assert_eq!(search.found(), numbers);
    }
}
