use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::combined::{id_of_both, match_both};
use crate::dispatch::event_source::Through;
use crate::dispatch::worker_pool::MatcherOptions;
use crate::keywords::adaptive_reindex::SEARCHES_OBSERVED;
use crate::keywords::store::KeywordIndex;
use crate::keywords::testing::{queries, trees, Document, QueryList, Tree};
use crate::keywords::token_sink::{Mode, QuerySet};
use crate::matching::matcher::{Engine, Matcher};
use crate::matching::segment_run::RunLimits;
use crate::path_index::subscription_index::Index;
use crate::reader::ReaderOptions;
use crate::subscription_store::file_format::{self, OpenError};
use crate::subscription_store::store::AddError;
use crate::xpath::Namespaces;

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

const ENGINES: [KeywordEngine; 5] = [
    KeywordEngine::Postings,
    KeywordEngine::Slca,
    KeywordEngine::Kale,
    KeywordEngine::Kemb { discard: true },
    KeywordEngine::Kemb { discard: false },
];

fn matcher(index: &mut KeywordIndex, engine: KeywordEngine) -> KeywordMatcher {
    let pool = Arc::new(Pool::new(ReaderOptions::default()));
    KeywordMatcher::new(index.snapshot(), engine, pool)
}

fn index_of(queries: &[(&str, &str)]) -> KeywordIndex {
    let mut index = KeywordIndex::default();
    for (id, query) in queries {
        index.add(id, query).expect("a query");
    }
    index
}

fn matches(matcher: &KeywordMatcher, document: &str) -> Vec<String> {
    let matched = matcher
        .matches(&mut Source::Bytes(document.as_bytes()))
        .expect("well-formed");
    let ids = matched.handles.iter();
    let mut ids: Vec<String> = ids
        .map(|&handle| matcher.numbered().id(handle).to_owned())
        .collect();
    ids.sort_unstable();
    ids
}

fn answers(matcher: &KeywordMatcher, document: &str) -> BTreeMap<String, Vec<u32>> {
    let answered = matcher
        .answer_ids(&mut Source::Bytes(document.as_bytes()))
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
    engine: KeywordEngine,
) -> BTreeMap<String, Vec<u32>> {
    let document = Document::new(tree);
    let elements = |query: u32| -> Vec<u32> {
        let (mode, words) = (queries.mode(query), queries.words(query));
        let numbers: Vec<usize> = match (engine, mode) {
            (KeywordEngine::Slca, Mode::Any) if words.len() > 1 => Vec::new(),
            (KeywordEngine::Slca, _) => document.smallest(words),
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
        let matcher = matcher(&mut index_of(&queries), KeywordEngine::Postings);
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
        for engine in ENGINES {
            let matchers = [matcher(&mut index, engine), matcher(&mut loaded, engine)];
            for tree in &documents {
                let expected = expected(&queries, &live, tree, engine);
                let ids: Vec<String> = expected.keys().cloned().collect();
                for matcher in &matchers {
                    prop_assert_eq!(&answers(matcher, &tree.to_xml()), &expected);
                    let mut found = matches(matcher, &tree.to_xml());
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
    let matcher = matcher(&mut index, KeywordEngine::Postings);
    let document = "<news><item>Storm</item> on the coast</news>";
    assert_eq!(matches(&matcher, document), ["a", "b", "c"]);
    assert!(index.remove("b") && !index.remove("b"));
    assert_eq!(matches(&matcher, document), ["a", "b", "c"]);
    let matcher = self::matcher(&mut index, KeywordEngine::Postings);
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
    let matcher = matcher(&mut index, KeywordEngine::Postings);
    let document = "<news><item>Storm</item><place>coast</place><item>gale</item></news>";
    let handles: Vec<u32> = ["b", "c", "d"]
        .map(|id| matcher.numbered().handle(id).expect("there"))
        .to_vec();
    let (answers, segment, summary) = matcher
        .answers(
            &mut Source::Bytes(document.as_bytes()),
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
    for engine in ENGINES {
        let matcher = matcher(&mut index, engine);
        for refused in ["<a>storm <b>coast</a>", "<a>storm gale coas"] {
            let source = || Source::Bytes(refused.as_bytes());
            assert!(matches!(
                matcher.matches(&mut source()),
                Err(MatchError::Refused(_))
            ));
            assert!(matches!(
                matcher.answer_ids(&mut source()),
                Err(MatchError::Refused(_))
            ));
            assert_eq!(matches(&matcher, "<t>t</t>"), [""; 0]);
            assert!(answers(&matcher, "<t>coast</t>").is_empty());
        }
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

#[test]
fn both_kinds_match_in_one_reading() {
    let namespaces = Namespaces::new([], "").expect("sound");
    let mut paths = Index::default();
    for (id, query) in [
        ("p", "//item[@lang='en']"),
        ("q", "//item[. = 'storm']"),
        ("r", "//x"),
    ] {
        assert!(paths.add(id, query, &namespaces).is_ok());
    }
    let mut keywords = index_of(&[("a", "storm item"), ("b", "gale OR coast"), ("c", "gale")]);
    let run = RunLimits {
        cache_bytes_max: 1 << 20,
        undecided_max: 1 << 10,
    };
    for (engine, keyword_engine) in [
        (Engine::Shared, KeywordEngine::Postings),
        (Engine::Shared, KeywordEngine::Kale),
        (Engine::Shared, KeywordEngine::Kemb { discard: true }),
        (Engine::YFilter, KeywordEngine::Slca),
    ] {
        let reader = ReaderOptions::default();
        let pool = Arc::new(Pool::new(MatcherOptions { reader, run }));
        let paths = Matcher::new(paths.snapshot(), engine, pool);
        let keywords = matcher(&mut keywords, keyword_engine);
        for (document, expected, elements) in [
            (
                "<n><item lang='en'>storm</item>coast</n>",
                vec!["a", "b", "p", "q"],
                2,
            ),
            ("<n><item>gale</item><x/></n>", vec!["b", "c", "r"], 3),
            ("<n/>", vec![], 1),
        ] {
            let expected: Vec<&str> = expected
                .into_iter()
                // The baseline answers no OR query.
                .filter(|&id| id != "b" || keyword_engine != KeywordEngine::Slca)
                .collect();
            let source = &mut Source::Bytes(document.as_bytes());
            let matched =
                match_both(&paths, &keywords, &mut Through::plain(source)).expect("well-formed");
            let handles = matched.handles.iter();
            let mut ids: Vec<&str> = handles
                .map(|&handle| id_of_both(&paths, &keywords, handle))
                .collect();
            ids.sort_unstable();
            assert_eq!(ids, expected, "{document}");
            assert_eq!(matched.counters.elements, elements);
        }
        let source = &mut Source::Bytes(b"<n>");
        assert!(match_both(&paths, &keywords, &mut Through::plain(source)).is_err());
    }
}

#[test]
fn what_the_papers_engine_did_is_added_up() {
    let mut index = index_of(&[("a", "x y")]);
    let matcher = matcher(&mut index, KeywordEngine::Kemb { discard: true });
    assert_eq!(matcher.kembs().len(), 1);
    let document = "<d><e>x y</e><e>x</e></d>";
    matches(&matcher, document);
    let once = matcher.counters();
    assert_eq!(once.elements, 3);
    assert!(once.active_states > 0 && once.active_states_peak > 0);
    matches(&matcher, document);
    let twice = matcher.counters();
    assert_eq!(twice.elements, 6);
    assert_eq!(twice.active_states, 2 * once.active_states);
    assert_eq!(twice.active_states_peak, once.active_states_peak);
}
