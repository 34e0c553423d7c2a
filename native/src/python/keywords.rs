//! Keyword subscriptions for Python. Whatever takes time runs with the interpreter released.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::answers::{answer_tuple, AnswerTuple, PathReturns};
#[cfg(not(feature = "baselines"))]
use super::baseline_missing;
use super::buffers::BufferBytes;
use super::document_matcher::DocumentMatcher;
use super::indexes::{
    add_each, handles_of, header_tests_of, index_error, loaded_tuple, write_error, LoadedTuple,
    QueryErrorTuple,
};
use super::outcomes::or_refusal;
use super::reader::{options, summary_tuple, RefusalTuple, SummaryTuple};
#[cfg(feature = "baselines")]
use crate::baselines::kemb::nfa::{NFA_STATES_MAX, NFA_WORDS_MAX};
#[cfg(feature = "baselines")]
use crate::baselines::kemb::Kemb;
#[cfg(feature = "baselines")]
use crate::baselines::keyword_engines::KembEngine;
#[cfg(feature = "baselines")]
use crate::baselines::limits::{ANSWERS_MAX, RETAINED_MAX};
use crate::dispatch::document_source::DocumentSource;
use crate::engine_selection::{
    with_keyword_matcher, AnyKeywordMatcher, KeywordEngineKind, KeywordPools,
};
use crate::keywords::answer_engine::{ANSWER_BYTES_MAX, WINDOW_MAX, WITNESSES_MAX};
use crate::keywords::element_metadata::TEXT_RANGES_MAX;
use crate::keywords::phrase_automaton::PHRASE_WORDS_MAX;
use crate::keywords::query::{parse, KEYWORDS_MAX, QUERY_CHARACTERS_MAX};
use crate::keywords::segment::KeywordSegment;
use crate::keywords::store::KeywordIndex as NativeIndex;
use crate::keywords::token_sink::Mode;
use crate::subscription_store::file_format;
use crate::subscription_store::header_tests::HeaderField;
use crate::subscription_store::numbering::NumberedSnapshot;
use crate::tokenizer::tokenizer_options::TokenizerOptions;
use crate::tokenizer::word_tokenizer::{tokens_of, WORD_BYTES_MAX};

