//! Selects engines at run time: the production engines, and the baselines where they are compiled
//! in.

use std::sync::Arc;

#[cfg(feature = "baselines")]
use crate::baselines::kale::query_stacks::LcaRule;
#[cfg(feature = "baselines")]
use crate::baselines::keyword_engines::{
    find_answers, AnsweredClass, KaleEngine, KembEngine, KembOptions,
};
#[cfg(feature = "baselines")]
use crate::baselines::yfilter::YFilterEngine;
use crate::combined::CombinedMatcher;
#[cfg(feature = "baselines")]
use crate::dispatch::document_source::DocumentSource;
#[cfg(feature = "baselines")]
use crate::dispatch::outcome::MatchError;
use crate::dispatch::worker_pool::Pools;
use crate::dispatch::DocumentMatcher;
use crate::keywords::engine::PostingsEngine;
use crate::keywords::matcher::KeywordMatcher;
use crate::keywords::store::KeywordSnapshot;
use crate::keywords::worker::KeywordWorker;
use crate::matching::automaton_engine::AutomatonEngine;
use crate::matching::matcher::PathMatcher;
use crate::matching::worker::{MatcherOptions, PathWorker};
use crate::path_index::subscription_index::PathSnapshot;
use crate::reader::ReaderOptions;

/// Engines that match paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEngineKind {
    /// The default engine.
    Automaton,
    /// The baseline.
    #[cfg(feature = "baselines")]
    YFilter,
}

/// Engines that match keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeywordEngineKind {
    /// The default engine.
    Postings,
    /// The baseline that answers with the smallest elements.
    #[cfg(feature = "baselines")]
    Slca,
    /// The paper's stack for each query.
    #[cfg(feature = "baselines")]
    Kale,
    /// The paper's automaton for all queries.
    #[cfg(feature = "baselines")]
    Kemb {
        /// Whether outdated elements are discarded.
        discard: bool,
    },
}

/// The worker pools of an index of paths, by engine.
#[derive(Default)]
pub struct PathPools {
    automaton: Pools<PathWorker<AutomatonEngine>>,
    #[cfg(feature = "baselines")]
    yfilter: Pools<PathWorker<YFilterEngine>>,
}

/// The worker pools of an index of keywords, by engine.
#[derive(Default)]
pub struct KeywordPools {
    postings: Pools<KeywordWorker<PostingsEngine>>,
    #[cfg(feature = "baselines")]
    kale: Pools<KeywordWorker<KaleEngine>>,
    #[cfg(feature = "baselines")]
    kemb: Pools<KeywordWorker<KembEngine>>,
}

/// A path matcher with any engine.
#[derive(Clone)]
pub enum AnyPathMatcher {
    /// With the default engine.
    Automaton(Arc<PathMatcher<AutomatonEngine>>),
    /// With the baseline.
    #[cfg(feature = "baselines")]
    YFilter(Arc<PathMatcher<YFilterEngine>>),
}

/// A keyword matcher with any engine.
#[derive(Clone)]
pub enum AnyKeywordMatcher {
    /// With the default engine.
    Postings(Arc<KeywordMatcher<PostingsEngine>>),
    /// With a stack for each query: KALE or SLCA.
    #[cfg(feature = "baselines")]
    Kale(Arc<KeywordMatcher<KaleEngine>>),
    /// With the paper's automaton for all queries.
    #[cfg(feature = "baselines")]
    Kemb(Arc<KeywordMatcher<KembEngine>>),
}

/// Evaluates an expression on the matcher inside an [`AnyPathMatcher`], whatever its engine.
macro_rules! with_path_matcher {
    ($any:expr, $matcher:ident => $body:expr) => {
        match $any {
            $crate::engine_selection::AnyPathMatcher::Automaton($matcher) => $body,
            #[cfg(feature = "baselines")]
            $crate::engine_selection::AnyPathMatcher::YFilter($matcher) => $body,
        }
    };
}

/// Evaluates an expression on the matcher inside an [`AnyKeywordMatcher`], whatever its engine.
macro_rules! with_keyword_matcher {
    ($any:expr, $matcher:ident => $body:expr) => {
        match $any {
            $crate::engine_selection::AnyKeywordMatcher::Postings($matcher) => $body,
            #[cfg(feature = "baselines")]
            $crate::engine_selection::AnyKeywordMatcher::Kale($matcher) => $body,
            #[cfg(feature = "baselines")]
            $crate::engine_selection::AnyKeywordMatcher::Kemb($matcher) => $body,
        }
    };
}

pub(crate) use {with_keyword_matcher, with_path_matcher};

impl PathPools {
    /// A matcher of `snapshot`.
    pub fn matcher(
        &self,
        snapshot: PathSnapshot,
        engine: PathEngineKind,
        options: MatcherOptions,
    ) -> AnyPathMatcher {
        match engine {
            PathEngineKind::Automaton => {
                let pool = self.automaton.get(options);
                AnyPathMatcher::Automaton(Arc::new(PathMatcher::new(snapshot, pool)))
            }
            #[cfg(feature = "baselines")]
            PathEngineKind::YFilter => {
                let pool = self.yfilter.get(options);
                AnyPathMatcher::YFilter(Arc::new(PathMatcher::new(snapshot, pool)))
            }
        }
    }
}

