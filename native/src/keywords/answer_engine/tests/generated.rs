//! Compares the answer engine with the definitions on generated trees and queries.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::keywords::testing::{queries, trees, Document};
use crate::keywords::token_dispatcher::{PendingText, RouteBuffers, TokenDispatcher, TokenRoute};
use crate::keywords::vocabulary::Vocabulary;
use crate::reader::{Reader, ReaderOptions};
use crate::subscription_store::flat_layout::StringArrayBuilder;
use crate::tokenizer::tokenizer_options::TokenizerOptions;

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

/// The same as `ids`, but reads the tree as a document, in batches of at most `markers_max` markers.
fn read_ids(
    tree: &Tree,
    queries: &QueryList,
    options: AnswerOptions,
    markers_max: usize,
) -> Vec<(u32, u32)> {
    let indexes = OwnedIndexes::new(queries);
    let mut words = StringArrayBuilder::default();
    for word in 0..queries.word_count() {
        words.push(&format!("w{word}"));
    }
    let vocabulary = Vocabulary::new(TokenizerOptions::default(), words.finish());
    let (mut buffers, mut answer_buffers) = (RouteBuffers::default(), AnswerBuffers::default());
    let mut routes = [TokenRoute {
        vocabulary: &vocabulary,
        buffers: &mut buffers,
        sink: AnswerEngine::new(indexes.of(queries), options, &mut answer_buffers),
    }];
    let mut pending = PendingText::new(markers_max);
    let mut reader = Reader::new(ReaderOptions::default());
    reader
        .read_slice(
            tree.to_xml().as_bytes(),
            &mut TokenDispatcher::new(&mut pending, &mut routes, 1),
        )
        .expect("well-formed, and not too large");
    let [route] = routes;
    pairs(&route.sink.finish())
}

fn only_all(queries: &QueryList) -> QueryList {
    let all = (0..queries.count() as u32).filter(|&query| queries.mode(query) == All);
    QueryList::new(all.map(|query| (All, queries.words(query).to_vec())))
        .with_words(queries.word_count())
}

/// The tree from an answer to its witnesses as XML, by definition.
fn path_return(tree: &Tree, top: usize, witnesses: &BTreeSet<usize>) -> String {
    let mut written = String::new();
    write_return(tree, &mut 0, top, witnesses, false, &mut written);
    written
}

/// Writes the part of a subtree that leads to a witness; returns whether there is any.
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
    let mut is_included = is_witness || number == top;
    for item in &tree.items {
        match item {
            Item::Word(word) if is_witness => within += &format!(" w{word}"),
            Item::Word(_) => {}
            Item::Child(child) => {
                is_included |= write_return(child, next, top, witnesses, inside, &mut within);
            }
        }
    }
    if is_included && inside {
        *into += &tree.start_tag();
        *into += &within;
        *into += tree.end_tag();
    } else {
        *into += &within;
    }
    is_included
}

/// Compares detailed answers with the definition.
fn check_details(
    tree: &Tree,
    queries: &QueryList,
    options: AnswerOptions,
) -> Result<(), TestCaseError> {
    let mut found: BTreeMap<u32, QueryAnswers> = answers(tree, queries, options)
        .unwrap()
        .into_iter()
        .collect();
    let (document, xml) = (Document::new(tree), tree.to_xml());
    let most = options.witnesses_max;
    for query in 0..queries.count() as u32 {
        let found = found.remove(&query).unwrap_or_default();
        let mut answers = found.best;
        prop_assert_eq!(answers.len() as u64, found.count);
        answers.sort_by_key(|answer| answer.top.number);
        let expected = document.answers(queries.mode(query), queries.words(query));
        prop_assert_eq!(answers.len(), expected.len(), "query {}", query);
        for (answer, expected) in answers.iter().zip(expected) {
            prop_assert_eq!(answer.top.number as usize, expected.element);
            let found: BTreeMap<u32, (u64, Vec<usize>)> = answer
                .keywords
                .iter()
                .map(|keyword| {
                    let witnesses = keyword.witnesses.iter().map(|w| w.number as usize);
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
            let witnesses: BTreeSet<usize> =
                wanted.values().flat_map(|(_, all)| all.clone()).collect();
            let returned = path_return(tree, expected.element, &witnesses);
            prop_assert_eq!(cut(&xml, &answer.ranges), returned.clone());
            prop_assert_eq!(answer.size as usize, returned.matches("<e").count());
            prop_assert!(cut(&xml, &[answer.top.span()]).starts_with("<e"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn answers_match_the_definition(tree in trees(5, 60), queries in queries(5, 12)) {
        let found = ids(&tree, &queries, AnswerOptions::default()).unwrap();
        prop_assert_eq!(found, expected_ids(&tree, &queries));
    }

    #[test]
    fn a_spilled_document_has_the_same_answers(
        tree in trees(4, 60),
        queries in queries(4, 12),
        window_max in 0..20_usize,
    ) {
        let queries = only_all(&queries);
        let found = ids(&tree, &queries, with_window(window_max)).unwrap();
        prop_assert_eq!(found, expected_ids(&tree, &queries));
    }

    #[test]
    fn a_document_read_in_batches_has_the_same_answers(
        tree in trees(5, 60),
        queries in queries(5, 12),
        markers_max in 1..30_usize,
        window_max in 0..60_usize,
    ) {
        let found = read_ids(&tree, &queries, AnswerOptions::default(), markers_max);
        prop_assert_eq!(found, expected_ids(&tree, &queries));
        let queries = only_all(&queries);
        let found = read_ids(&tree, &queries, with_window(window_max), markers_max);
        prop_assert_eq!(found, expected_ids(&tree, &queries));
    }

    #[test]
    fn answers_have_the_witnesses_of_the_definition(
        tree in trees(5, 60),
        queries in queries(5, 12),
        witnesses_max in 0..4_usize,
    ) {
        let options = AnswerOptions { witnesses_max, ..AnswerOptions::default() };
        check_details(&tree, &queries, options)?;
    }

    #[test]
    fn a_spilled_document_has_the_same_witnesses(
        tree in trees(4, 80),
        queries in queries(4, 12),
        witnesses_max in 1..4_usize,
        window_max in 0..30_usize,
    ) {
        let queries = only_all(&queries);
        let spilled = AnswerOptions { witnesses_max, ..with_window(window_max) };
        check_details(&tree, &queries, spilled)?;
        let options = AnswerOptions { witnesses_max, ..AnswerOptions::default() };
        let unspilled = answers(&tree, &queries, options).unwrap();
        prop_assert_eq!(answers(&tree, &queries, spilled).unwrap(), unspilled);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn answers_in_large_documents_match_the_definition(
        children in prop::collection::vec(trees(5, 40), 0..160),
        queries in queries(5, 8),
    ) {
        let tree = element(&[], children);
        let found = ids(&tree, &queries, AnswerOptions::default()).unwrap();
        prop_assert_eq!(&found, &expected_ids(&tree, &queries));
        prop_assert_eq!(&read_ids(&tree, &queries, AnswerOptions::default(), 4_096), &found);
    }
}