/// Folded words and phrases, ascending, and `all` or `any`; or code, message and offset in characters.
type ParsedTuple = (
    Option<(Vec<String>, &'static str)>,
    Option<(&'static str, String, usize)>,
);

/// Number of answers and the best ones by subscription, the reader's summary, and why the document was
/// rejected.
type AnswersTuple = (
    Vec<(u64, Vec<AnswerTuple>)>,
    Option<SummaryTuple>,
    Option<RefusalTuple>,
);

/// The path returns by subscription, the reader's summary, and why the document was rejected.
type PathReturnsTuple = (
    Vec<Option<PathReturns>>,
    Option<SummaryTuple>,
    Option<RefusalTuple>,
);

fn mode_text(mode: Mode) -> &'static str {
    match mode {
        Mode::All => "all",
        Mode::Any => "any",
    }
}

/// The options of the tokenizer, in the order of the fields of [`TokenizerOptions`].
type OptionFlags = [bool; TokenizerOptions::COUNT];

/// Tokenizes a text.
#[pyfunction]
pub fn words(text: &str, options: OptionFlags) -> Vec<String> {
    tokens_of(text, TokenizerOptions::from_flags(options))
}

/// Parses a query. Returns its keywords and `all` or `any`; or code, message and offset in characters of
/// the error.
#[pyfunction]
pub fn parse_keywords(text: &str, options: OptionFlags) -> ParsedTuple {
    match parse(text, TokenizerOptions::from_flags(options)) {
        Ok(query) => (Some((query.keywords, mode_text(query.mode))), None),
        Err(refusal) => (
            None,
            Some((refusal.code, refusal.message, refusal.offset_characters)),
        ),
    }
}

/// Limits by name.
#[pyfunction]
pub fn keyword_limits() -> Vec<(&'static str, usize)> {
    vec![
        ("KEYWORD_QUERY_CHARACTERS_MAX", QUERY_CHARACTERS_MAX),
        ("KEYWORDS_MAX", KEYWORDS_MAX),
        ("PHRASE_WORDS_MAX", PHRASE_WORDS_MAX),
        ("WORD_BYTES_MAX", WORD_BYTES_MAX),
        ("KEYWORD_WINDOW_MAX", WINDOW_MAX),
        ("KEYWORD_WITNESSES_MAX", WITNESSES_MAX),
        ("KEYWORD_TEXT_RANGES_MAX", TEXT_RANGES_MAX),
        ("KEYWORD_ANSWER_BYTES_MAX", ANSWER_BYTES_MAX),
        #[cfg(feature = "baselines")]
        ("KEYWORD_ANSWERS_MAX", ANSWERS_MAX),
        #[cfg(feature = "baselines")]
        ("KEMB_WORDS_MAX", NFA_WORDS_MAX),
        #[cfg(feature = "baselines")]
        ("KEMB_STATES_MAX", NFA_STATES_MAX),
        #[cfg(feature = "baselines")]
        ("KEMB_KEPT_MAX", RETAINED_MAX),
    ]
}

/// A mutable set of keyword subscriptions.
#[pyclass(frozen, module = "penstock._native")]
pub struct KeywordIndex {
    index: Mutex<NativeIndex>,
    pools: KeywordPools,
}

impl KeywordIndex {
    fn of_segment(segment: KeywordSegment) -> KeywordIndex {
        KeywordIndex::of(NativeIndex::from_segment(segment))
    }

    fn of(index: NativeIndex) -> KeywordIndex {
        KeywordIndex {
            index: Mutex::new(index),
            pools: KeywordPools::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, NativeIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl KeywordIndex {
    #[new]
    fn new(options: OptionFlags) -> KeywordIndex {
        KeywordIndex::of(NativeIndex::with_options(TokenizerOptions::from_flags(
            options,
        )))
    }

    /// How queries and documents are tokenized.
    fn options(&self, py: Python<'_>) -> OptionFlags {
        py.detach(|| self.lock().options().flags())
    }

    /// Opens an index file. Returns the index, or the code and message of the error.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<LoadedTuple<KeywordIndex>> {
        let opened = py.detach(|| file_format::open(&path));
        loaded_tuple(&path, opened.map(KeywordIndex::of_segment))
    }

    /// The index in the content of an index file; or the code and message of the error.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: BufferBytes) -> PyResult<LoadedTuple<KeywordIndex>> {
        let content: &[u8] = &content;
        let opened = py.detach(|| file_format::from_bytes(content));
        loaded_tuple(Path::new(""), opened.map(KeywordIndex::of_segment))
    }

    /// The content of the index file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let content = py.detach(|| Ok(file_format::to_bytes(&*self.lock().compacted()?)));
        Ok(PyBytes::new(py, &content.map_err(index_error)?))
    }

    /// Writes an index file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let segment = self.lock().compacted()?;
            Ok(file_format::write(&*segment, &path)?)
        })
        .map_err(|error| write_error(&path, error))
    }

    /// Adds all valid queries; returns `(position, code, message, offset in characters)` of the others.
    #[pyo3(signature = (ids, queries, header_tests=Vec::new()))]
    fn add_many(
        &self,
        py: Python<'_>,
        ids: Vec<String>,
        queries: Vec<String>,
        header_tests: Vec<Vec<HeaderField>>,
    ) -> PyResult<Vec<QueryErrorTuple>> {
        if ids.len() != queries.len() {
            return Err(PyValueError::new_err(
                "the numbers of ids and queries differ",
            ));
        }
        Ok(py.detach(|| {
            let mut index = self.lock();
            add_each(&ids, &queries, header_tests, |id, query, header| {
                index.add_where(id, query, header)
            })
        }))
    }

    /// Removes a subscription; returns whether it existed.
    fn remove(&self, py: Python<'_>, id: &str) -> bool {
        py.detach(|| self.lock().remove(id))
    }

    /// Whether a subscription exists.
    fn contains(&self, py: Python<'_>, id: &str) -> bool {
        py.detach(|| self.lock().contains(id))
    }

    /// The original query text of a subscription.
    fn query(&self, py: Python<'_>, id: &str) -> Option<String> {
        py.detach(|| self.lock().query(id))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.lock().count())
    }

    /// `(subscriptions, distinct queries, segments)`
    fn stats(&self, py: Python<'_>) -> (usize, usize, usize) {
        py.detach(|| {
            let mut index = self.lock();
            let views = index.snapshot().views;
            let classes = views
                .iter()
                .map(|view| view.segment.subscriptions.class_count())
                .sum();
            (index.count(), classes, views.len())
        })
    }

    /// Creates a matcher of the current subscriptions; `discard` only affects the engine `kemb`.
    fn matcher(
        &self,
        py: Python<'_>,
        engine: &str,
        limits: &Bound<'_, PyDict>,
        discard: bool,
    ) -> PyResult<Py<KeywordMatcher>> {
        let engine = match (engine, discard) {
            ("postings", _) => KeywordEngineKind::Postings,
            #[cfg(feature = "baselines")]
            ("slca", _) => KeywordEngineKind::Slca,
            #[cfg(feature = "baselines")]
            ("kale", _) => KeywordEngineKind::Kale,
            #[cfg(feature = "baselines")]
            ("kemb", discard) => KeywordEngineKind::Kemb { discard },
            #[cfg(not(feature = "baselines"))]
            ("slca" | "kale" | "kemb", _) => return Err(baseline_missing(engine)),
            (other, _) => return Err(PyValueError::new_err(format!("unknown engine {other:?}"))),
        };
        let options = options(limits, Vec::new(), false)?;
        let matcher = py.detach(|| {
            let snapshot = self.lock().snapshot();
            self.pools.matcher(snapshot, engine, options)
        });
        let base = DocumentMatcher::of(matcher.document_matcher());
        Py::new(py, base.add_subclass(KeywordMatcher { matcher }))
    }
}

