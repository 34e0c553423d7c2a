//! The default engine on examples.

use super::*;
use crate::events::NameId;
use crate::keywords::element_metadata::TEXT_RANGES_MAX;
use crate::keywords::testing::{context, element, figure_1, table_1, Item, QueryList, Tree};
use crate::keywords::token_sink::Mode::{All, Any};

mod generated;

/// Query and element of all answers, ordered.
fn ids(tree: &Tree, queries: &QueryList, options: AnswerOptions) -> Result<Vec<(u32, u32)>, Stop> {
    Ok(pairs(&answers(tree, queries, options)?))
}

fn pairs(answers: &[(u32, QueryAnswers)]) -> Vec<(u32, u32)> {
    let pair = |&(query, ref answers): &(u32, QueryAnswers)| {
        let elements = answers.best.iter().map(|answer| answer.top.number);
        elements
            .map(|element| (query, element))
            .collect::<Vec<(u32, u32)>>()
    };
    let mut pairs: Vec<(u32, u32)> = answers.iter().flat_map(pair).collect();
    pairs.sort_unstable();
    pairs
}

/// All answers by query.
fn answers(
    tree: &Tree,
    queries: &QueryList,
    options: AnswerOptions,
) -> Result<Vec<(u32, QueryAnswers)>, Stop> {
    let indexes = OwnedIndexes::new(queries);
    let mut buffers = AnswerBuffers::default();
    let mut engine = AnswerEngine::new(indexes.of(queries), options, &mut buffers);
    tree.feed(&mut engine)?;
    Ok(engine.finish())
}

struct OwnedIndexes {
    conjunctions: ConjunctionIndex,
    disjunctions: DisjunctionIndex,
}

impl OwnedIndexes {
    fn new(queries: &QueryList) -> OwnedIndexes {
        OwnedIndexes {
            conjunctions: ConjunctionIndex::build(queries, &[]),
            disjunctions: DisjunctionIndex::build(queries),
        }
    }

    fn of<'a>(&'a self, queries: &'a QueryList) -> QueryIndexes<'a> {
        QueryIndexes {
            queries,
            conjunctions: &self.conjunctions,
            disjunctions: &self.disjunctions,
        }
    }
}

fn with_window(window_max: usize) -> AnswerOptions {
    AnswerOptions {
        window_max,
        ..AnswerOptions::default()
    }
}

fn cut(xml: &str, ranges: &[Span]) -> String {
    let piece = |span: &Span| &xml[span.start as usize..span.end as usize];
    ranges.iter().map(piece).collect()
}

fn all(words: &[&[u32]]) -> QueryList {
    QueryList::new(words.iter().map(|words| (All, words.to_vec()))).with_words(6)
}

fn leaf(words: &[u32]) -> Tree {
    element(words, Vec::new())
}

