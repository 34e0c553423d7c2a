//! The default engine against the definitions, on generated trees and queries.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::keywords::testing::{queries, trees, Document};
use crate::keywords::token_dispatcher::{PendingText, RouteBuffers, TokenDispatcher, TokenRoute};
use crate::keywords::vocabulary::Vocabulary;
use crate::reader::{Reader, ReaderOptions};
use crate::subscription_store::flat_layout::TextsBuilder;

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

/// Query and element of all answers, by number, where the tree is read as a document and told in parts of so
/// many marks.
fn read_ids(
    tree: &Tree,
    queries: &QueryList,
    options: Options,
    marks_max: usize,
) -> Vec<(u32, u32)> {
    let (all, any) = (
        ConjunctionIndex::build(queries, &[]),
        DisjunctionIndex::build(queries),
    );
    let parts = Parts {
        queries,
        all: &all,
        any: &any,
    };
    let mut words = TextsBuilder::default();
    for word in 0..queries.word_count() {
        words.push(&format!("w{word}"));
    }
    let vocabulary = Vocabulary::new(words.finish());
    let (mut memory, mut state) = (RouteBuffers::default(), State::default());
    let mut seats = [TokenRoute {
        vocabulary: &vocabulary,
        buffers: &mut memory,
        sink: Answering::<false>::new(parts, options, &mut state),
    }];
    let mut heard = PendingText::new(marks_max);
    let mut reader = Reader::new(ReaderOptions::default());
    reader
        .read_slice(
            tree.to_xml().as_bytes(),
            &mut TokenDispatcher::new(&mut heard, &mut seats, 1),
        )
        .expect("well-formed, and not too large");
    let [seat] = seats;
    let mut pairs = seat.sink.finish().to_vec();
    pairs.sort_unstable();
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
    fn a_document_told_in_parts_has_the_same_answers(
        tree in trees(5, 60),
        queries in queries(5, 12),
        marks_max in 1..30_usize,
        window_max in 0..60_usize,
    ) {
        let found = read_ids(&tree, &queries, Options::default(), marks_max);
        prop_assert_eq!(found, expected_ids(&tree, &queries));
        let queries = only_all(&queries);
        let found = read_ids(&tree, &queries, folded(window_max), marks_max);
        prop_assert_eq!(found, expected_ids(&tree, &queries));
        let options = Options { window_max, ..smallest() };
        let found = read_ids(&tree, &queries, options, marks_max);
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Up to more elements than there are sets for.
    #[test]
    fn answers_in_large_documents_are_those_of_the_definition(
        children in prop::collection::vec(trees(5, 40), 0..160),
        queries in queries(5, 8),
    ) {
        let tree = element(&[], children);
        let found = ids(&tree, &queries, Options::default()).unwrap();
        prop_assert_eq!(&found, &expected_ids(&tree, &queries));
        prop_assert_eq!(&read_ids(&tree, &queries, Options::default(), 4_096), &found);
    }
}
