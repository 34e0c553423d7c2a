//! Path and keyword subscriptions matched in one reading, for Python.

use pyo3::prelude::*;
use pyo3::PyClassInitializer;

use super::document_matcher::DocumentMatcher;
use super::keywords::KeywordMatcher;
use super::paths::Matcher;

/// Matches documents against subscriptions of both kinds, reading each document once.
#[pyclass(frozen, extends = DocumentMatcher, module = "penstock._native")]
pub struct CombinedMatcher;

#[pymethods]
impl CombinedMatcher {
    #[new]
    fn new(paths: &Matcher, keywords: &KeywordMatcher) -> PyClassInitializer<CombinedMatcher> {
        let combined = paths.matcher.combined_with(&keywords.matcher);
        DocumentMatcher::of(combined).add_subclass(CombinedMatcher)
    }
}