/// Matches documents against a snapshot of keyword subscriptions.
#[pyclass(frozen, extends = DocumentMatcher, module = "penstock._native")]
pub struct KeywordMatcher {
    pub(super) matcher: AnyKeywordMatcher,
}

impl KeywordMatcher {
    fn numbered(&self) -> &NumberedSnapshot<KeywordSegment> {
        with_keyword_matcher!(&self.matcher, matcher => matcher.numbered())
    }
}

#[pymethods]
impl KeywordMatcher {
    /// The answers of each of these subscriptions: their number and the best ones, at most `limit`.
    /// Also the reader's summary, or why the document was rejected.
    #[pyo3(signature = (document, ids, limit))]
    fn answers(
        &self,
        py: Python<'_>,
        document: BufferBytes,
        ids: Vec<String>,
        limit: Option<usize>,
    ) -> PyResult<AnswersTuple> {
        let bytes: &[u8] = &document;
        let handles = handles_of(self.numbered(), &ids)?;
        let limit = limit.unwrap_or(usize::MAX);
        let found = py.detach(|| {
            let document = &mut DocumentSource::Bytes(bytes);
            let (answers, segment, summary) = with_keyword_matcher!(
                &self.matcher,
                matcher => matcher.answers(document, &handles, limit)
            )?;
            let tuples = answers.into_iter().map(|answers| {
                let tuples = answers.best.iter();
                let tuples = tuples.map(|answer| answer_tuple(&segment, answer));
                (answers.count, tuples.collect())
            });
            Ok((tuples.collect(), summary))
        });
        let (found, refusal) = or_refusal(found)?;
        let (answers, summary) = found.unzip();
        Ok((
            answers.unwrap_or_default(),
            summary.map(summary_tuple),
            refusal,
        ))
    }

