//! Subscriptions of paths and of keywords, matched in one reading of a document.

use crate::dispatch::document_source::MatchError;
use crate::dispatch::event_source::Through;
use crate::dispatch::worker_pool::Worker;
use crate::events::Handler;
use crate::keywords::engines::Reading;
use crate::keywords::matcher::KeywordMatcher;
use crate::matching::matcher::{Matched, Matcher};

/// A document that is read for paths.
struct ForPaths<'a, 't, 's> {
    paths: &'a Matcher,
    worker: &'a mut Worker,
    through: &'a mut Through<'t, 's>,
}

impl Reading for ForPaths<'_, '_, '_> {
    type Read = Matched;

    fn names_table(&self) -> u64 {
        self.worker.names_table()
    }

    fn read<H: Handler>(&mut self, handler: &mut H) -> Result<Matched, MatchError> {
        self.paths
            .matches_by(self.worker, self.through, Some(handler))
    }
}

/// The subscriptions of either kind that match a document; of keywords, as it is. Handles of keyword
/// subscriptions come after all those of paths.
pub fn match_both(
    paths: &Matcher,
    keywords: &KeywordMatcher,
    through: &mut Through<'_, '_>,
) -> Result<Matched, MatchError> {
    let mut worker = paths.pool().take();
    let matched = keywords.matches_beside(&mut ForPaths {
        paths,
        worker: &mut worker,
        through,
    });
    paths.pool().put(worker);
    let (of_keywords, mut matched) = matched?;
    let base = paths.numbered().count();
    matched
        .handles
        .extend(of_keywords.into_iter().map(|handle| base + handle));
    Ok(matched)
}

/// The id of a handle that [`match_both`] gave.
pub fn id_of_both<'a>(paths: &'a Matcher, keywords: &'a KeywordMatcher, handle: u32) -> &'a str {
    match handle.checked_sub(paths.numbered().count()) {
        Some(of_keywords) => keywords.numbered().id(of_keywords),
        None => paths.numbered().id(handle),
    }
}

/// The order of the handles that [`match_both`] gives: subscriptions of paths first, and those of a kind
/// as they were added.
pub fn order_of_both(paths: &Matcher, keywords: &KeywordMatcher, handle: u32) -> u32 {
    let of_paths = paths.numbered().count();
    match handle.checked_sub(of_paths) {
        Some(of_keywords) => of_paths + keywords.numbered().added_before(of_keywords),
        None => paths.numbered().added_before(handle),
    }
}