/// An element with this content.
fn with_items(items: Vec<Item>) -> Tree {
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
    let found = ids(&tree, &acd, AnswerOptions::default()).unwrap();
    assert_eq!(found, [(0, a1), (0, a2)]);
    let found = ids(&tree, &table_1(), AnswerOptions::default()).unwrap();
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
fn path_returns_match_the_paper() {
    let tree = figure_1();
    let found = answers(&tree, &all(&[&[0, 2, 3]]), AnswerOptions::default()).unwrap();
    let [a2, a1] = &found[0].1.best[..] else {
        panic!("one query with two answers: {found:?}");
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
    assert_eq!(
        (a2.top.path().as_str(), a2.top.depth),
        ("/e[1]/e[3]/e[1]", 2)
    );
    assert_eq!((a1.top.path().as_str(), a1.top.depth), ("/e[1]", 0));
    assert_eq!(&*a1.top.namespaces, [("p".into(), "urn:p".into())]);
    assert_eq!(a1.keywords[2].witnesses[0].path(), "/e[1]/e[2]");
}

#[test]
fn a_complete_element_propagates_no_words() {
    // <e><c><d>a b</d>a</c>b</e>
    let c = with_items(vec![Item::Child(leaf(&[0, 1])), Item::Word(0)]);
    let e = with_items(vec![Item::Child(c), Item::Word(1)]);
    let queries = all(&[&[0, 1]]);
    for window_max in [0, 3, 5, 100] {
        assert_eq!(
            ids(&e, &queries, with_window(window_max)).unwrap(),
            [(0, 2)]
        );
    }
}

#[test]
fn an_answer_to_one_query_does_not_affect_another() {
    // <p><e>a b</e>b</p>: for {a, b} e answers and p does not; for {a, c} nothing does.
    let p = with_items(vec![Item::Child(leaf(&[0, 1])), Item::Word(1)]);
    let queries = all(&[&[0, 1], &[0, 2]]);
    assert_eq!(
        ids(&p, &queries, AnswerOptions::default()).unwrap(),
        [(0, 1)]
    );
}

#[test]
fn every_element_of_a_single_word_answers() {
    let tree = element(&[0], vec![element(&[], vec![leaf(&[0])]), leaf(&[1])]);
    let queries = QueryList::new([(All, vec![0]), (Any, vec![0])]).with_words(2);
    let found = ids(&tree, &queries, AnswerOptions::default()).unwrap();
    assert_eq!(found, [(0, 0), (0, 2), (1, 0), (1, 2)]);
}

#[test]
fn documents_without_words_and_engines_without_queries_answer_nothing() {
    let none: [(u32, u32); 0] = [];
    let queries = all(&[&[0, 1]]);
    assert_eq!(
        ids(&leaf(&[]), &queries, AnswerOptions::default()).unwrap(),
        none
    );
    let empty = QueryList::default().with_words(2);
    assert_eq!(
        ids(&leaf(&[0, 1]), &empty, AnswerOptions::default()).unwrap(),
        none
    );
    assert_eq!(
        answers(&leaf(&[0]), &queries, AnswerOptions::default()).unwrap(),
        []
    );
}

#[test]
fn a_query_may_have_a_thousand_words() {
    let words: Vec<u32> = (0..1_000).collect();
    let (left, right) = words.split_at(400);
    let tree = element(&[], vec![leaf(left), element(right, vec![leaf(&words)])]);
    let queries = QueryList::new([(All, words.clone()), (Any, words)]);
    let found = ids(&tree, &queries, AnswerOptions::default()).unwrap();
    assert_eq!(found, [(0, 3), (1, 1), (1, 3)]);
}

#[test]
fn a_deep_chain_has_an_answer_at_each_level() {
    // Elements alternate between two words, and each has a child with the other word.
    let mut chain = leaf(&[0, 1]);
    for level in 0..600_u32 {
        chain = element(&[level % 2], vec![leaf(&[1 - level % 2]), chain]);
    }
    let queries = all(&[&[0, 1], &[0]]);
    let unspilled = ids(&chain, &queries, AnswerOptions::default()).unwrap();
    let answers = unspilled.iter().filter(|(query, _)| *query == 0);
    assert_eq!(answers.count(), 601);
    assert_eq!(ids(&chain, &queries, with_window(50)).unwrap(), unspilled);
}

#[test]
fn an_or_query_stops_a_document_that_exceeds_the_window() {
    let tree = element(&[0], vec![leaf(&[1]), leaf(&[0]), leaf(&[1])]);
    let occurring = QueryList::new([(Any, vec![1, 2])]).with_words(4);
    for window_max in [1, 4] {
        let stop = ids(&tree, &occurring, with_window(window_max)).unwrap_err();
        assert_eq!(stop.code, "keywords.or-too-large");
    }
    let absent = QueryList::new([(Any, vec![2, 3]), (All, vec![0])]);
    assert_eq!(
        ids(&tree, &absent, with_window(1)).unwrap(),
        [(1, 0), (1, 2)]
    );
}

#[test]
fn a_query_whose_answers_take_too_much_memory_is_abandoned_and_others_are_answered() {
    let leaves = (0..40).map(|_| leaf(&[0])).chain([leaf(&[1])]);
    let tree = element(&[], leaves.collect());
    for (mode, window_max) in [(All, 100), (All, 10), (Any, 100)] {
        let queries = QueryList::new([(mode, vec![0]), (mode, vec![1])]);
        let little = AnswerOptions {
            bytes_max: 5_000,
            ..with_window(window_max)
        };
        assert_eq!(ids(&tree, &queries, little).unwrap(), [(1, 41)]);
        let found = answers(&tree, &queries, little).unwrap();
        let abandoned = found.iter().map(|(_, answers)| answers.is_abandoned);
        assert_eq!(abandoned.collect::<Vec<bool>>(), [true, false]);
        // Answers beyond the limit are counted, but not held.
        let best = AnswerOptions { limit: 1, ..little };
        let (_, answers) = answers(&tree, &queries, best).unwrap().remove(0);
        assert_eq!((answers.count, answers.best.len()), (40, 1));
    }
}

#[test]
fn the_queries_whose_words_occur_most_often_are_abandoned_when_the_steps_are_spent() {
    let leaves = (0..40).map(|_| leaf(&[0])).chain([leaf(&[1])]);
    let tree = element(&[], leaves.collect());
    for mode in [All, Any] {
        let queries = QueryList::new([(mode, vec![0]), (mode, vec![1])]);
        let within = |steps_max| {
            let options = AnswerOptions {
                steps_max,
                ..AnswerOptions::default()
            };
            ids(&tree, &queries, options).unwrap().len()
        };
        assert_eq!([within(0), within(2_000), within(100_000)], [0, 1, 41]);
    }
}

#[test]
fn climbing_to_a_distant_answer_takes_steps() {
    // The words meet only at the root: a thousand levels above each of a thousand elements.
    let mut tree = element(&[], (0..1_000).map(|_| leaf(&[0])).collect());
    for _ in 0..1_000 {
        tree = element(&[], vec![tree]);
    }
    let others = (0..1_001).map(|_| leaf(&[1]));
    let tree = element(&[], std::iter::once(tree).chain(others).collect());
    let queries = all(&[&[0, 1]]);
    let within = |steps_max| {
        let options = AnswerOptions {
            steps_max,
            ..AnswerOptions::default()
        };
        ids(&tree, &queries, options).unwrap().len()
    };
    assert_eq!([within(1_000_000), within(10_000_000)], [0, 1]);
}

#[test]
fn a_document_with_too_many_elements_is_stopped() {
    let tree = element(&[], vec![leaf(&[0]), leaf(&[0]), leaf(&[0])]);
    let queries = all(&[&[0]]);
    let few = |elements_max| AnswerOptions {
        elements_max,
        ..with_window(2)
    };
    assert_eq!(
        ids(&tree, &queries, few(4)).unwrap(),
        [(0, 1), (0, 2), (0, 3)]
    );
    let stop = ids(&tree, &queries, few(3)).unwrap_err();
    assert_eq!(stop.code, "keywords.too-many-elements");
}

#[test]
fn answers_are_ranked_by_words_then_depth_then_size_then_order() {
    let ranked = |tree: &Tree, queries: &QueryList, limit: usize| -> Vec<u32> {
        let options = AnswerOptions {
            limit,
            ..AnswerOptions::default()
        };
        let found = answers(tree, queries, options).unwrap();
        found[0]
            .1
            .best
            .iter()
            .map(|answer| answer.top.number)
            .collect()
    };
    let large = element(&[0], vec![leaf(&[1])]);
    let deep = element(&[], vec![leaf(&[0, 1])]);
    let tree = element(&[], vec![large, leaf(&[0, 1]), leaf(&[0, 1]), deep]);
    let queries = all(&[&[0, 1]]);
    assert_eq!(ranked(&tree, &queries, usize::MAX), [6, 3, 4, 1]);
    assert_eq!(ranked(&tree, &queries, 2), [6, 3]);
    // The deepest answer contains only one word.
    let deep = element(&[], vec![leaf(&[0])]);
    let tree = element(&[], vec![deep, leaf(&[0, 1]), leaf(&[0]), leaf(&[1])]);
    let queries = QueryList::new([(Any, vec![0, 1])]);
    assert_eq!(ranked(&tree, &queries, usize::MAX), [3, 0, 2]);
}

#[test]
fn adjacent_text_is_one_range_and_excess_ranges_are_omitted() {
    let mut items = vec![Item::Word(0), Item::Word(0)];
    for _ in 1..=TEXT_RANGES_MAX {
        items.extend([Item::Child(leaf(&[])), Item::Word(0)]);
    }
    let just_too_many = with_items(items.clone());
    let enough = with_items(items[..items.len() - 2].to_vec());
    let queries = all(&[&[0]]);
    for window_max in [10, WINDOW_MAX] {
        let best = |tree: &Tree| {
            answers(tree, &queries, with_window(window_max))
                .unwrap()
                .remove(0)
                .1
                .best
        };
        let (truncated, complete) = (&best(&just_too_many)[0], &best(&enough)[0]);
        // The first text joins the start tag; the last, if recorded, joins the end tag.
        assert_eq!(
            (complete.ranges.len(), complete.truncated),
            (TEXT_RANGES_MAX, false)
        );
        assert_eq!(truncated.ranges.len(), TEXT_RANGES_MAX + 1);
        assert!(truncated.truncated);
    }
}

#[test]
fn content_from_an_entity_is_represented_by_its_reference_once() {
    // <e>&r;</e>, where r is <e> w1</e> w0.
    let span = |start, end, from_entity| Span {
        start,
        end,
        from_entity,
    };
    let (root, reference) = (span(0, 3, false), span(3, 6, true));
    let open = |span| StartElement {
        name: NameId(0),
        attributes: &[],
        span,
    };
    let queries = all(&[&[0, 1]]);
    let indexes = OwnedIndexes::new(&queries);
    let mut buffers = AnswerBuffers::default();
    let mut engine =
        AnswerEngine::new(indexes.of(&queries), AnswerOptions::default(), &mut buffers);
    let context = context();
    for span in [root, reference] {
        engine.open().unwrap();
        engine.start_tag(&context, &open(span));
    }
    engine.text_span(reference).unwrap();
    engine.token(1).unwrap();
    engine.close(reference, reference).unwrap();
    engine.text_span(reference).unwrap();
    engine.token(0).unwrap();
    engine
        .close(span(0, 10, false), span(6, 10, false))
        .unwrap();
    let (_, answers) = engine.finish().remove(0);
    assert_eq!(
        answers.best[0].ranges,
        [root, reference, span(6, 10, false)]
    );
    assert_eq!(answers.best[0].keywords[1].witnesses[0].span(), reference);
}

#[test]
fn answers_in_one_of_many_children_are_found() {
    // Word 0 is in the first child, words 1 and 2 in another one.
    for other in 1..80 {
        let mut children = vec![leaf(&[]); 80];
        children[0] = leaf(&[0]);
        children[other] = leaf(&[1, 2]);
        let queries = all(&[&[0, 1], &[1, 2], &[0, 3]]);
        let found = ids(&element(&[3], children), &queries, AnswerOptions::default()).unwrap();
        assert_eq!(found, [(0, 0), (1, other as u32 + 1), (2, 0)]);
    }
}
