//! The keyword baselines compared with the definitions, for indexes of any history.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::dispatch::event_source::EventSource;
use crate::dispatch::worker_pool::Pool;
use crate::dispatch::DocumentMatcher;
use crate::keywords::store::KeywordIndex;
use crate::keywords::testing::index_history::{index_histories, BuiltIndexes};
use crate::keywords::testing::{trees, Tree};
use crate::reader::ReaderOptions;

fn matcher<E: BaselineEngine>(index: &mut KeywordIndex, options: E::Options) -> KeywordMatcher<E> {
    let pool = Arc::new(Pool::new(ReaderOptions::default()));
    KeywordMatcher::new(index.snapshot(), options, pool)
}

fn matches(matcher: &dyn DocumentMatcher, document: &str) -> Result<Vec<String>, MatchError> {
    let document = &mut DocumentSource::Bytes(document.as_bytes());
    let matched = matcher.match_document(&mut EventSource::unmapped(document))?;
    let ids = matched.handles.iter();
    let mut ids: Vec<String> = ids.map(|&handle| matcher.id(handle).to_owned()).collect();
    ids.sort_unstable();
    Ok(ids)
}

fn answers<E: BaselineEngine>(
    matcher: &KeywordMatcher<E>,
    document: &str,
) -> Result<BTreeMap<String, Vec<u32>>, MatchError> {
    let answered = find_answers(matcher, &mut DocumentSource::Bytes(document.as_bytes()))?;
    let mut by_id = BTreeMap::new();
    for class in answered {
        for handle in class.handles {
            let id = matcher.id(handle).to_owned();
            assert!(by_id.insert(id, class.elements.clone()).is_none());
        }
    }
    Ok(by_id)
}

fn check_engine<E: BaselineEngine>(
    built: &mut BuiltIndexes,
    options: E::Options,
    documents: &[Tree],
    expected: impl Fn(&BuiltIndexes, &Tree) -> BTreeMap<String, Vec<u32>>,
) -> Result<(), TestCaseError>
where
    E::Options: Copy,
{
    let matchers = built
        .indexes
        .each_mut()
        .map(|index| matcher::<E>(index, options));
    for tree in documents {
        let expected = expected(built, tree);
        let ids: Vec<String> = expected.keys().cloned().collect();
        for matcher in &matchers {
            let found = answers(matcher, &tree.to_xml()).expect("well-formed");
            prop_assert_eq!(&found, &expected);
            let found = matches(matcher, &tree.to_xml()).expect("well-formed");
            prop_assert_eq!(&found, &ids);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn answers_match_the_definition_for_any_index_history(
        history in index_histories(),
        documents in prop::collection::vec(trees(6, 24), 1..3),
    ) {
        let mut built = history.build();
        let clca = BuiltIndexes::expected_answers;
        for discard in [true, false] {
            check_engine::<KembEngine>(&mut built, KembOptions { discard }, &documents, clca)?;
        }
        check_engine::<KaleEngine>(&mut built, LcaRule::Clca, &documents, clca)?;
        let slca = BuiltIndexes::expected_slca_answers;
        check_engine::<KaleEngine>(&mut built, LcaRule::Slca, &documents, slca)?;
    }
}

fn check_rejected_documents<E: BaselineEngine>(options: E::Options) {
    let mut index = KeywordIndex::default();
    for (id, query) in [("a", "storm coast"), ("b", "storm OR gale")] {
        index.add(id, query).expect("a query");
    }
    let matcher = matcher::<E>(&mut index, options);
    for rejected in ["<a>storm <b>coast</a>", "<a>storm gale coas"] {
        assert!(matches!(
            matches(&matcher, rejected),
            Err(MatchError::Refused(_))
        ));
        assert!(matches!(
            answers(&matcher, rejected),
            Err(MatchError::Refused(_))
        ));
        assert!(matches(&matcher, "<t>t</t>")
            .expect("well-formed")
            .is_empty());
        let found = answers(&matcher, "<t>coast</t>").expect("well-formed");
        assert!(found.is_empty());
    }
}

#[test]
fn a_rejected_document_leaves_no_state_behind() {
    check_rejected_documents::<KaleEngine>(LcaRule::Clca);
    check_rejected_documents::<KaleEngine>(LcaRule::Slca);
    check_rejected_documents::<KembEngine>(KembOptions { discard: true });
    check_rejected_documents::<KembEngine>(KembOptions { discard: false });
}

#[test]
fn counters_are_summed_over_documents() {
    let mut index = KeywordIndex::default();
    assert!(index.add("a", "x y").is_ok());
    let pool = Arc::new(Pool::new(ReaderOptions::default()));
    let options = KembOptions { discard: true };
    let matcher = KeywordMatcher::<KembEngine>::new(index.snapshot(), options, pool);
    assert_eq!(matcher.engine().kembs().len(), 1);
    let match_once = || {
        let document = &mut DocumentSource::Bytes(b"<d><e>x y</e><e>x</e></d>");
        let matched = matcher.match_document(&mut EventSource::unmapped(document));
        assert!(matched.is_ok());
    };
    match_once();
    let once = matcher.engine().counters();
    assert_eq!(once.elements, 3);
    assert!(once.active_states > 0 && once.active_states_peak > 0);
    match_once();
    let twice = matcher.engine().counters();
    assert_eq!(twice.elements, 6);
    assert_eq!(twice.active_states, 2 * once.active_states);
    assert_eq!(twice.active_states_peak, once.active_states_peak);
}
