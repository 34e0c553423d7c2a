//! The matcher on anything: both engines, with room and without, find what exact evaluation finds.
//!
//! Lines up to the first empty one are queries; the rest is the document.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use penstock_native::path_index::subscription_index::Index;
use penstock_native::matching::matcher::{Engine, Matcher};
use penstock_native::dispatch::worker_pool::{MatcherOptions, Pool};
use penstock_native::matching::segment_run::RunLimits;
use penstock_native::dispatch::document_source::{MatchError, Source};
use penstock_native::reader::{Reader, ReaderOptions};
use penstock_native::select::{Options, Selection, Selector};
use penstock_native::xpath::{parse, Namespaces};

const QUERIES_MAX: usize = 20;

fuzz_target!(|input: &[u8]| {
    let Some(end) = input.windows(2).position(|two| two == b"\n\n") else {
        return;
    };
    let (Ok(queries), document) = (std::str::from_utf8(&input[..end]), &input[end + 2..]) else {
        return;
    };
    let namespaces = Namespaces::new([("p", "urn:p"), ("q", "urn:q")], "").expect("sound");
    let mut index = Index::default();
    let mut selectors = Vec::new();
    for (number, text) in queries.lines().take(QUERIES_MAX).enumerate() {
        if let Ok(query) = parse(text, &namespaces) {
            assert!(index.add(&number.to_string(), text, &namespaces).is_ok());
            selectors.push((number.to_string(), Selector::compile(&query)));
        }
    }
    let borrowed: Vec<&Selector> = selectors.iter().map(|named| &named.1).collect();
    let mut selection = Selection::new(&borrowed, Options::default());
    let read = Reader::new(ReaderOptions::default()).read_slice(document, &mut selection);
    let expected = read.map(|_| {
        let outcomes = selection.finish();
        let matched = selectors.iter().zip(outcomes).filter(|(_, outcome)| outcome.matched);
        matched.map(|((id, _), _)| id.clone()).collect::<Vec<_>>()
    });
    let snapshot = index.snapshot();
    for (engine, cache_bytes_max) in
        [(Engine::Shared, 1 << 24), (Engine::Shared, 300), (Engine::YFilter, 1 << 24)]
    {
        let run = RunLimits { cache_bytes_max, undecided_max: 1 << 20 };
        let pool = Pool::new(MatcherOptions { reader: ReaderOptions::default(), run });
        let matcher = Matcher::new(snapshot.clone(), engine, Arc::new(pool));
        // Twice: cold, then warm.
        for _ in 0..2 {
            match (matcher.matches(&mut Source::Bytes(document)), &expected) {
                (Ok(matched), Ok(expected)) => {
                    let mut handles = matched.handles;
                    handles.sort_unstable();
                    let ids: Vec<&str> = handles.iter().map(|&handle| matcher.numbered().id(handle)).collect();
                    assert_eq!(&ids, expected, "{engine:?}");
                }
                (Err(MatchError::Refused(refusal)), Err(expected)) => assert_eq!(&refusal, expected),
                (found, expected) => panic!("{engine:?}: {found:?}, expected {expected:?}"),
            }
        }
    }
});
