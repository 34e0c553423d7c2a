//! The interface between the token dispatcher and the engines that answer queries.

use crate::events::{Context, Span, StartElement, Stop};
use crate::keywords::token_batch::TokenBatch;

/// Number of a word in the vocabulary, dense from 0.
pub type WordId = u32;

/// How many of a query's words an answer must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// All words: AND.
    All,
    /// At least one word, and as many as possible: OR.
    Any,
}

/// The distinct queries of an engine, by number.
pub trait QuerySet {
    /// Number of queries; they are numbered from 0.
    fn count(&self) -> usize;
    /// The words of a query: ascending, distinct, at least one.
    fn words(&self, query: u32) -> &[WordId];
    /// How many of them an answer must contain.
    fn mode(&self, query: u32) -> Mode;
    /// Number of words in the vocabulary.
    fn word_count(&self) -> usize;
    /// Number of words that stand for header fields; they are the first of the vocabulary.
    fn header_words(&self) -> WordId {
        0
    }
}

/// Receives the elements of a document and the words they directly contain.
///
/// The words of an element's name and attributes follow its `open`; those of its text arrive
/// between the `open` and `close` calls of its children, in document order. Words may repeat.
pub trait TokenSink {
    /// Whether the sink needs spans, [`TokenSink::start_tag`] and [`TokenSink::text_span`].
    const NEEDS_SPANS: bool = false;
    /// Whether it matters which element contains a word. If not, each name of a document may arrive only
    /// once, and [`TokenSink::open`] and [`TokenSink::close`] may not be called.
    const NEEDS_ELEMENTS: bool = true;
    /// An element starts.
    fn open(&mut self) -> Result<(), Stop>;
    /// The start tag of the element just opened.
    fn start_tag(&mut self, _context: &dyn Context, _element: &StartElement<'_>) {}
    /// The innermost open element directly contains this word.
    fn token(&mut self, word: WordId) -> Result<(), Stop>;
    /// The innermost open element directly contains these words, in order.
    #[inline]
    fn tokens(&mut self, words: &[WordId]) -> Result<(), Stop> {
        words.iter().try_for_each(|&word| self.token(word))
    }
    /// Receives the next part of the document.
    #[inline]
    fn push_batch(&mut self, batch: &TokenBatch<'_>) -> Result<(), Stop> {
        batch.replay(self)
    }
    /// For a sink that needs spans: whether its words may arrive later than its elements, in batches, if at
    /// most `pending` of them are delayed. If not, they arrive before the next element starts or ends.
    #[inline]
    fn may_delay(&self, _pending: usize) -> bool {
        false
    }
    /// Span of text directly contained in the innermost open element; consecutive spans may be
    /// adjacent.
    fn text_span(&mut self, _span: Span) -> Result<(), Stop> {
        Ok(())
    }
    /// The innermost open element ends. `span` covers the entire element. For an empty-element tag,
    /// `end_tag` is the empty span after it.
    fn close(&mut self, span: Span, end_tag: Span) -> Result<(), Stop>;
}

impl<S: TokenSink> TokenSink for &mut S {
    const NEEDS_SPANS: bool = S::NEEDS_SPANS;
    const NEEDS_ELEMENTS: bool = S::NEEDS_ELEMENTS;

    #[inline]
    fn open(&mut self) -> Result<(), Stop> {
        (**self).open()
    }

    #[inline]
    fn start_tag(&mut self, context: &dyn Context, element: &StartElement<'_>) {
        (**self).start_tag(context, element);
    }

    #[inline]
    fn token(&mut self, word: WordId) -> Result<(), Stop> {
        (**self).token(word)
    }

    #[inline]
    fn tokens(&mut self, words: &[WordId]) -> Result<(), Stop> {
        (**self).tokens(words)
    }

    #[inline]
    fn push_batch(&mut self, batch: &TokenBatch<'_>) -> Result<(), Stop> {
        (**self).push_batch(batch)
    }

    #[inline]
    fn may_delay(&self, pending: usize) -> bool {
        (**self).may_delay(pending)
    }

    #[inline]
    fn text_span(&mut self, span: Span) -> Result<(), Stop> {
        (**self).text_span(span)
    }

    #[inline]
    fn close(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        (**self).close(span, end_tag)
    }
}
