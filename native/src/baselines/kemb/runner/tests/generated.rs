//! Compares KEMB with the definitions on generated documents and queries, and tests
//! counterexamples.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::baselines::kemb::nfa::{Nfa, NFA_STATES_MAX};
use crate::baselines::kemb::runner::KembRunner;
use crate::baselines::kemb::word_sets::is_subset;
use crate::baselines::kemb::Kemb;
use crate::baselines::limits::BaselineLimits;
use crate::baselines::results::{BaselineAnswer, ResultKind};
use crate::keywords::testing::{element, queries, trees, Document, Item, QueryList, Tree};
use crate::keywords::token_sink::{Mode, QuerySet, WordId};

fn expected(queries: &QueryList, tree: &Tree) -> Vec<BaselineAnswer> {
    let document = Document::new(tree);
    let mut expected = Vec::new();
    for query in 0..queries.count() as u32 {
        for answer in document.answers(queries.mode(query), queries.words(query)) {
            expected.push(BaselineAnswer {
                query,
                element: answer.element as u32,
            });
        }
    }
    expected
}

fn retaining(retained_max: usize) -> BaselineLimits {
    BaselineLimits {
        retained_max,
        ..BaselineLimits::default()
    }
}

fn run(runner: &mut KembRunner, kemb: &Kemb, tree: &Tree, kind: ResultKind) {
    let mut sink = runner.start_document(kemb, kind);
    tree.feed(&mut sink).unwrap();
    sink.finish();
}

fn answers(queries: &QueryList, tree: &Tree, discard: bool) -> Vec<(u32, u32)> {
    let mut runner = KembRunner::default();
    run(
        &mut runner,
        &Kemb::new(queries, discard),
        tree,
        ResultKind::Answers,
    );
    let results = runner.results().answers().iter();
    results
        .map(|answer| (answer.query, answer.element))
        .collect()
}

