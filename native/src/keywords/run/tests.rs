//! The default engine against the definitions.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::keywords::listen::Mode::{All, Any};
use crate::keywords::notes::TEXT_RANGES_MAX;
use crate::keywords::testing::{
    element, figure_1, queries, table_1, trees, Document, Item, QueryList, Tree,
};

/// Query and element of all answers, by number.
fn ids(tree: &Tree, queries: &QueryList, options: Options) -> Result<Vec<(u32, u32)>, Stop> {
    let (all, any) = (AndTrie::build(queries), OrLists::build(queries));
    let parts = Parts {
        queries,
        all: &all,
        any: &any,
    };
    let mut state = State::default();
    let mut run = Answering::<false>::new(parts, options, &mut state);
    tree.feed(&mut run)?;
    let mut pairs = run.finish().to_vec();
    pairs.sort_unstable();
    Ok(pairs)
}

/// All answers by query.
fn answers(
    tree: &Tree,
    queries: &QueryList,
    options: Options,
) -> Result<Vec<(u32, Vec<Answer>)>, Stop> {
    let (all, any) = (AndTrie::build(queries), OrLists::build(queries));
    let parts = Parts {
        queries,
        all: &all,
        any: &any,
    };
    let mut state = State::default();
    let mut run = Answering::<true>::new(parts, options, &mut state);
    tree.feed(&mut run)?;
    Ok(run.finish())
}

fn expected_ids(tree: &Tree, queries: &QueryList) -> Vec<(u32, u32)> {
    let document = Document::new(tree);
    let mut pairs = Vec::new();
    for query in 0..queries.count() as u32 {
        for answer in document.answers(queries.mode(query), queries.words(query)) {
            pairs.push((query, answer.element as u32));
        }
    }
    pairs
}

fn smallest_ids(tree: &Tree, queries: &QueryList) -> Vec<(u32, u32)> {
    let document = Document::new(tree);
    let mut pairs = Vec::new();
    for query in (0..queries.count() as u32).filter(|&query| queries.mode(query) == All) {
        for element in document.smallest(queries.words(query)) {
            pairs.push((query, element as u32));
        }
    }
    pairs
}

fn folded(window_max: usize) -> Options {
    Options {
        window_max,
        ..Options::default()
    }
}

fn smallest() -> Options {
    Options {
        which: Which::Smallest,
        ..Options::default()
    }
}

fn only_all(queries: &QueryList) -> QueryList {
    let all = (0..queries.count() as u32).filter(|&query| queries.mode(query) == All);
    QueryList::new(all.map(|query| (All, queries.words(query).to_vec())))
        .with_words(queries.word_count())
}

/// The tree that leads from an answer to its witnesses, written as the definition has it.
fn path_return(tree: &Tree, top: usize, witnesses: &BTreeSet<usize>) -> String {
    let mut written = String::new();
    write_return(tree, &mut 0, top, witnesses, false, &mut written);
    written
}

/// Writes what of a subtree is on the way to a witness; whether anything is.
fn write_return(
    tree: &Tree,
    next: &mut usize,
    top: usize,
    witnesses: &BTreeSet<usize>,
    inside: bool,
    into: &mut String,
) -> bool {
    let number = *next;
    *next += 1;
    let inside = inside || number == top;
    let is_witness = inside && witnesses.contains(&number);
    let mut within = String::new();
    let mut on_the_way = is_witness || number == top;
    for item in &tree.items {
        match item {
            Item::Word(word) if is_witness => within += &format!(" w{word}"),
            Item::Word(_) => {}
            Item::Child(child) => {
                on_the_way |= write_return(child, next, top, witnesses, inside, &mut within);
            }
        }
    }
    if on_the_way && inside {
        *into += &tree.start_tag();
        *into += &within;
        *into += tree.end_tag();
    } else {
        *into += &within;
    }
    on_the_way
}

fn cut(xml: &str, ranges: &[Span]) -> String {
    let piece = |span: &Span| &xml[span.start as usize..span.end as usize];
    ranges.iter().map(piece).collect()
}

