use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::engine_selection::{AnyKeywordMatcher, KeywordEngineKind, KeywordPools};
use crate::keywords::adaptive_reindex::SEARCHES_OBSERVED;
use crate::keywords::store::KeywordIndex;
use crate::keywords::testing::{queries, trees, Document, QueryList, Tree};
use crate::keywords::token_sink::{Mode, QuerySet};
use crate::path_index::subscription_index::Index;
use crate::reader::ReaderOptions;
use crate::subscription_store::file_format::{self, OpenError};
use crate::subscription_store::store::AddError;
use crate::with_keyword_matcher;

/// The query as a subscriber would write it; words are named as trees write them.
fn text_of(queries: &QueryList, query: u32) -> String {
    let words: Vec<String> = (queries.words(query).iter().rev())
        .map(|word| format!("W{word}"))
        .collect();
    words.join(match queries.mode(query) {
        Mode::All => " ",
        Mode::Any => " OR ",
    })
}

const ENGINES: &[KeywordEngineKind] = &[
    KeywordEngineKind::Postings,
    #[cfg(feature = "baselines")]
    KeywordEngineKind::Slca,
    #[cfg(feature = "baselines")]
    KeywordEngineKind::Kale,
    #[cfg(feature = "baselines")]
    KeywordEngineKind::Kemb { discard: true },
    #[cfg(feature = "baselines")]
    KeywordEngineKind::Kemb { discard: false },
];

fn is_slca(engine: KeywordEngineKind) -> bool {
    !ENGINES[..1].contains(&engine) && ENGINES[..2].contains(&engine)
}

fn any_matcher(index: &mut KeywordIndex, engine: KeywordEngineKind) -> AnyKeywordMatcher {
    let options = ReaderOptions::default();
    KeywordPools::default().matcher(index.snapshot(), engine, options)
}

/// A matcher with the default engine.
fn matcher(index: &mut KeywordIndex) -> KeywordMatcher {
    let pool = Arc::new(Pool::new(ReaderOptions::default()));
    KeywordMatcher::new(index.snapshot(), (), pool)
}

fn match_bytes(matcher: &dyn DocumentMatcher, document: &[u8]) -> Result<Matched, MatchError> {
    let document = &mut DocumentSource::Bytes(document);
    matcher.match_document(&mut EventSource::unmapped(document))
}

fn index_of(queries: &[(&str, &str)]) -> KeywordIndex {
    let mut index = KeywordIndex::default();
    for (id, query) in queries {
        index.add(id, query).expect("a query");
    }
    index
}

fn matches(matcher: &dyn DocumentMatcher, document: &str) -> Vec<String> {
    let matched = match_bytes(matcher, document.as_bytes()).expect("well-formed");
    let ids = matched.handles.iter();
    let mut ids: Vec<String> = ids.map(|&handle| matcher.id(handle).to_owned()).collect();
    ids.sort_unstable();
    ids
}

fn answers<E: KeywordEngine>(
    matcher: &KeywordMatcher<E>,
    document: &str,
) -> BTreeMap<String, Vec<u32>> {
    let answered = matcher
        .answer_ids(&mut DocumentSource::Bytes(document.as_bytes()))
        .expect("well-formed");
    let mut by_id = BTreeMap::new();
    for each in answered {
        for handle in each.handles {
            let id = matcher.numbered().id(handle).to_owned();
            assert!(by_id.insert(id, each.elements.clone()).is_none());
        }
    }
    by_id
}

/// What the definitions say, by id.
fn expected(
    queries: &QueryList,
    live: &BTreeSet<u32>,
    tree: &Tree,
    engine: KeywordEngineKind,
) -> BTreeMap<String, Vec<u32>> {
    let document = Document::new(tree);
    let elements = |query: u32| -> Vec<u32> {
        let (mode, words) = (queries.mode(query), queries.words(query));
        let numbers: Vec<usize> = match (is_slca(engine), mode) {
            (true, Mode::Any) if words.len() > 1 => Vec::new(),
            (true, _) => document.smallest(words),
            // A single word wants all.
            (_, Mode::Any) if words.len() == 1 => elements_of(&document, Mode::All, words),
            _ => elements_of(&document, mode, words),
        };
        numbers.into_iter().map(|number| number as u32).collect()
    };
    live.iter()
        .map(|&query| (query.to_string(), elements(query)))
        .filter(|(_, elements)| !elements.is_empty())
        .collect()
}

fn elements_of(document: &Document, mode: Mode, words: &[u32]) -> Vec<usize> {
    let answers = document.answers(mode, words).into_iter();
    answers.map(|answer| answer.element).collect()
}

