//! Containment among subscriptions: those whose queries contain a query, and those it contains.
//!
//! Both are found by a superset that is cheap to find, and then verified by the relation
//! [`contains`](crate::relations::contains) on queries in normal form:
//!
//! * A query that contains another matches every document that the other matches. A canonical document
//!   of the query, sent through the ordinary matcher, therefore finds all its containers.
//! * A contained query mentions the names that its container requires. Posting lists from names to
//!   queries, made per segment when first needed, find all contained queries.

mod compiled_cache;
mod name_postings;

use std::sync::{Arc, Mutex, PoisonError};

use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::event_source::EventSource;
use crate::dispatch::outcome::MatchError;
use crate::dispatch::DocumentMatcher;
use crate::matching::engine::PathEngine;
use crate::matching::matcher::PathMatcher;
use crate::path_index::segment::Segment;
use crate::reader::{Reader, ReaderOptions};
use crate::relations::{contains, CompiledQuery, Domain};
use crate::select::{QuerySteps, Selection, SelectionOptions, Selector};
use crate::subscription_store::file_format::OpenError;
use crate::subscription_store::header_tests::{HeaderField, HeaderTests};
use crate::subscription_store::numbering::NumberedSnapshot;
use crate::subscription_store::store::IndexSegment;
use compiled_cache::CompiledCache;
use name_postings::NamePostings;

/// Alternatives of a query whose canonical documents are tried until the query matches one.
const CANONICAL_DOCUMENTS_TRIED_MAX: usize = 4;

/// Steps that checking a canonical document may take.
const CHECK_STEPS_MAX: u64 = 1_000_000;

/// What is kept between searches of one index.
#[derive(Default)]
pub struct ContainmentIndex {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    compiled: CompiledCache,
    /// By serial of the segment; only those of the latest snapshot.
    postings: Vec<(u64, Arc<NamePostings>)>,
}

/// A class: the position of its view and its number there.
type Class = (usize, u32);

/// The handles of a class, and those of the classes that contain it.
pub type ContainedClass = (Vec<u32>, Vec<u32>);

impl ContainmentIndex {
    /// The handles of the subscriptions that contain a query with these header tests.
    pub fn containers<E: PathEngine>(
        &self,
        matcher: &PathMatcher<E>,
        query: &CompiledQuery,
        header: &[HeaderField],
    ) -> Result<Vec<u32>, MatchError> {
        let numbered = matcher.numbered();
        let candidates =
            candidate_containers(matcher, query, header)?.unwrap_or_else(|| all_classes(numbered));
        let header = HeaderTests::new(header.to_vec());
        self.verified(numbered, candidates, |tests, compiled| {
            tests.is_subset(&header) && contains(compiled, query)
        })
    }

    /// What contains each of the subscriptions, by class. A class contains itself. Classes without a
    /// canonical document are left out: all others would have to be tested.
    pub fn all_containers<E: PathEngine>(
        &self,
        matcher: &PathMatcher<E>,
    ) -> Result<Vec<ContainedClass>, MatchError> {
        let numbered = matcher.numbered();
        let mut found = Vec::new();
        for (view, class) in all_classes(numbered) {
            let mut own = Vec::new();
            numbered.handle_expansion(view).expand(class, &mut own);
            if own.is_empty() {
                continue;
            }
            let segment = &numbered.snapshot.views[view].segment;
            let query = CompiledQuery::new(segment.query_of(class)?, Domain::default());
            let header = segment.header_tests_of(class);
            let fields = header.clone().into_fields();
            if let Some(candidates) = candidate_containers(matcher, &query, &fields)? {
                let above = self.verified(numbered, candidates, |tests, compiled| {
                    tests.is_subset(&header) && contains(compiled, &query)
                })?;
                found.push((own, above));
            }
        }
        Ok(found)
    }

    /// The handles of the subscriptions that a query with these header tests contains.
    pub fn contained(
        &self,
        numbered: &NumberedSnapshot<Segment>,
        query: &CompiledQuery,
        header: &[HeaderField],
    ) -> Result<Vec<u32>, MatchError> {
        let required = query.required_names();
        let mut candidates = Vec::new();
        for (view, postings) in self.postings(numbered)?.iter().enumerate() {
            let classes = postings.candidates(&required);
            candidates.extend(classes.into_iter().map(|class| (view, class)));
        }
        let header = HeaderTests::new(header.to_vec());
        self.verified(numbered, candidates, |tests, compiled| {
            header.is_subset(tests) && contains(query, compiled)
        })
    }

    /// The posting lists of each view.
    fn postings(
        &self,
        numbered: &NumberedSnapshot<Segment>,
    ) -> Result<Vec<Arc<NamePostings>>, OpenError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current = Vec::new();
        for view in &numbered.snapshot.views {
            let serial = view.segment.serial;
            let known = kept.postings.iter().find(|(known, _)| *known == serial);
            let postings = match known {
                Some((_, postings)) => postings.clone(),
                None => Arc::new(NamePostings::new(&view.segment)?),
            };
            current.push((serial, postings));
        }
        kept.postings.clone_from(&current);
        Ok(current.into_iter().map(|(_, postings)| postings).collect())
    }

    /// The handles of the candidates that pass.
    fn verified(
        &self,
        numbered: &NumberedSnapshot<Segment>,
        candidates: Vec<Class>,
        passes: impl Fn(&HeaderTests, &CompiledQuery) -> bool,
    ) -> Result<Vec<u32>, MatchError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut handles = Vec::new();
        for (view, class) in candidates {
            let segment = &numbered.snapshot.views[view].segment;
            let compiled = kept.compiled.get(segment, class)?;
            if passes(&segment.header_tests_of(class), compiled) {
                numbered.handle_expansion(view).expand(class, &mut handles);
            }
        }
        Ok(handles)
    }
}

