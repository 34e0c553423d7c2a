//! The seam between the ear, which hears words in a document, and the engines that answer queries.

use crate::events::{Context, Span, StartElement, Stop};
use crate::keywords::token_batch::Batch;

/// A word of the queries' vocabulary, dense from 0.
pub type WordId = u32;

/// How many of a query's words an answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Every one: AND.
    All,
    /// At least one, and as many as are to be had: OR.
    Any,
}

/// Distinct queries by number, as an engine sees them.
pub trait Queries {
    /// How many there are; they are numbered from 0.
    fn count(&self) -> usize;
    /// A query's words, ascending, each once, at least one.
    fn words(&self, query: u32) -> &[WordId];
    /// How many of them an answer holds.
    fn mode(&self, query: u32) -> Mode;
    /// How many words the vocabulary has.
    fn word_count(&self) -> usize;
}

/// Hears which element directly contains which words.
///
/// The words of an element's name and attributes follow its `open` at once; those of its text come
/// between its children's `open` and `close`, as they stand. A word may come again.
pub trait Listener {
    /// Whether spans are read, and [`Listener::tag`] and [`Listener::text`] are called.
    const DETAILS: bool = false;
    /// An element begins.
    fn open(&mut self) -> Result<(), Stop>;
    /// Its start tag.
    fn tag(&mut self, _context: &dyn Context, _element: &StartElement<'_>) {}
    /// The element that is open directly contains this word.
    fn word(&mut self, word: WordId) -> Result<(), Stop>;
    /// The same of several words, in their order.
    #[inline]
    fn words(&mut self, words: &[WordId]) -> Result<(), Stop> {
        words.iter().try_for_each(|&word| self.word(word))
    }
    /// The next part of the document.
    #[inline]
    fn hear(&mut self, batch: &Batch<'_>) -> Result<(), Stop> {
        batch.tell(self)
    }
    /// A piece of the text that the open element directly contains; pieces may lie side by side.
    fn text(&mut self, _span: Span) -> Result<(), Stop> {
        Ok(())
    }
    /// The element that is open ends; `span` is all of it. Of an empty-element tag `end_tag` is the
    /// empty range behind it.
    fn close(&mut self, span: Span, end_tag: Span) -> Result<(), Stop>;
}

impl<L: Listener> Listener for &mut L {
    const DETAILS: bool = L::DETAILS;

    #[inline]
    fn open(&mut self) -> Result<(), Stop> {
        (**self).open()
    }

    #[inline]
    fn tag(&mut self, context: &dyn Context, element: &StartElement<'_>) {
        (**self).tag(context, element);
    }

    #[inline]
    fn word(&mut self, word: WordId) -> Result<(), Stop> {
        (**self).word(word)
    }

    #[inline]
    fn words(&mut self, words: &[WordId]) -> Result<(), Stop> {
        (**self).words(words)
    }

    #[inline]
    fn hear(&mut self, batch: &Batch<'_>) -> Result<(), Stop> {
        (**self).hear(batch)
    }

    #[inline]
    fn text(&mut self, span: Span) -> Result<(), Stop> {
        (**self).text(span)
    }

    #[inline]
    fn close(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        (**self).close(span, end_tag)
    }
}
