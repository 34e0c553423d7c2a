//! Path matching on arbitrary input: both engines, with a large cache and a tiny one, agree with exact
//! evaluation.
//!
//! Lines up to the first empty one are queries; the rest is the document.

#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_fuzz::matching_input::{namespaces, queries_and_document};
use penstock_native::dispatch::document_source::DocumentSource;
use penstock_native::dispatch::event_source::EventSource;
use penstock_native::dispatch::outcome::MatchError;
use penstock_native::engine_selection::{PathEngineKind, PathPools};
use penstock_native::matching::segment_run::RunLimits;
use penstock_native::matching::worker::MatcherOptions;
use penstock_native::path_index::subscription_index::PathIndex;
use penstock_native::reader::{Reader, ReaderOptions};
use penstock_native::select::{QuerySteps, Selection, SelectionOptions, Selector};
use penstock_native::xpath::parse;

fuzz_target!(|input: &[u8]| {
    let Some((queries, document)) = queries_and_document(input) else {
        return;
    };
    let namespaces = namespaces();
    let mut index = PathIndex::default();
    let mut selectors = Vec::new();
    for (id, text) in queries {
        if let Ok(query) = parse(text, &namespaces) {
            assert!(index.add(&id, text, &namespaces).is_ok());
            selectors.push((id, Selector::compile(&query)));
        }
    }
    let borrowed: Vec<&Selector> = selectors.iter().map(|named| &named.1).collect();
    // Compiled one by one, the queries share nothing, unlike those that the matcher verifies.
    let steps = QuerySteps::new(&borrowed);
    let mut selection = Selection::new(&steps, SelectionOptions::default());
    let read = Reader::new(ReaderOptions::default()).read_slice(document, &mut selection);
    let expected = read.map(|_| {
        let outcomes = selection.finish();
        let matched = selectors
            .iter()
            .zip(outcomes)
            .filter(|(_, outcome)| outcome.matched);
        matched.map(|((id, _), _)| id.clone()).collect::<Vec<_>>()
    });
    let snapshot = index.snapshot();
    for (engine, cache_bytes_max) in [
        (PathEngineKind::Automaton, 1 << 24),
        (PathEngineKind::Automaton, 300),
        (PathEngineKind::YFilter, 1 << 24),
    ] {
        let run = RunLimits {
            cache_bytes_max,
            undecided_max: 1 << 20,
        };
        let options = MatcherOptions {
            reader: ReaderOptions::default(),
            run,
        };
        let matcher = PathPools::default()
            .matcher(snapshot.clone(), engine, options)
            .document_matcher();
        // With a cold cache, then with a warm one.
        for _ in 0..2 {
            let source = &mut DocumentSource::Bytes(document);
            match (
                matcher.match_document(&mut EventSource::unmapped(source)),
                &expected,
            ) {
                (Ok(matched), Ok(expected)) => {
                    let ids = matcher.ids_in_order_added(&matched.handles);
                    assert_eq!(&ids, expected, "{engine:?}");
                }
                (Err(MatchError::Refused(refusal)), Err(expected)) => {
                    assert_eq!(&refusal, expected)
                }
                (found, expected) => panic!("{engine:?}: {found:?}, expected {expected:?}"),
            }
        }
    }
});
