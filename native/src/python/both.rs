//! Subscriptions of paths and of keywords, matched in one reading, for Python.

use std::ops::Deref;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::PyClassInitializer;

use super::document_matcher::{DocumentMatcher, Matches};
use super::keywords::KeywordMatcher;
use super::matching::Matcher;
use super::outcomes::Ids;
use crate::combined::{id_of_both, match_both, order_of_both};
use crate::dispatch::document_source::{MatchError, Source};
use crate::dispatch::event_source::Through;
use crate::keywords::matcher::KeywordMatcher as NativeKeywordMatcher;
use crate::matching::matcher::{Matched, Matcher as NativeMatcher};

/// Matchers of both kinds, whose handles go on from one to the other.
pub(super) struct Both<P, K>(pub P, pub K);

impl<P, K> Ids for Both<P, K>
where
    P: Deref<Target = NativeMatcher> + Send + Sync,
    K: Deref<Target = NativeKeywordMatcher> + Send + Sync,
{
    fn id(&self, handle: u32) -> &str {
        id_of_both(&self.0, &self.1, handle)
    }

    fn order(&self, handle: u32) -> u32 {
        order_of_both(&self.0, &self.1, handle)
    }
}

impl Matches for Both<Arc<NativeMatcher>, Arc<NativeKeywordMatcher>> {
    fn matches(&self, source: &mut Source<'_>) -> Result<Matched, MatchError> {
        match_both(&self.0, &self.1, &mut Through::plain(source))
    }
}

/// Matches documents against subscriptions of both kinds, each document read once.
#[pyclass(frozen, extends = DocumentMatcher, module = "penstock._native")]
pub struct BothMatcher;

#[pymethods]
impl BothMatcher {
    #[new]
    fn new(paths: &Matcher, keywords: &KeywordMatcher) -> PyClassInitializer<BothMatcher> {
        let both = Both(Arc::clone(&paths.matcher), Arc::clone(&keywords.matcher));
        DocumentMatcher::of(Arc::new(both)).add_subclass(BothMatcher)
    }
}
