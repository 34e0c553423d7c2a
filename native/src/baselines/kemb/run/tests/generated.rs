//! KEMB against the definitions on generated documents and queries, and counterexamples by name.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::baselines::kemb::limits::Limits;
use crate::baselines::kemb::nfa::{Nfa, NFA_STATES_MAX};
use crate::baselines::kemb::results::{Answer, Want};
use crate::baselines::kemb::run::Run;
use crate::baselines::kemb::word_sets::is_subset;
use crate::baselines::kemb::Kemb;
use crate::keywords::testing::{element, queries, trees, Document, Item, QueryList, Tree};
use crate::keywords::token_sink::{Mode, QuerySet, WordId};

fn expected(queries: &QueryList, tree: &Tree) -> Vec<Answer> {
    let document = Document::new(tree);
    let mut expected = Vec::new();
    for query in 0..queries.count() as u32 {
        for answer in document.answers(queries.mode(query), queries.words(query)) {
            expected.push(Answer {
                query,
                element: answer.element as u32,
            });
        }
    }
    expected
}

fn keeping(kept_max: usize) -> Limits {
    Limits {
        kept_max,
        ..Limits::default()
    }
}

fn hear(run: &mut Run, kemb: &Kemb, tree: &Tree, want: Want) {
    let mut hearing = run.hear(kemb, want);
    tree.feed(&mut hearing).unwrap();
    hearing.finish();
}

fn answers(queries: &QueryList, tree: &Tree, discard: bool) -> Vec<(u32, u32)> {
    let mut run = Run::default();
    hear(&mut run, &Kemb::new(queries, discard), tree, Want::Answers);
    let told = run.told().answers().iter();
    told.map(|answer| (answer.query, answer.element)).collect()
}

#[test]
fn an_outdated_word_still_counts_as_contained() {
    // {a, b} and {a, c} on <p><e>a b</e>b</p>: b is outdated at the end of e, a is not. By the
    // paper's rule p has a from e and b of its own, and would answer {a, b}.
    let e = Item::Child(element(&[0, 1], Vec::new()));
    let p = Tree {
        tag: Vec::new(),
        items: vec![e, Item::Word(1)],
    };
    let queries = QueryList::new([(Mode::All, vec![0, 1]), (Mode::All, vec![0, 2])]);
    for discard in [false, true] {
        assert_eq!(answers(&queries, &p, discard), [(0, 1)]);
    }
}

#[test]
fn what_contains_all_keywords_thanks_to_an_answer_below_hands_nothing_upwards() {
    // <e><c><d>a b</d>a</c>b</e>.
    let d = Item::Child(element(&[0, 1], Vec::new()));
    let c = Tree {
        tag: Vec::new(),
        items: vec![d, Item::Word(0)],
    };
    let e = Tree {
        tag: Vec::new(),
        items: vec![Item::Child(c), Item::Word(1)],
    };
    let queries = QueryList::new([(Mode::All, vec![0, 1])]);
    for discard in [false, true] {
        assert_eq!(answers(&queries, &e, discard), [(0, 2)]);
    }
}

#[test]
fn nothing_that_an_or_query_uses_is_discarded() {
    // <c><e><a/><b/></e></c>: at the end of e, {a, b} outdates all in it; {a OR c} still needs a.
    let leaf = |word| element(&[word], Vec::new());
    let tree = element(&[2], vec![element(&[], vec![leaf(0), leaf(1)])]);
    let and = (Mode::All, vec![0, 1]);
    let alone = QueryList::new([and.clone()]).with_words(3);
    let mut run = Run::default();
    hear(&mut run, &Kemb::new(&alone, true), &tree, Want::Answers);
    assert_eq!(run.counters().discarded, 3);
    let both = QueryList::new([and, (Mode::Any, vec![0, 2])]);
    let kemb = Kemb::new(&both, true);
    hear(&mut run, &kemb, &tree, Want::Answers);
    assert_eq!(run.counters().discarded, 1);
    assert_eq!(run.told().answers(), expected(&both, &tree));
    // Which queries match needs nothing kept.
    hear(&mut run, &kemb, &tree, Want::Matches);
    assert_eq!(
        (run.told().matches(), run.counters().discarded),
        (&[0, 1][..], 3)
    );
}