/// Compares answers told in detail with the definition.
fn check_details(tree: &Tree, queries: &QueryList, options: Options) -> Result<(), TestCaseError> {
    let told: BTreeMap<u32, Vec<Answer>> = answers(tree, queries, options)
        .unwrap()
        .into_iter()
        .collect();
    let (document, xml) = (Document::new(tree), tree.to_xml());
    let most = options.witnesses_max;
    for query in 0..queries.count() as u32 {
        let mut answers = told.get(&query).cloned().unwrap_or_default();
        answers.sort_by_key(|answer| answer.element);
        let expected = document.answers(queries.mode(query), queries.words(query));
        prop_assert_eq!(answers.len(), expected.len(), "query {}", query);
        for (answer, expected) in answers.iter().zip(expected) {
            prop_assert_eq!(answer.element as usize, expected.element);
            let found: BTreeMap<u32, (u64, Vec<usize>)> = answer
                .keywords
                .iter()
                .map(|keyword| {
                    let witnesses = keyword.witnesses.iter().map(|w| w.element as usize);
                    (keyword.word, (keyword.count, witnesses.collect()))
                })
                .collect();
            let first = |all: &Vec<usize>| all.iter().copied().take(most).collect::<Vec<usize>>();
            let wanted: BTreeMap<u32, (u64, Vec<usize>)> = expected
                .witnesses
                .iter()
                .map(|(&word, all)| (word, (all.len() as u64, first(all))))
                .collect();
            prop_assert_eq!(&found, &wanted);
            let truncated = expected.witnesses.values().any(|all| all.len() > most);
            prop_assert_eq!(answer.truncated, truncated);
            let kept: BTreeSet<usize> = wanted.values().flat_map(|(_, all)| all.clone()).collect();
            let returned = path_return(tree, expected.element, &kept);
            prop_assert_eq!(cut(&xml, &answer.ranges), returned.clone());
            prop_assert_eq!(answer.size as usize, returned.matches("<e").count());
            prop_assert!(cut(&xml, &[answer.span]).starts_with("<e"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn answers_are_those_of_the_definition(tree in trees(5, 60), queries in queries(5, 12)) {
        let found = ids(&tree, &queries, Options::default()).unwrap();
        prop_assert_eq!(found, expected_ids(&tree, &queries));
    }

    #[test]
    fn smallest_answers_are_those_of_the_definition(
        tree in trees(4, 60),
        queries in queries(4, 12),
    ) {
        let found = ids(&tree, &queries, smallest()).unwrap();
        prop_assert_eq!(found, smallest_ids(&tree, &queries));
    }

    #[test]
    fn a_folded_document_has_the_same_answers(
        tree in trees(4, 60),
        queries in queries(4, 12),
        window_max in 0..20_usize,
    ) {
        let queries = only_all(&queries);
        let found = ids(&tree, &queries, folded(window_max)).unwrap();
        prop_assert_eq!(found, expected_ids(&tree, &queries));
        let options = Options { window_max, ..smallest() };
        let found = ids(&tree, &queries, options).unwrap();
        prop_assert_eq!(found, smallest_ids(&tree, &queries));
    }

    #[test]
    fn answers_are_told_with_their_witnesses(
        tree in trees(5, 60),
        queries in queries(5, 12),
        witnesses_max in 0..4_usize,
    ) {
        let options = Options { witnesses_max, ..Options::default() };
        check_details(&tree, &queries, options)?;
    }

    #[test]
    fn a_folded_document_is_told_with_the_same_witnesses(
        tree in trees(4, 80),
        queries in queries(4, 12),
        witnesses_max in 1..4_usize,
        window_max in 0..30_usize,
    ) {
        let queries = only_all(&queries);
        check_details(&tree, &queries, Options { witnesses_max, ..folded(window_max) })?;
        let options = Options { witnesses_max, ..Options::default() };
        let whole = answers(&tree, &queries, options).unwrap();
        let folded = Options { window_max, ..options };
        prop_assert_eq!(answers(&tree, &queries, folded).unwrap(), whole);
    }
}

fn all(words: &[&[u32]]) -> QueryList {
    QueryList::new(words.iter().map(|words| (All, words.to_vec()))).with_words(6)
}

fn leaf(words: &[u32]) -> Tree {
    element(words, Vec::new())
}

/// An element of these things, in this order.
fn holding(items: Vec<Item>) -> Tree {
    Tree {
        tag: Vec::new(),
        items,
    }
}

#[test]
fn the_papers_examples_are_answered() {
    let tree = figure_1();
    let [a1, d1, b2, a2] = [0, 2, 5, 6];
    let acd = all(&[&[0, 2, 3]]);
    let found = ids(&tree, &acd, Options::default()).unwrap();
    assert_eq!(found, [(0, a1), (0, a2)]);
    // What the paper holds against SLCA: a1 is lost.
    assert_eq!(ids(&tree, &acd, smallest()).unwrap(), [(0, a2)]);
    let found = ids(&tree, &table_1(), Options::default()).unwrap();
    let expected = [
        (0, a1),
        (0, b2),
        (1, a1),
        (1, b2),
        (2, a1),
        (2, a2),
        (3, d1),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_paths_that_the_paper_returns_are_told() {
    let tree = figure_1();
    let told = answers(&tree, &all(&[&[0, 2, 3]]), Options::default()).unwrap();
    let [a2, a1] = &told[0].1[..] else {
        panic!("one query with two answers: {told:?}");
    };
    let xml = tree.to_xml();
    // Deeper first: <a2><c1/><d2/></a2>, then <a1><d1/><c2/></a1>.
    assert_eq!(
        cut(&xml, &a2.ranges),
        "<e w0=\"\"><e w2=\"\"/><e w3=\"\"/></e>"
    );
    assert_eq!(
        cut(&xml, &a1.ranges),
        "<e w0=\"\"><e w3=\"\"></e><e w2=\"\"/></e>"
    );
    assert_eq!((a2.path.as_str(), a2.depth), ("/e[1]/e[3]/e[1]", 2));
    assert_eq!((a1.path.as_str(), a1.depth), ("/e[1]", 0));
    assert_eq!(&*a1.namespaces, [("p".into(), "urn:p".into())]);
    assert_eq!(a1.keywords[2].witnesses[0].path, "/e[1]/e[2]");
}

#[test]
fn what_contains_all_words_passes_none_upwards() {
    // <e><c><d>a b</d>a</c>b</e>
    let c = holding(vec![Item::Child(leaf(&[0, 1])), Item::Word(0)]);
    let e = holding(vec![Item::Child(c), Item::Word(1)]);
    let queries = all(&[&[0, 1]]);
    for window_max in [0, 3, 5, 100] {
        assert_eq!(ids(&e, &queries, folded(window_max)).unwrap(), [(0, 2)]);
    }
}

#[test]
fn discarding_below_one_query_leaves_another_its_words() {
    // <p><e>a b</e>b</p>: for {a, b} e answers and p does not; for {a, c} nothing does.
    let p = holding(vec![Item::Child(leaf(&[0, 1])), Item::Word(1)]);
    let queries = all(&[&[0, 1], &[0, 2]]);
    assert_eq!(ids(&p, &queries, Options::default()).unwrap(), [(0, 1)]);
}

#[test]
fn every_element_of_a_single_word_answers() {
    let tree = element(&[0], vec![element(&[], vec![leaf(&[0])]), leaf(&[1])]);
    let queries = QueryList::new([(All, vec![0]), (Any, vec![0])]).with_words(2);
    let found = ids(&tree, &queries, Options::default()).unwrap();
    assert_eq!(found, [(0, 0), (0, 2), (1, 0), (1, 2)]);
}

#[test]
fn documents_without_words_and_engines_without_queries_answer_nothing() {
    let none: [(u32, u32); 0] = [];
    let queries = all(&[&[0, 1]]);
    assert_eq!(ids(&leaf(&[]), &queries, Options::default()).unwrap(), none);
    let empty = QueryList::default().with_words(2);
    assert_eq!(
        ids(&leaf(&[0, 1]), &empty, Options::default()).unwrap(),
        none
    );
    assert_eq!(
        answers(&leaf(&[0]), &queries, Options::default()).unwrap(),
        []
    );
}

#[test]
fn a_query_may_have_a_thousand_words() {
    let words: Vec<u32> = (0..1_000).collect();
    let (left, right) = words.split_at(400);
    let tree = element(&[], vec![leaf(left), element(right, vec![leaf(&words)])]);
    let queries = QueryList::new([(All, words.clone()), (Any, words)]);
    let found = ids(&tree, &queries, Options::default()).unwrap();
    assert_eq!(found, expected_ids(&tree, &queries));
    assert_eq!(found, [(0, 3), (1, 1), (1, 3)]);
}

#[test]
fn a_deep_chain_is_answered_at_each_level_that_keeps_its_words() {
    // Each element has one word, in turns, so that every pair answers, and a third beside.
    let mut chain = leaf(&[0, 1]);
    for level in 0..600_u32 {
        chain = element(&[level % 2], vec![leaf(&[1 - level % 2]), chain]);
    }
    let queries = all(&[&[0, 1], &[0]]);
    let whole = ids(&chain, &queries, Options::default()).unwrap();
    assert_eq!(whole.iter().filter(|(query, _)| *query == 0).count(), 601);
    assert_eq!(ids(&chain, &queries, folded(50)).unwrap(), whole);
}

#[test]
fn an_or_query_with_a_word_in_a_document_past_the_window_stops_it() {
    let tree = element(&[0], vec![leaf(&[1]), leaf(&[0]), leaf(&[1])]);
    let heard = QueryList::new([(Any, vec![1, 2])]).with_words(4);
    for window_max in [1, 4] {
        let stop = ids(&tree, &heard, folded(window_max)).unwrap_err();
        assert_eq!(stop.code, "keywords.or-too-large");
    }
    let unheard = QueryList::new([(Any, vec![2, 3]), (All, vec![0])]);
    assert_eq!(ids(&tree, &unheard, folded(1)).unwrap(), [(1, 0), (1, 2)]);
}

#[test]
fn a_document_with_too_many_answers_is_stopped() {
    let tree = element(&[], vec![leaf(&[0]), leaf(&[0]), leaf(&[0])]);
    for mode in [All, Any] {
        let queries = QueryList::new([(mode, vec![0])]);
        let few = Options {
            answers_max: 2,
            ..Options::default()
        };
        let code = |stop: Stop| stop.code;
        let expected = Err("keywords.too-many-answers");
        assert_eq!(ids(&tree, &queries, few).map_err(code), expected);
        assert_eq!(
            answers(&tree, &queries, few).map_err(code),
            Err(expected.unwrap_err())
        );
        // Those that are not among the best are not held.
        let best = Options { limit: 1, ..few };
        assert_eq!(answers(&tree, &queries, best).unwrap()[0].1.len(), 1);
    }
}

#[test]
fn answers_are_ranked_by_words_then_depth_then_size_then_order() {
    let ranked = |tree: &Tree, queries: &QueryList, limit: usize| -> Vec<u32> {
        let options = Options {
            limit,
            ..Options::default()
        };
        let told = answers(tree, queries, options).unwrap();
        told[0].1.iter().map(|answer| answer.element).collect()
    };
    let large = element(&[0], vec![leaf(&[1])]);
    let deep = element(&[], vec![leaf(&[0, 1])]);
    let tree = element(&[], vec![large, leaf(&[0, 1]), leaf(&[0, 1]), deep]);
    let queries = all(&[&[0, 1]]);
    assert_eq!(ranked(&tree, &queries, usize::MAX), [6, 3, 4, 1]);
    assert_eq!(ranked(&tree, &queries, 2), [6, 3]);
    // The deepest answer has one word only.
    let deep = element(&[], vec![leaf(&[0])]);
    let tree = element(&[], vec![deep, leaf(&[0, 1]), leaf(&[0]), leaf(&[1])]);
    let queries = QueryList::new([(Any, vec![0, 1])]);
    assert_eq!(ranked(&tree, &queries, usize::MAX), [3, 0, 2]);
}

#[test]
fn text_of_one_piece_is_one_range_and_too_many_ranges_are_left_out() {
    let mut items = vec![Item::Word(0), Item::Word(0)];
    for _ in 1..=TEXT_RANGES_MAX {
        items.extend([Item::Child(leaf(&[])), Item::Word(0)]);
    }
    let just_too_many = holding(items.clone());
    let enough = holding(items[..items.len() - 2].to_vec());
    let queries = all(&[&[0]]);
    for window_max in [10, WINDOW_MAX] {
        let told = |tree: &Tree| {
            answers(tree, &queries, folded(window_max))
                .unwrap()
                .remove(0)
                .1
        };
        let (cut_short, whole) = (&told(&just_too_many)[0], &told(&enough)[0]);
        // The first is joined to the start tag, the last to the end tag where it is there.
        assert_eq!(
            (whole.ranges.len(), whole.truncated),
            (TEXT_RANGES_MAX, false)
        );
        assert_eq!(cut_short.ranges.len(), TEXT_RANGES_MAX + 1);
        assert!(cut_short.truncated);
    }
}
