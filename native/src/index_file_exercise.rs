//! Uses everything in an index file: what tests and the fuzz target of index files run.

use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::event_source::EventSource;
use crate::dispatch::outcome::MatchError;
use crate::dispatch::DocumentMatcher;
use crate::engine_selection::{
    with_keyword_matcher, with_path_matcher, KeywordEngineKind, KeywordPools, PathEngineKind,
    PathPools,
};
use crate::keywords::segment::KeywordSegment;
use crate::keywords::store::KeywordIndex;
use crate::matching::segment_run::RunLimits;
use crate::matching::worker::MatcherOptions;
use crate::path_index::segment::Segment;
use crate::path_index::subscription_index::PathIndex;
use crate::reader::ReaderOptions;
use crate::subscription_store::file_format::{self, OpenError};
use crate::subscription_store::numbering::NumberedSnapshot;
use crate::subscription_store::store::{AddError, BuildSegment, IndexSegment, SubscriptionStore};
use crate::xpath::Namespaces;

/// Subscriptions of a file that are used one by one.
const EXERCISED_MAX: u32 = 50;

/// The ids that each document matches, or `None` where the document is refused.
pub type MatchedIds = Vec<Option<Vec<String>>>;

/// Opens the content of a file of path subscriptions, matches, selects, explains and changes it.
pub fn exercise_paths(content: &[u8], documents: &[&[u8]]) -> Result<MatchedIds, OpenError> {
    let mut index = PathIndex::from_segment(file_format::from_bytes::<Segment>(content)?);
    let options = MatcherOptions {
        reader: ReaderOptions::default(),
        run: RunLimits {
            cache_bytes_max: 1 << 24,
            undecided_max: 1 << 16,
        },
    };
    let pools = PathPools::default();
    let matcher = pools.matcher(index.snapshot(), PathEngineKind::Automaton, options.clone());
    let matched = match_all(&*matcher.document_matcher(), documents)?;
    with_path_matcher!(&matcher, matcher => {
        for handle in exercised(matcher.numbered()) {
            for document in documents {
                let selected = matcher.select(&mut DocumentSource::Bytes(document), &[handle]);
                unless_damaged(selected)?;
                unless_damaged(matcher.explain(&mut DocumentSource::Bytes(document), handle))?;
            }
        }
    });
    let none = Namespaces::default();
    change(&mut index, |index, id| {
        index.add(id, "/a[b = 'new']", &none)
    });
    let matcher = pools.matcher(index.snapshot(), PathEngineKind::Automaton, options);
    match_all(&*matcher.document_matcher(), documents)?;
    file_format::from_bytes::<Segment>(&file_format::to_bytes(&*index.compacted()?))?;
    Ok(matched)
}

/// Opens the content of a file of keyword subscriptions, matches, answers and changes it.
pub fn exercise_keywords(content: &[u8], documents: &[&[u8]]) -> Result<MatchedIds, OpenError> {
    let mut index = KeywordIndex::from_segment(file_format::from_bytes::<KeywordSegment>(content)?);
    let (pools, options) = (KeywordPools::default(), ReaderOptions::default());
    let engine = KeywordEngineKind::Postings;
    let matcher = pools.matcher(index.snapshot(), engine, options.clone());
    let matched = match_all(&*matcher.document_matcher(), documents)?;
    with_keyword_matcher!(&matcher, matcher => {
        for handle in exercised(matcher.numbered()) {
            for document in documents {
                let document = &mut DocumentSource::Bytes(document);
                unless_damaged(matcher.answers(document, &[handle], 3))?;
            }
        }
    });
    change(&mut index, |index, id| index.add(id, "storm OR gale"));
    let matcher = pools.matcher(index.snapshot(), engine, options);
    match_all(&*matcher.document_matcher(), documents)?;
    file_format::from_bytes::<KeywordSegment>(&file_format::to_bytes(&*index.compacted()?))?;
    Ok(matched)
}

fn match_all(matcher: &dyn DocumentMatcher, documents: &[&[u8]]) -> Result<MatchedIds, OpenError> {
    let match_one = |document: &&[u8]| {
        let source = &mut DocumentSource::Bytes(document);
        let matched = matcher.match_document(&mut EventSource::unmapped(source));
        Ok(unless_damaged(matched)?.map(|matched| {
            let ids = matcher.ids_in_order_added(&matched.handles);
            ids.into_iter().map(str::to_owned).collect()
        }))
    };
    documents.iter().map(match_one).collect()
}

/// The value, or `None` for a refused document.
fn unless_damaged<T>(result: Result<T, MatchError>) -> Result<Option<T>, OpenError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(MatchError::Refused(_)) => Ok(None),
        Err(MatchError::Index(error)) => Err(error),
        Err(MatchError::Io(error)) => Err(OpenError::Io(error)),
    }
}

/// Handles of some subscriptions; all of them have an id, a source and a row.
fn exercised<S: IndexSegment>(numbered: &NumberedSnapshot<S>) -> Vec<u32> {
    let handles: Vec<u32> = (0..numbered.count()).collect();
    for &handle in &handles {
        let id = numbered.id(handle);
        let found = numbered.handle(id).expect("each id is found");
        // Manipulated ids may be equal.
        assert_eq!(numbered.id(found), id);
        numbered.source(handle);
    }
    handles.into_iter().take(EXERCISED_MAX as usize).collect()
}

/// Removes a subscription and adds another.
fn change<B: BuildSegment>(
    index: &mut SubscriptionStore<B>,
    add: impl Fn(&mut SubscriptionStore<B>, &str) -> Result<(), AddError>,
) {
    let first = index.snapshot().views.first().map(|view| {
        let ids = &view.segment.subscriptions().ids;
        (ids.count() > 0).then(|| ids.get(0).to_owned())
    });
    if let Some(id) = first.flatten() {
        assert!(index.query(&id).is_some() && index.remove(&id));
        // Refused if another subscription has the same id.
        let _ = add(index, &id);
    }
}

#[cfg(test)]
mod tests;