#[test]
fn queries_past_the_limits_are_answered_by_stacks() {
    let long: Vec<WordId> = (0..12).collect();
    let queries = QueryList::new([
        (Mode::All, vec![0, 1]),
        (Mode::All, long.clone()),
        (Mode::All, vec![2, 3]),
    ]);
    let tree = element(&[], vec![element(&long, Vec::new())]);
    let mut kemb = Kemb::with_states(&queries, true, 4);
    assert_eq!((kemb.by_stack_count(), kemb.turned_away_count()), (2, 1));
    let mut run = Run::default();
    hear(&mut run, &kemb, &tree, Want::Answers);
    assert_eq!(run.told().answers(), expected(&queries, &tree));
    assert!(kemb.remove(2, &[2, 3], Mode::All));
    assert_eq!((kemb.by_stack_count(), kemb.turned_away_count()), (1, 0));
    assert!(kemb.remove(1, &long, Mode::All));
    assert!(!kemb.remove(1, &long, Mode::All));
    hear(&mut run, &kemb, &tree, Want::Matches);
    assert_eq!(run.told().matches(), [0]);
}

#[test]
fn a_document_past_the_limit_is_forgotten_or_refused() {
    let leaf = || element(&[0], Vec::new());
    let tree = element(&[1], vec![leaf(), leaf(), leaf()]);
    let and = (Mode::All, vec![0, 1]);
    let queries = QueryList::new([and.clone()]);
    let mut run = Run::new(keeping(5));
    hear(&mut run, &Kemb::new(&queries, false), &tree, Want::Answers);
    assert_eq!(run.told().answers(), expected(&queries, &tree));
    assert_eq!(run.counters().forgotten, 3);
    let both = QueryList::new([and, (Mode::Any, vec![0])]);
    let kemb = Kemb::new(&both, false);
    let stop = tree.feed(&mut run.hear(&kemb, Want::Answers)).unwrap_err();
    assert_eq!(stop.code, "keywords.or-too-large");
    // The run serves again.
    hear(&mut run, &kemb, &tree, Want::Matches);
    assert_eq!(run.told().matches(), [0, 1]);
}

#[test]
fn a_document_of_too_many_elements_is_stopped() {
    let tree = element(&[0], vec![element(&[0], Vec::new())]);
    let kemb = Kemb::new(&QueryList::new([(Mode::All, vec![0])]), true);
    for (elements_max, code) in [(2, None), (1, Some("keywords.too-many-elements"))] {
        let mut run = Run::new(Limits {
            elements_max,
            ..Limits::default()
        });
        let stop = tree.feed(&mut run.hear(&kemb, Want::Answers)).err();
        assert_eq!(stop.map(|stop| stop.code), code);
    }
}

#[test]
fn a_document_with_too_many_answers_is_stopped() {
    let leaf = || element(&[0], Vec::new());
    let tree = element(&[], vec![leaf(), leaf(), leaf()]);
    for mode in [Mode::All, Mode::Any] {
        let kemb = Kemb::new(&QueryList::new([(mode, vec![0])]), true);
        for (answers_max, code) in [(3, None), (2, Some("keywords.too-many-answers"))] {
            let mut run = Run::new(Limits {
                answers_max,
                ..Limits::default()
            });
            let mut hearing = run.hear(&kemb, Want::Answers);
            let stop = tree.feed(&mut hearing).err();
            assert_eq!(stop.map(|stop| stop.code), code);
        }
    }
}

