//! Keyword matching on arbitrary input: all engines find the same answers.
//!
//! Lines up to the first empty one are queries; the rest is the document. Its length selects the options of the
//! tokenizer.

#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_fuzz::matching_input::queries_and_document;
use penstock_native::dispatch::document_source::DocumentSource;
use penstock_native::dispatch::event_source::EventSource;
use penstock_native::dispatch::outcome::MatchError;
use penstock_native::engine_selection::{AnyKeywordMatcher, KeywordEngineKind, KeywordPools};
use penstock_native::keywords::store::KeywordIndex;
use penstock_native::reader::ReaderOptions;
use penstock_native::tokenizer::tokenizer_options::TokenizerOptions;

const ENGINES: [KeywordEngineKind; 4] = [
    KeywordEngineKind::Postings,
    KeywordEngineKind::Kale,
    KeywordEngineKind::Kemb { discard: true },
    KeywordEngineKind::Kemb { discard: false },
];

fuzz_target!(|input: &[u8]| {
    let Some((queries, document)) = queries_and_document(input) else {
        return;
    };
    let options = TokenizerOptions::combination(input.len());
    let mut index = KeywordIndex::with_options(options);
    for (number, (id, query)) in queries.enumerate() {
        let added = index.add(&id, query);
        // Create several segments.
        if added.is_ok() && number % 3 == 2 {
            index.snapshot();
        }
    }
    let mut expected = None;
    for engine in ENGINES {
        let options = ReaderOptions::default();
        let matcher = KeywordPools::default().matcher(index.snapshot(), engine, options);
        // Two passes: cold, then warm.
        for _ in 0..2 {
            let found = outcome(&matcher, document);
            assert_eq!(expected.get_or_insert(found.clone()), &found, "{engine:?}");
        }
    }
});

/// The matching subscriptions with their answering elements, or the code of the error.
fn outcome(
    matcher: &AnyKeywordMatcher,
    document: &[u8],
) -> Result<Vec<(u32, Vec<u32>)>, &'static str> {
    let code = |error| match error {
        MatchError::Refused(refusal) => refusal.code,
        MatchError::Io(_) | MatchError::Index(_) => unreachable!("all of it is in memory"),
    };
    let source = &mut DocumentSource::Bytes(document);
    let matching = &mut EventSource::unmapped(source);
    let mut matched = matcher
        .document_matcher()
        .match_document(matching)
        .map_err(code)?
        .handles;
    matched.sort_unstable();
    let source = &mut DocumentSource::Bytes(document);
    let mut answers: Vec<(u32, Vec<u32>)> = match (matcher, matcher.baseline_answers(source)) {
        (_, Some(answered)) => {
            let classes = answered.map_err(code)?.into_iter();
            let by_handle = classes.flat_map(|class| {
                let elements = class.elements;
                let handles = class.handles.into_iter();
                handles
                    .map(move |handle| (handle, elements.clone()))
                    .collect::<Vec<_>>()
            });
            by_handle.collect()
        }
        (AnyKeywordMatcher::Postings(matcher), None) => {
            let source = &mut DocumentSource::Bytes(document);
            let (answers, ..) = matcher
                .answers(source, &matched, usize::MAX)
                .map_err(code)?;
            let answers = answers.iter().map(|answers| {
                let mut elements: Vec<u32> = answers
                    .best
                    .iter()
                    .map(|answer| answer.top.number)
                    .collect();
                elements.sort_unstable();
                elements
            });
            matched.iter().copied().zip(answers).collect()
        }
        _ => unreachable!("only the default engine is no baseline"),
    };
    answers.sort_unstable();
    assert!(answers.iter().map(|answer| &answer.0).eq(&matched));
    Ok(answers)
}
