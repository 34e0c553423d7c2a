use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::keywords::adaptive_reindex::SEARCHES_OBSERVED;
use crate::keywords::answers::Answer;
use crate::keywords::store::KeywordIndex;
use crate::keywords::testing::index_history::index_histories;
use crate::keywords::testing::trees;
use crate::path_index::subscription_index::PathIndex;
use crate::reader::ReaderOptions;
use crate::subscription_store::file_format::{self, OpenError};
use crate::subscription_store::store::AddError;

fn matcher(index: &mut KeywordIndex) -> KeywordMatcher {
    let pool = Arc::new(Pool::new(ReaderOptions::default()));
    KeywordMatcher::new(index.snapshot(), (), pool)
}

fn match_bytes(matcher: &KeywordMatcher, document: &str) -> Result<Matched, MatchError> {
    let document = &mut DocumentSource::Bytes(document.as_bytes());
    matcher.match_document(&mut EventSource::unmapped(document))
}

fn index_of(queries: &[(&str, &str)]) -> KeywordIndex {
    let mut index = KeywordIndex::default();
    for (id, query) in queries {
        index.add(id, query).expect("a query");
    }
    index
}

fn matches(matcher: &KeywordMatcher, document: &str) -> Vec<String> {
    let matched = match_bytes(matcher, document).expect("well-formed");
    let ids = matched.handles.iter();
    let mut ids: Vec<String> = ids.map(|&handle| matcher.id(handle).to_owned()).collect();
    ids.sort_unstable();
    ids
}

/// The elements that answer each matching subscription.
fn answers(matcher: &KeywordMatcher, document: &str) -> BTreeMap<String, Vec<u32>> {
    let handles = match_bytes(matcher, document).expect("well-formed").handles;
    let source = &mut DocumentSource::Bytes(document.as_bytes());
    let (answers, ..) = matcher
        .answers(source, &handles, usize::MAX)
        .expect("well-formed");
    let by_id = handles.iter().zip(answers).map(|(&handle, answers)| {
        assert_eq!(answers.count, answers.best.len() as u64);
        let mut elements: Vec<u32> = answers
            .best
            .iter()
            .map(|answer| answer.top.number)
            .collect();
        elements.sort_unstable();
        (matcher.id(handle).to_owned(), elements)
    });
    by_id.collect()
}

#[test]
fn an_adaptive_rebuild_changes_no_result() {
    // Every document contains the words that are rare in queries; few contain the others.
    let queries: Vec<(String, String)> = (0..30)
        .map(|at| (format!("q{at}"), format!("n{at} m{at} storm gale")))
        .collect();
    let queries: Vec<(&str, &str)> = queries
        .iter()
        .map(|(id, query)| (&**id, &**query))
        .collect();
    let names: String = (0..30)
        .map(|at| format!("<n{at}><m{at}/></n{at}>"))
        .collect();
    let common = format!("<d>{names}</d>");
    let rare = format!("<d>{names}<b>storm<c>gale n7 m7</c></b></d>");
    let matcher = matcher(&mut index_of(&queries));
    let (before, matched) = (answers(&matcher, &rare), matches(&matcher, &rare));
    assert_eq!((before.len(), matched.len()), (30, 30));
    assert_eq!(before["q7"], [61]);
    for _ in 0..SEARCHES_OBSERVED {
        assert_eq!(matches(&matcher, &common).len(), 0);
    }
    let segment = &matcher.numbered().snapshot.views[0].segment;
    assert!(segment.adaptive.get().is_some());
    assert_eq!(answers(&matcher, &rare), before);
    assert_eq!(matches(&matcher, &rare), matched);
}

proptest! {
    #[test]
    fn answers_match_the_definition_for_any_index_history(
        history in index_histories(),
        documents in prop::collection::vec(trees(6, 24), 1..3),
    ) {
        let mut built = history.build();
        let matchers = built.indexes.each_mut().map(matcher);
        for tree in &documents {
            let expected = built.expected_answers(tree);
            let ids: Vec<String> = expected.keys().cloned().collect();
            for matcher in &matchers {
                prop_assert_eq!(&answers(matcher, &tree.to_xml()), &expected);
                prop_assert_eq!(&matches(matcher, &tree.to_xml()), &ids);
            }
        }
    }
}