#[test]
fn an_outdated_word_still_counts_as_contained() {
    // {a, b} and {a, c} on <p><e>a b</e>b</p>: b is outdated at the end of e, a is not. By the
    // paper's rule, p would get a from e and b from its own text and answer {a, b}.
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
fn an_element_complete_only_through_an_answer_below_propagates_nothing() {
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
    // <c><e><a/><b/></e></c>: at the end of e, {a, b} makes everything in it outdated; {a OR c}
    // still needs a.
    let leaf = |word| element(&[word], Vec::new());
    let tree = element(&[2], vec![element(&[], vec![leaf(0), leaf(1)])]);
    let and = (Mode::All, vec![0, 1]);
    let alone = QueryList::new([and.clone()]).with_words(3);
    let mut runner = KembRunner::default();
    run(
        &mut runner,
        &Kemb::new(&alone, true),
        &tree,
        ResultKind::Answers,
    );
    assert_eq!(runner.counters().discarded, 3);
    let both = QueryList::new([and, (Mode::Any, vec![0, 2])]);
    let kemb = Kemb::new(&both, true);
    run(&mut runner, &kemb, &tree, ResultKind::Answers);
    assert_eq!(runner.counters().discarded, 1);
    assert_eq!(runner.results().answers(), expected(&both, &tree));
    // Matching alone needs no retained elements.
    run(&mut runner, &kemb, &tree, ResultKind::Matches);
    assert_eq!(
        (runner.results().matches(), runner.counters().discarded),
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
    assert_eq!((kemb.stack_query_count(), kemb.rejected_count()), (2, 1));
    let mut runner = KembRunner::default();
    run(&mut runner, &kemb, &tree, ResultKind::Answers);
    assert_eq!(runner.results().answers(), expected(&queries, &tree));
    assert!(kemb.remove(2, &[2, 3], Mode::All));
    assert_eq!((kemb.stack_query_count(), kemb.rejected_count()), (1, 0));
    assert!(kemb.remove(1, &long, Mode::All));
    assert!(!kemb.remove(1, &long, Mode::All));
    run(&mut runner, &kemb, &tree, ResultKind::Matches);
    assert_eq!(runner.results().matches(), [0]);
}

#[test]
fn a_document_past_the_limit_is_evicted_or_stopped() {
    let leaf = || element(&[0], Vec::new());
    let tree = element(&[1], vec![leaf(), leaf(), leaf()]);
    let and = (Mode::All, vec![0, 1]);
    let queries = QueryList::new([and.clone()]);
    let mut runner = KembRunner::new(retaining(5));
    run(
        &mut runner,
        &Kemb::new(&queries, false),
        &tree,
        ResultKind::Answers,
    );
    assert_eq!(runner.results().answers(), expected(&queries, &tree));
    assert_eq!(runner.counters().evicted, 3);
    let both = QueryList::new([and, (Mode::Any, vec![0])]);
    let kemb = Kemb::new(&both, false);
    let stop = tree
        .feed(&mut runner.start_document(&kemb, ResultKind::Answers))
        .unwrap_err();
    assert_eq!(stop.code, "keywords.or-too-large");
    // The runner remains usable.
    run(&mut runner, &kemb, &tree, ResultKind::Matches);
    assert_eq!(runner.results().matches(), [0, 1]);
}

#[test]
fn a_document_of_too_many_elements_is_stopped() {
    let tree = element(&[0], vec![element(&[0], Vec::new())]);
    let kemb = Kemb::new(&QueryList::new([(Mode::All, vec![0])]), true);
    for (elements_max, code) in [(2, None), (1, Some("keywords.too-many-elements"))] {
        let mut runner = KembRunner::new(BaselineLimits {
            elements_max,
            ..BaselineLimits::default()
        });
        let stop = tree
            .feed(&mut runner.start_document(&kemb, ResultKind::Answers))
            .err();
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
            let mut runner = KembRunner::new(BaselineLimits {
                answers_max,
                ..BaselineLimits::default()
            });
            let mut sink = runner.start_document(&kemb, ResultKind::Answers);
            let stop = tree.feed(&mut sink).err();
            assert_eq!(stop.map(|stop| stop.code), code);
        }
    }
}

/// Checks that the index equals one built from scratch and that every source vertex is right.
fn assert_equals_rebuilt(kemb: &Kemb, present: &BTreeSet<(Mode, Vec<WordId>)>) {
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
    fn answers_match_the_definition(
        queries in queries(6, 12),
        trees in prop::collection::vec(trees(6, 60), 1..3),
        discard in any::<bool>(),
        states_max in prop_oneof![Just(NFA_STATES_MAX), Just(20)],
        retained_max in prop_oneof![Just(usize::MAX), Just(10)]
    ) {
        let kemb = Kemb::with_states(&queries, discard, states_max);
        let has_or = (0..queries.count() as u32).any(|query| queries.mode(query) == Mode::Any);
        let mut runner = KembRunner::new(retaining(if has_or { usize::MAX } else { retained_max }));
        for tree in trees {
            let expected = expected(&queries, &tree);
            let mut matching: Vec<u32> = expected.iter().map(|answer| answer.query).collect();
            matching.dedup();
            run(&mut runner, &kemb, &tree, ResultKind::Answers);
            prop_assert_eq!(runner.results().answers(), &expected);
            prop_assert_eq!(runner.results().matches(), &matching);
            run(&mut runner, &kemb, &tree, ResultKind::Matches);
            prop_assert_eq!(runner.results().answers(), &[]);
            prop_assert_eq!(runner.results().matches(), &matching);
        }
    }

    #[test]
    fn discarding_only_reduces_work(queries in queries(6, 8), tree in trees(6, 60)) {
        let mut runner = KembRunner::default();
        run(&mut runner, &Kemb::new(&queries, false), &tree, ResultKind::Answers);
        let without = *runner.counters();
        run(&mut runner, &Kemb::new(&queries, true), &tree, ResultKind::Answers);
        let with = *runner.counters();
        prop_assert_eq!(without.discarded, 0);
        prop_assert_eq!(with.elements, without.elements);
        prop_assert!(with.active_states <= without.active_states);
        prop_assert!(with.active_states_peak <= without.active_states_peak);
    }
}

proptest! {
    #[test]
    fn an_updated_index_equals_one_built_from_scratch(
        steps in prop::collection::vec(
            (any::<bool>(), prop::collection::btree_set(0_u32..6, 1..5)), 1..25
        ),
        tree in trees(6, 60),
        discard in any::<bool>()
    ) {
        let mut kemb = Kemb::new(&QueryList::default(), discard);
        let mut present = BTreeSet::new();
        // Derives a query's number from its mode and words.
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
            assert_equals_rebuilt(&kemb, &present);
        }
        let mut runner = KembRunner::default();
        run(&mut runner, &kemb, &tree, ResultKind::Answers);
        let document = Document::new(&tree);
        let mut expected = Vec::new();
        for query in &present {
            for answer in document.answers(query.0, &query.1) {
                let element = answer.element as u32;
                expected.push(BaselineAnswer { query: number(query), element });
            }
        }
        expected.sort_unstable();
        prop_assert_eq!(runner.results().answers(), &expected);
    }
}