impl KeywordPools {
    /// A matcher of `snapshot`.
    pub fn matcher(
        &self,
        snapshot: KeywordSnapshot,
        engine: KeywordEngineKind,
        options: ReaderOptions,
    ) -> AnyKeywordMatcher {
        match engine {
            KeywordEngineKind::Postings => {
                let pool = self.postings.get(options);
                AnyKeywordMatcher::Postings(Arc::new(KeywordMatcher::new(snapshot, (), pool)))
            }
            #[cfg(feature = "baselines")]
            KeywordEngineKind::Slca => {
                let pool = self.kale.get(options);
                let rule = LcaRule::Slca;
                AnyKeywordMatcher::Kale(Arc::new(KeywordMatcher::new(snapshot, rule, pool)))
            }
            #[cfg(feature = "baselines")]
            KeywordEngineKind::Kale => {
                let pool = self.kale.get(options);
                let rule = LcaRule::Clca;
                AnyKeywordMatcher::Kale(Arc::new(KeywordMatcher::new(snapshot, rule, pool)))
            }
            #[cfg(feature = "baselines")]
            KeywordEngineKind::Kemb { discard } => {
                let pool = self.kemb.get(options);
                let options = KembOptions { discard };
                AnyKeywordMatcher::Kemb(Arc::new(KeywordMatcher::new(snapshot, options, pool)))
            }
        }
    }
}

impl AnyPathMatcher {
    /// The matcher as a matcher of documents.
    pub fn document_matcher(&self) -> Arc<dyn DocumentMatcher> {
        with_path_matcher!(self, matcher => Arc::clone(matcher) as Arc<dyn DocumentMatcher>)
    }

    /// This matcher and one of keywords as one matcher.
    pub fn combined_with(&self, keywords: &AnyKeywordMatcher) -> Arc<dyn DocumentMatcher> {
        with_path_matcher!(self, paths => with_keyword_matcher!(keywords, keywords => {
            Arc::new(CombinedMatcher {
                paths: Arc::clone(paths),
                keywords: Arc::clone(keywords),
            })
        }))
    }
}

impl AnyKeywordMatcher {
    /// All answers of all subscriptions, if the engine is a baseline.
    #[cfg(feature = "baselines")]
    pub fn baseline_answers(
        &self,
        document: &mut DocumentSource<'_>,
    ) -> Option<Result<Vec<AnsweredClass>, MatchError>> {
        match self {
            AnyKeywordMatcher::Postings(_) => None,
            AnyKeywordMatcher::Kale(matcher) => Some(find_answers(matcher, document)),
            AnyKeywordMatcher::Kemb(matcher) => Some(find_answers(matcher, document)),
        }
    }

    /// The matcher as a matcher of documents.
    pub fn document_matcher(&self) -> Arc<dyn DocumentMatcher> {
        with_keyword_matcher!(self, matcher => Arc::clone(matcher) as Arc<dyn DocumentMatcher>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(not(feature = "baselines"))]
    use crate::dispatch::document_source::DocumentSource;
    use crate::dispatch::event_source::EventSource;
    use crate::keywords::store::KeywordIndex;
    use crate::matching::segment_run::RunLimits;
    use crate::path_index::subscription_index::PathIndex;
    use crate::xpath::Namespaces;

    #[test]
    fn both_kinds_match_in_one_reading() {
        let namespaces = Namespaces::new([], "").expect("sound");
        let mut paths = PathIndex::default();
        for (id, query) in [
            ("p", "//item[@lang='en']"),
            ("q", "//item[. = 'storm']"),
            ("r", "//x"),
        ] {
            assert!(paths.add(id, query, &namespaces).is_ok());
        }
        let mut keywords = KeywordIndex::default();
        for (id, query) in [("a", "storm item"), ("b", "gale OR coast"), ("c", "gale")] {
            assert!(keywords.add(id, query).is_ok());
        }
        let run = RunLimits {
            cache_bytes_max: 1 << 20,
            undecided_max: 1 << 10,
        };
        for (engine, keyword_engine) in [
            (PathEngineKind::Automaton, KeywordEngineKind::Postings),
            #[cfg(feature = "baselines")]
            (PathEngineKind::Automaton, KeywordEngineKind::Kale),
            #[cfg(feature = "baselines")]
            (
                PathEngineKind::Automaton,
                KeywordEngineKind::Kemb { discard: true },
            ),
            #[cfg(feature = "baselines")]
            (PathEngineKind::YFilter, KeywordEngineKind::Slca),
        ] {
            let reader = ReaderOptions::default();
            let options = MatcherOptions { reader, run };
            let paths = PathPools::default().matcher(paths.snapshot(), engine, options);
            let options = ReaderOptions::default();
            let pools = KeywordPools::default();
            let keywords = pools.matcher(keywords.snapshot(), keyword_engine, options);
            let combined = paths.combined_with(&keywords);
            let match_bytes = |document: &[u8]| {
                let document = &mut DocumentSource::Bytes(document);
                combined.match_document(&mut EventSource::unmapped(document))
            };
            for (document, expected, elements) in [
                (
                    "<n><item lang='en'>storm</item>coast</n>",
                    vec!["a", "b", "p", "q"],
                    2,
                ),
                ("<n><item>gale</item><x/></n>", vec!["b", "c", "r"], 3),
                ("<n/>", vec![], 1),
            ] {
                let expected: Vec<&str> = expected
                    .into_iter()
                    // The baseline answers no OR query.
                    .filter(|&id| id != "b" || engine == PathEngineKind::Automaton)
                    .collect();
                let matched = match_bytes(document.as_bytes()).expect("well-formed");
                let handles = matched.handles.iter();
                let mut ids: Vec<&str> = handles.map(|&handle| combined.id(handle)).collect();
                ids.sort_unstable();
                assert_eq!(ids, expected, "{document}");
                assert_eq!(matched.counters.elements, elements);
            }
            assert!(match_bytes(b"<n>").is_err());
        }
    }
}