/// A document that the query is known to match.
fn canonical_document(query: &CompiledQuery) -> Option<String> {
    let selector = Selector::compile(query.query());
    let mut documents = query
        .canonical_documents()
        .take(CANONICAL_DOCUMENTS_TRIED_MAX);
    documents.find(|document| is_matched(&selector, document))
}

fn is_matched(selector: &Selector, document: &str) -> bool {
    let options = SelectionOptions {
        steps_max: CHECK_STEPS_MAX,
        ..SelectionOptions::default()
    };
    let steps = QuerySteps::new(&[selector]);
    let mut selection = Selection::new(&steps, options);
    let read =
        Reader::new(ReaderOptions::default()).read_slice(document.as_bytes(), &mut selection);
    read.is_ok() && selection.finish().iter().any(|result| result.matched)
}

/// The classes that may contain a query: those that match a canonical document of it; `None` if it
/// has none.
fn candidate_containers<E: PathEngine>(
    matcher: &PathMatcher<E>,
    query: &CompiledQuery,
    header: &[HeaderField],
) -> Result<Option<Vec<Class>>, MatchError> {
    match canonical_document(query) {
        Some(document) if !query.never_matches() => matching_classes(matcher, &document, header),
        _ => Ok(None),
    }
}

/// The classes that match a document or may do so; `None` if the document is refused.
fn matching_classes<E: PathEngine>(
    matcher: &PathMatcher<E>,
    document: &str,
    header: &[HeaderField],
) -> Result<Option<Vec<Class>>, MatchError> {
    let document = &mut DocumentSource::Bytes(document.as_bytes());
    let source = &mut EventSource {
        header,
        ..EventSource::unmapped(document)
    };
    let matched = match matcher.match_document(source) {
        Ok(matched) => matched,
        Err(MatchError::Refused(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let handles = matched.handles.iter().chain(&matched.set_aside);
    let numbered = matcher.numbered();
    let mut classes: Vec<Class> = handles.map(|&handle| numbered.class_of(handle)).collect();
    classes.sort_unstable();
    classes.dedup();
    Ok(Some(classes))
}

fn all_classes(numbered: &NumberedSnapshot<Segment>) -> Vec<Class> {
    let views = numbered.snapshot.views.iter().enumerate();
    views
        .flat_map(|(at, view)| (0..view.segment.class_count() as u32).map(move |class| (at, class)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::worker_pool::Pool;
    use crate::matching::automaton_engine::AutomatonEngine;
    use crate::matching::segment_run::RunLimits;
    use crate::matching::worker::MatcherOptions;
    use crate::path_index::subscription_index::PathIndex;
    use crate::xpath::{normalise, parse, Namespaces};

    fn compiled(query: &str) -> CompiledQuery {
        let query = parse(query, &Namespaces::default()).expect("a query");
        CompiledQuery::new(normalise(query), Domain::default())
    }

    fn ids<'a>(numbered: &'a NumberedSnapshot<Segment>, handles: &[u32]) -> Vec<&'a str> {
        let mut ids: Vec<&str> = handles.iter().map(|&handle| numbered.id(handle)).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn containers_and_contained_queries_are_found_in_all_segments() {
        let mut index = PathIndex::default();
        let none = Namespaces::default();
        for (id, query) in [("wide", "//b"), ("same", "/a/b"), ("removed", "/a/*")] {
            index.add(id, query, &none).expect("a query");
        }
        index.snapshot();
        for (id, query) in [("narrow", "/a/b[c]"), ("never", "/x[@n < 1][@n > 2]")] {
            index.add(id, query, &none).expect("a query");
        }
        index.remove("removed");
        let pool = Arc::new(Pool::new(MatcherOptions {
            reader: ReaderOptions::default(),
            run: RunLimits {
                cache_bytes_max: 1 << 20,
                undecided_max: 1 << 20,
            },
        }));
        let matcher = PathMatcher::<AutomatonEngine>::new(index.snapshot(), pool);
        let numbered = matcher.numbered();
        assert_eq!(numbered.snapshot.views.len(), 2);
        let search = ContainmentIndex::default();
        let query = compiled("/a/b");
        for _ in 0..2 {
            let found = search.containers(&matcher, &query, &[]).expect("found");
            assert_eq!(ids(numbered, &found), ["same", "wide"]);
            let found = search.contained(numbered, &query, &[]).expect("found");
            assert_eq!(ids(numbered, &found), ["narrow", "never", "same"]);
        }
        let all = search.all_containers(&matcher).expect("found");
        let all: Vec<_> = all
            .iter()
            .map(|(own, above)| (ids(numbered, own)[0], ids(numbered, above)))
            .collect();
        assert_eq!(
            all,
            [
                ("wide", vec!["wide"]),
                ("same", vec!["same", "wide"]),
                ("narrow", vec!["narrow", "same", "wide"]),
            ]
        );
    }
}