#[test]
fn equal_queries_are_one_class_and_ids_are_taken_once() {
    let mut index = index_of(&[("a", "Storm coast"), ("b", "coast, STORM"), ("c", "storm")]);
    assert!(matches!(index.add("a", "x"), Err(AddError::Duplicate)));
    assert!(matches!(index.add("d", "..."), Err(AddError::Query(_))));
    assert!(!index.contains("d"));
    assert_eq!(
        index.snapshot().views[0]
            .segment
            .subscriptions
            .class_count(),
        2
    );
    assert_eq!(index.query("b").as_deref(), Some("coast, STORM"));
    let matcher = matcher(&mut index);
    let document = "<news><item>Storm</item> on the coast</news>";
    assert_eq!(matches(&matcher, document), ["a", "b", "c"]);
    assert!(index.remove("b") && !index.remove("b"));
    assert_eq!(matches(&matcher, document), ["a", "b", "c"]);
    let matcher = self::matcher(&mut index);
    assert_eq!(matches(&matcher, document), ["a", "c"]);
    assert_eq!(answers(&matcher, document).len(), 2);
}

#[test]
fn detailed_answers_are_returned_for_requested_subscriptions() {
    let mut index = index_of(&[
        ("a", "storm coast"),
        ("b", "gale OR storm"),
        ("c", "snow"),
        ("d", "coast storm"),
    ]);
    let matcher = matcher(&mut index);
    let document = "<news><item>Storm</item><place>coast</place><item>gale</item></news>";
    let handles: Vec<u32> = ["b", "c", "d"]
        .map(|id| matcher.numbered().handle(id).expect("there"))
        .to_vec();
    let (answers, segment, summary) = matcher
        .answers(
            &mut DocumentSource::Bytes(document.as_bytes()),
            &handles,
            usize::MAX,
        )
        .expect("well-formed");
    assert_eq!(summary.elements, 4);
    let shown = |answer: &Answer| {
        let words = answer.keywords.iter();
        let words: Vec<&str> = words
            .map(|keyword| segment.vocabulary.words.get(keyword.word))
            .collect();
        format!("{}: {}", answer.top.path(), words.join(" "))
    };
    let shown: Vec<Vec<String>> = answers
        .iter()
        .map(|answers| answers.best.iter().map(shown).collect())
        .collect();
    assert_eq!(
        shown,
        [
            vec!["/news[1]: gale storm".to_owned()],
            vec![],
            vec!["/news[1]: coast storm".to_owned()]
        ]
    );
}

#[test]
fn a_rejected_document_leaves_no_state_behind() {
    let mut index = index_of(&[("a", "storm coast"), ("b", "storm OR gale")]);
    let matcher = matcher(&mut index);
    for rejected in ["<a>storm <b>coast</a>", "<a>storm gale coas"] {
        assert!(matches!(
            match_bytes(&matcher, rejected),
            Err(MatchError::Refused(_))
        ));
        assert!(matches!(
            matcher.answers(&mut DocumentSource::Bytes(rejected.as_bytes()), &[0], 1),
            Err(MatchError::Refused(_))
        ));
        assert_eq!(matches(&matcher, "<t>t</t>"), [""; 0]);
        assert!(answers(&matcher, "<t>coast</t>").is_empty());
    }
}

#[test]
fn a_file_of_another_kind_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("index");
    file_format::write(
        &*PathIndex::default().compacted().expect("undamaged"),
        &path,
    )
    .expect("written");
    assert!(matches!(
        file_format::open::<KeywordSegment>(&path),
        Err(OpenError::Refused("index.not-an-index", _))
    ));
    file_format::write(
        &*index_of(&[("a", "b")]).compacted().expect("undamaged"),
        &path,
    )
    .expect("written");
    let mut bytes = std::fs::read(&path).expect("read");
    for (at, code) in [(16, "index.too-new"), (100, "index.damaged")] {
        bytes[at] ^= 0x40;
        std::fs::write(&path, &bytes).expect("written");
        match file_format::open::<KeywordSegment>(&path) {
            Err(OpenError::Refused(found, _)) => assert_eq!(found, code),
            _ => panic!("{code} expected"),
        }
        bytes[at] ^= 0x40;
    }
}