/// The index is the one that these queries make at once, and every source vertex is right.
fn assert_like_new(kemb: &Kemb, present: &BTreeSet<(Mode, Vec<WordId>)>) {
    let list = QueryList::new(present.iter().cloned());
    let new = Kemb::new(&list, kemb.coverage.is_some());
    let count = |nfa: &Nfa| (nfa.state_count(), nfa.transition_count());
    assert_eq!(count(&kemb.nfa), count(&new.nfa));
    assert_eq!(kemb.rule_count(), new.rule_count());
    let Some(graph) = &kemb.coverage else {
        return;
    };
    let coverage = |rule: u32| &*graph.rules().rule(rule).coverage;
    for accept in kemb.nfa.accepting() {
        let entry = kemb.nfa.accept(accept);
        let covering: Vec<u32> = (graph.rules().ids())
            .filter(|&rule| is_subset(&entry.words, coverage(rule)))
            .collect();
        let direct = |&rule: &u32| {
            let within = |&other: &u32| other != rule && is_subset(coverage(other), coverage(rule));
            !covering.iter().any(within)
        };
        let sources: BTreeSet<u32> = entry.sources.iter().copied().collect();
        assert_eq!(sources, covering.iter().copied().filter(direct).collect());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_those_of_the_definition(
        queries in queries(6, 12),
        trees in prop::collection::vec(trees(6, 60), 1..3),
        discard in any::<bool>(),
        states_max in prop_oneof![Just(NFA_STATES_MAX), Just(20)],
        kept_max in prop_oneof![Just(usize::MAX), Just(10)]
    ) {
        let kemb = Kemb::with_states(&queries, discard, states_max);
        let has_or = (0..queries.count() as u32).any(|query| queries.mode(query) == Mode::Any);
        let mut run = Run::new(keeping(if has_or { usize::MAX } else { kept_max }));
        for tree in trees {
            let expected = expected(&queries, &tree);
            let mut matching: Vec<u32> = expected.iter().map(|answer| answer.query).collect();
            matching.dedup();
            hear(&mut run, &kemb, &tree, Want::Answers);
            prop_assert_eq!(run.told().answers(), &expected);
            prop_assert_eq!(run.told().matches(), &matching);
            hear(&mut run, &kemb, &tree, Want::Matches);
            prop_assert_eq!(run.told().answers(), &[]);
            prop_assert_eq!(run.told().matches(), &matching);
        }
    }

    #[test]
    fn discarding_only_spares_work(queries in queries(6, 8), tree in trees(6, 60)) {
        let mut run = Run::default();
        hear(&mut run, &Kemb::new(&queries, false), &tree, Want::Answers);
        let without = *run.counters();
        hear(&mut run, &Kemb::new(&queries, true), &tree, Want::Answers);
        let with = *run.counters();
        prop_assert_eq!(without.discarded, 0);
        prop_assert_eq!(with.elements, without.elements);
        prop_assert!(with.active_states <= without.active_states);
        prop_assert!(with.active_states_peak <= without.active_states_peak);
    }
}

proptest! {
    #[test]
    fn an_index_that_changed_is_the_one_made_at_once(
        steps in prop::collection::vec(
            (any::<bool>(), prop::collection::btree_set(0_u32..6, 1..5)), 1..25
        ),
        tree in trees(6, 60),
        discard in any::<bool>()
    ) {
        let mut kemb = Kemb::new(&QueryList::default(), discard);
        let mut present = BTreeSet::new();
        // A query's number is made of what it is.
        let number = |(mode, words): &(Mode, Vec<WordId>)| {
            let mode = u32::from(*mode == Mode::Any);
            words.iter().fold(mode, |number, word| number | 2 << word)
        };
        for (any, words) in steps {
            let mode = if any { Mode::Any } else { Mode::All };
            let query = (mode, words.into_iter().collect::<Vec<WordId>>());
            if present.remove(&query) {
                prop_assert!(kemb.remove(number(&query), &query.1, mode));
                prop_assert!(!kemb.remove(number(&query), &query.1, mode));
            } else {
                kemb.insert(number(&query), &query.1, mode);
                present.insert(query);
            }
            assert_like_new(&kemb, &present);
        }
        let mut run = Run::default();
        hear(&mut run, &kemb, &tree, Want::Answers);
        let document = Document::new(&tree);
        let mut expected = Vec::new();
        for query in &present {
            for answer in document.answers(query.0, &query.1) {
                let element = answer.element as u32;
                expected.push(Answer { query: number(query), element });
            }
        }
        expected.sort_unstable();
        prop_assert_eq!(run.told().answers(), &expected);
    }
}