#[test]
fn what_is_learnt_from_documents_changes_no_answer() {
    // All documents have the words that few queries have; few have the others.
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
    for learns in [
        |matcher: &KeywordMatcher, document: &str| matches(matcher, document).len(),
        |matcher: &KeywordMatcher, document: &str| answers(matcher, document).len(),
    ] {
        let matcher = matcher(&mut index_of(&queries));
        let (before, matched) = (answers(&matcher, &rare), matches(&matcher, &rare));
        assert_eq!((before.len(), matched.len()), (30, 30));
        assert_eq!(before["q7"], [61]);
        for _ in 0..SEARCHES_OBSERVED {
            assert_eq!(learns(&matcher, &common), 0);
        }
        let segment = &matcher.numbered().snapshot.views[0].segment;
        assert!(segment.adaptive.get().is_some());
        assert_eq!(answers(&matcher, &rare), before);
        assert_eq!(matches(&matcher, &rare), matched);
    }
}

proptest! {
    #[test]
    fn engines_answer_as_the_definitions_say_however_the_index_came_to_be(
        queries in queries(6, 24),
        // How many are added before the next segment, and what is removed when.
        batches in prop::collection::vec(1..6_usize, 1..12),
        removed in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        documents in prop::collection::vec(trees(6, 24), 1..3),
    ) {
        let mut index = KeywordIndex::default();
        let mut live: BTreeSet<u32> = (0..queries.count() as u32).collect();
        let mut next = 0;
        for size in batches {
            for query in next..(next + size).min(queries.count()) {
                let query = query as u32;
                index.add(&query.to_string(), &text_of(&queries, query)).expect("a query");
            }
            next = (next + size).min(queries.count());
            index.snapshot();
        }
        live.retain(|&query| (query as usize) < next);
        for at in removed.iter().filter(|_| next > 0).map(|at| at.index(next) as u32) {
            prop_assert_eq!(index.remove(&at.to_string()), live.remove(&at));
        }
        prop_assert_eq!(index.count(), live.len());
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("words");
        file_format::write(&*index.compacted(), &path).expect("written");
        let mut loaded = KeywordIndex::from_segment(file_format::open(&path).expect("read"));
        prop_assert_eq!(loaded.count(), live.len());
        for &engine in ENGINES {
            let matchers = [any_matcher(&mut index, engine), any_matcher(&mut loaded, engine)];
            for tree in &documents {
                let expected = expected(&queries, &live, tree, engine);
                let ids: Vec<String> = expected.keys().cloned().collect();
                for matcher in &matchers {
                    let answers =
                        with_keyword_matcher!(matcher, matcher => answers(matcher, &tree.to_xml()));
                    prop_assert_eq!(&answers, &expected);
                    let mut found = matches(&*matcher.document_matcher(), &tree.to_xml());
                    found.sort_unstable();
                    prop_assert_eq!(&found, &ids);
                }
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
    assert_eq!(index.snapshot().views[0].segment.roster.class_count(), 2);
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
fn answers_are_told_in_detail_for_those_who_are_asked_for() {
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
        format!("{}: {}", answer.path, words.join(" "))
    };
    let shown: Vec<Vec<String>> = answers
        .iter()
        .map(|answers| answers.iter().map(shown).collect())
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
fn a_refused_document_leaves_nothing_behind() {
    let mut index = index_of(&[("a", "storm coast"), ("b", "storm OR gale")]);
    for &engine in ENGINES {
        with_keyword_matcher!(&any_matcher(&mut index, engine), matcher => {
            for refused in ["<a>storm <b>coast</a>", "<a>storm gale coas"] {
                assert!(matches!(
                    match_bytes(&**matcher, refused.as_bytes()),
                    Err(MatchError::Refused(_))
                ));
                assert!(matches!(
                    matcher.answer_ids(&mut DocumentSource::Bytes(refused.as_bytes())),
                    Err(MatchError::Refused(_))
                ));
                assert_eq!(matches(&**matcher, "<t>t</t>"), [""; 0]);
                assert!(answers(matcher, "<t>coast</t>").is_empty());
            }
        });
    }
}

#[test]
fn a_file_of_another_kind_is_no_index_of_keywords() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("index");
    file_format::write(&*Index::default().compacted(), &path).expect("written");
    assert!(matches!(
        file_format::open::<KeywordSegment>(&path),
        Err(OpenError::Refused("index.not-an-index", _))
    ));
    file_format::write(&*index_of(&[("a", "b")]).compacted(), &path).expect("written");
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
