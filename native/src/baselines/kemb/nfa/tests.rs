//! Compares the automaton with its definition as queries are added and removed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const A: WordId = 0;
const B: WordId = 1;
const C: WordId = 2;
const D: WordId = 3;

/// The word set of every state, found by following transitions from the initial state.
fn sets(nfa: &Nfa, words: &[WordId]) -> BTreeMap<Vec<WordId>, StateId> {
    let mut found = BTreeMap::from([(Vec::new(), INITIAL)]);
    for &word in words {
        for (set, state) in found.clone() {
            if let Some(next) = nfa.next(state, word) {
                found.insert([set, vec![word]].concat(), next);
            }
        }
    }
    found
}

/// The states of an automaton of these queries by definition.
fn definition(queries: &BTreeSet<Vec<WordId>>) -> BTreeSet<Vec<WordId>> {
    let mut states = BTreeSet::from([Vec::new()]);
    for query in queries {
        for mask in 0..1_usize << query.len() {
            let bits = (0..query.len()).filter(|bit| mask >> bit & 1 == 1);
            states.insert(bits.map(|bit| query[bit]).collect());
        }
    }
    states
}

#[test]
fn queries_share_the_states_of_the_subsets_they_share() {
    let mut nfa = Nfa::new(NFA_STATES_MAX);
    nfa.insert(0, &[A, B, C]).unwrap();
    assert_eq!(nfa.state_count(), 8);
    nfa.insert(1, &[A, B, D]).unwrap();
    // d, ad, bd and abd are new.
    assert_eq!(nfa.state_count(), 12);
    assert_eq!(nfa.insert(2, &[A, B]), nfa.insert(3, &[A, B]));
    assert_eq!(nfa.state_count(), 12);
}

#[test]
fn a_query_that_is_a_subset_of_another_keeps_its_states() {
    let mut nfa = Nfa::new(NFA_STATES_MAX);
    nfa.insert(0, &[A, B]).unwrap();
    nfa.insert(1, &[A, B, C]).unwrap();
    assert_eq!(nfa.remove(1, &[A, B, C]), Some(true));
    assert_eq!(nfa.state_count(), 4);
    assert_eq!(nfa.remove(1, &[A, B, C]), None);
    assert_eq!(nfa.remove(0, &[A, B]), Some(true));
    assert_eq!((nfa.state_count(), nfa.transition_count()), (1, 0));
}

#[test]
fn a_query_past_the_limits_changes_nothing() {
    let mut nfa = Nfa::new(5);
    assert!(nfa.insert(0, &[A, B]).is_some());
    assert_eq!(nfa.insert(1, &[A, B, C]), None);
    assert_eq!(nfa.insert(1, &[B, C]), None);
    assert_eq!((nfa.state_count(), nfa.transition_count()), (4, 4));
    assert!(nfa.insert(2, &[C]).is_some());
    let eleven: Vec<WordId> = (0..11).collect();
    assert_eq!(Nfa::new(NFA_STATES_MAX).insert(0, &eleven), None);
}

proptest! {
    #[test]
    fn insertions_and_removals_leave_the_automaton_of_what_is_there(
        steps in prop::collection::vec(prop::collection::btree_set(0_u32..7, 1..5), 1..40)
    ) {
        let mut nfa = Nfa::new(NFA_STATES_MAX);
        let mut present = BTreeSet::new();
        let everything: Vec<WordId> = (0..7).collect();
        for words in steps {
            let words: Vec<WordId> = words.into_iter().collect();
            if present.remove(&words) {
                prop_assert_eq!(nfa.remove(0, &words), Some(true));
            } else {
                prop_assert!(nfa.insert(0, &words).is_some());
                present.insert(words);
            }
            let found = sets(&nfa, &everything);
            let defined = definition(&present);
            prop_assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), defined.clone());
            prop_assert_eq!(nfa.state_count(), defined.len());
            prop_assert_eq!(
                nfa.transition_count(),
                defined.iter().map(Vec::len).sum::<usize>()
            );
            let accepting: BTreeSet<Vec<WordId>> = found
                .iter()
                .filter(|(_, &state)| nfa.accept_of(state).is_some())
                .map(|(set, _)| set.clone())
                .collect();
            prop_assert_eq!(&accepting, &present);
            prop_assert_eq!(nfa.accepting().count(), present.len());
            let within = nfa.accepting_within(&everything[1..5]);
            let within: BTreeSet<Vec<WordId>> =
                within.map(|accept| nfa.accept(accept).words.to_vec()).collect();
            let defined = present
                .iter()
                .filter(|words| words.iter().all(|word| (1..5).contains(word)));
            prop_assert_eq!(within, defined.cloned().collect::<BTreeSet<_>>());
        }
    }
}