    /// The path returns of each of these subscriptions, and the reader's summary; or why the
    /// document was rejected. `None` for a subscription whose answers take too many steps or bytes.
    fn path_returns(
        &self,
        py: Python<'_>,
        document: BufferBytes,
        ids: Vec<String>,
    ) -> PyResult<PathReturnsTuple> {
        let bytes: &[u8] = &document;
        let handles = handles_of(self.numbered(), &ids)?;
        let found = py.detach(|| {
            let document = &mut DocumentSource::Bytes(bytes);
            with_keyword_matcher!(&self.matcher, matcher => matcher.path_returns(document, &handles))
        });
        let (found, refusal) = or_refusal(found)?;
        let (answers, summary) = found.unzip();
        let answers = answers.unwrap_or_default().into_iter();
        let returns =
            answers.map(|answers| (!answers.is_abandoned).then(|| PathReturns::of(answers)));
        Ok((returns.collect(), summary.map(summary_tuple), refusal))
    }

    /// All answers that a baseline engine finds, for comparisons: the numbers of the answering
    /// elements by subscription, the root being 0; or why the document was rejected.
    #[cfg(feature = "baselines")]
    fn baseline_answers<'py>(
        &self,
        py: Python<'py>,
        document: BufferBytes,
    ) -> PyResult<(Bound<'py, PyDict>, Option<RefusalTuple>)> {
        let bytes: &[u8] = &document;
        let found = py.detach(|| {
            let document = &mut DocumentSource::Bytes(bytes);
            self.matcher.baseline_answers(document)
        });
        let found = found.ok_or_else(|| PyValueError::new_err("the engine is not a baseline"))?;
        let (answered, refusal) = or_refusal(found)?;
        let numbers = PyDict::new(py);
        for class in answered.unwrap_or_default() {
            let elements = pyo3::types::PyTuple::new(py, class.elements)?;
            for handle in class.handles {
                numbers.set_item(self.numbered().id(handle), &elements)?;
            }
        }
        Ok((numbers, refusal))
    }

    /// Sizes and counters of the engine `kemb`, summed over all documents; empty for other engines.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        #[cfg(feature = "baselines")]
        if let AnyKeywordMatcher::Kemb(matcher) = &self.matcher {
            kemb_counters(&dict, matcher.engine())?;
        }
        Ok(dict)
    }

    /// Whether some subscription tests header fields.
    fn tests_headers(&self) -> bool {
        with_keyword_matcher!(&self.matcher, matcher => matcher.tests_headers())
    }

    /// The header tests of a subscription: fields and values.
    fn header_tests(&self, id: &str) -> Vec<HeaderField> {
        header_tests_of(self.numbered(), id)
    }

    /// The original query text of a subscription.
    fn query(&self, id: &str) -> Option<&str> {
        let numbered = self.numbered();
        numbered.handle(id).map(|handle| numbered.source(handle))
    }
}

#[cfg(feature = "baselines")]
fn kemb_counters(dict: &Bound<'_, PyDict>, engine: &KembEngine) -> PyResult<()> {
    let sum = |count: fn(&Kemb) -> usize| engine.kembs().iter().map(count).sum::<usize>();
    dict.set_item("states", sum(|kemb| kemb.nfa().state_count()))?;
    dict.set_item("transitions", sum(|kemb| kemb.nfa().transition_count()))?;
    dict.set_item("rules", sum(Kemb::rule_count))?;
    dict.set_item("by_stack", sum(Kemb::stack_query_count))?;
    dict.set_item("turned_away", sum(Kemb::rejected_count))?;
    let done = engine.counters();
    dict.set_item("elements", done.elements)?;
    dict.set_item("active_states", done.active_states)?;
    dict.set_item("active_states_peak", done.active_states_peak)?;
    dict.set_item("discarded", done.discarded)?;
    dict.set_item("forgotten", done.evicted)
}
