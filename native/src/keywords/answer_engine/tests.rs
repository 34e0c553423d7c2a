//! The default engine on examples.

use super::*;
use crate::events::NameId;
use crate::keywords::element_metadata::TEXT_RANGES_MAX;
use crate::keywords::testing::{context, element, figure_1, table_1, Item, QueryList, Tree};
use crate::keywords::token_sink::Mode::{All, Any};
use crate::reader::tests::allocations::allocations;

mod generated;

/// Query and element of all answers, by number.
fn ids(tree: &Tree, queries: &QueryList, options: Options) -> Result<Vec<(u32, u32)>, Stop> {
    let (all, any) = (
        ConjunctionIndex::build(queries, &[]),
        DisjunctionIndex::build(queries),
    );
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
    let (all, any) = (
        ConjunctionIndex::build(queries, &[]),
        DisjunctionIndex::build(queries),
    );
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
        let stop = ids(&tree, &queries, few).unwrap_err();
        assert_eq!(stop.code, "keywords.too-many-answers");
        let stop = answers(&tree, &queries, few).unwrap_err();
        assert_eq!(stop.code, "keywords.too-many-answers");
        // Those that are not among the best are not held.
        let best = Options { limit: 1, ..few };
        assert_eq!(answers(&tree, &queries, best).unwrap()[0].1.len(), 1);
    }
}

#[test]
fn a_document_with_more_elements_than_can_be_numbered_is_stopped() {
    let tree = element(&[], vec![leaf(&[0]), leaf(&[0]), leaf(&[0])]);
    let queries = all(&[&[0]]);
    let few = |elements_max| Options {
        elements_max,
        ..folded(2)
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

#[test]
fn what_came_out_of_an_entity_is_told_as_its_reference_once() {
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
    let (all, any) = (
        ConjunctionIndex::build(&queries, &[]),
        DisjunctionIndex::build(&queries),
    );
    let parts = Parts {
        queries: &queries,
        all: &all,
        any: &any,
    };
    let mut state = State::default();
    let mut run = Answering::<true>::new(parts, Options::default(), &mut state);
    let context = context();
    for span in [root, reference] {
        run.open().unwrap();
        run.start_tag(&context, &open(span));
    }
    run.text_span(reference).unwrap();
    run.token(1).unwrap();
    run.close(reference, reference).unwrap();
    run.text_span(reference).unwrap();
    run.token(0).unwrap();
    run.close(span(0, 10, false), span(6, 10, false)).unwrap();
    let (_, answers) = run.finish().remove(0);
    assert_eq!(answers[0].ranges, [root, reference, span(6, 10, false)]);
    assert_eq!(answers[0].keywords[1].witnesses[0].span, reference);
}

#[test]
fn children_that_share_a_place_are_told_apart() {
    // More children than places: word 0 is in the first, and 1 in one that may share its place.
    for other in 1..80 {
        let mut children = vec![leaf(&[]); 80];
        children[0] = leaf(&[0]);
        children[other] = leaf(&[1, 2]);
        let queries = all(&[&[0, 1], &[1, 2], &[0, 3]]);
        let found = ids(&element(&[3], children), &queries, Options::default()).unwrap();
        assert_eq!(found, [(0, 0), (1, other as u32 + 1), (2, 0)]);
    }
}

#[test]
fn a_warm_run_allocates_nothing() {
    struct Deaf;
    impl TokenSink for Deaf {
        fn open(&mut self) -> Result<(), Stop> {
            Ok(())
        }
        fn token(&mut self, _: WordId) -> Result<(), Stop> {
            Ok(())
        }
        fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
            Ok(())
        }
    }
    let queries = QueryList::new([(All, vec![0, 1, 2]), (All, vec![0, 3]), (Any, vec![1, 4])]);
    let queries = queries.with_words(6);
    let (all, any) = (
        ConjunctionIndex::build(&queries, &[]),
        DisjunctionIndex::build(&queries),
    );
    let parts = Parts {
        queries: &queries,
        all: &all,
        any: &any,
    };
    let tree = figure_1();
    let mut state = State::default();
    let mut hear = || {
        let mut run = Answering::<false>::new(parts, Options::default(), &mut state);
        tree.feed(&mut run).unwrap();
        assert_eq!(run.finish().len(), 5);
    };
    let cold = allocations(&mut hear);
    let warm = allocations(&mut hear);
    let telling = allocations(|| tree.feed(&mut Deaf).unwrap());
    assert!(cold > telling);
    assert_eq!(warm, telling);
}
