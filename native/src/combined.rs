//! Path and keyword subscriptions, matched in one reading of a document.

use std::sync::Arc;

use crate::dispatch::event_source::EventSource;
use crate::dispatch::outcome::{MatchError, Matched};
use crate::dispatch::DocumentMatcher;
use crate::keywords::engine::KeywordEngine;
use crate::keywords::matcher::KeywordMatcher;
use crate::matching::engine::PathEngine;
use crate::matching::matcher::PathMatcher;
use crate::subscription_store::subscription_table::SubscriptionTable;

/// A matcher of paths and a matcher of keywords over the same documents.
///
/// The handles of keyword subscriptions follow those of path subscriptions. Under a mapping, paths
/// are matched against the rewritten document and keywords against the original.
pub struct CombinedMatcher<P: PathEngine, K: KeywordEngine> {
    /// Matches paths.
    pub paths: Arc<PathMatcher<P>>,
    /// Matches keywords.
    pub keywords: Arc<KeywordMatcher<K>>,
}

impl<P: PathEngine, K: KeywordEngine> DocumentMatcher for CombinedMatcher<P, K> {
    fn match_document(&self, source: &mut EventSource<'_, '_>) -> Result<Matched, MatchError> {
        let CombinedMatcher { paths, keywords } = self;
        let (mut path_worker, mut keyword_worker) = (paths.pool().take(), keywords.pool().take());
        let header = paths.tested(source.header);
        let mut keyword_handles = Vec::new();
        let mut matched =
            paths.match_by(&mut path_worker, source, |reader, source, path_handler| {
                let names_table = reader.names_table();
                let mut pass = keywords.begin(&mut keyword_worker, names_table, source.header);
                let second = &mut pass.handler();
                let read = reader.read_with_header(source, &header, path_handler, Some(second))?;
                keyword_handles = pass.finish();
                Ok(read)
            })?;
        let base = paths.numbered().count();
        let keyword_handles = keyword_handles.into_iter().map(|handle| base + handle);
        matched.handles.extend(keyword_handles);
        Ok(matched)
    }

    fn id(&self, handle: u32) -> &str {
        match handle.checked_sub(self.paths.numbered().count()) {
            Some(of_keywords) => self.keywords.numbered().id(of_keywords),
            None => self.paths.numbered().id(handle),
        }
    }

    /// Path subscriptions come first, those of a kind in the order in which they were added.
    fn in_order_added(&self, handles: &[u32]) -> Vec<u32> {
        let base = self.paths.numbered().count();
        let (of_paths, mut of_keywords): (Vec<u32>, Vec<u32>) =
            handles.iter().partition(|&&handle| handle < base);
        of_keywords.iter_mut().for_each(|handle| *handle -= base);
        let mut added = self.paths.numbered().in_order_added(&of_paths);
        let keywords = self.keywords.numbered().in_order_added(&of_keywords);
        added.extend(keywords.into_iter().map(|before| base + before));
        added
    }

    fn subscription_tables(&self) -> Vec<&SubscriptionTable> {
        let paths = self.paths.numbered().subscription_tables();
        paths
            .chain(self.keywords.numbered().subscription_tables())
            .collect()
    }
}
