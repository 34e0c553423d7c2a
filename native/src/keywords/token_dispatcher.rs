//! Tokenizes a document and forwards the tokens that occur in some query to the token sinks.
//!
//! Most texts are short. So text is collected, together with markers where elements start and end,
//! and tokenized in batches: the sinks receive everything in document order, with a delay.

use crate::events::{Context, Handler, NameId, Names, Span, StartElement, Stop};
use crate::keywords::found_tokens::FoundTokens;
use crate::keywords::name_tokens::NameTokens;
use crate::keywords::phrase_automaton::PHRASE_WORDS_MAX;
use crate::keywords::token_batch::{Marker, TokenBatch};
use crate::keywords::token_sink::TokenSink;
use crate::keywords::vocabulary::Vocabulary;
use crate::keywords::vocabulary_lookup::{LookupQueue, VocabularyLookup};
use crate::tokenizer::text_buffer::TextBuffer;
use crate::tokenizer::tokenizer_options::TokenizerOptions;

/// See [`PendingText::new`].
const MARKERS_MAX: usize = 1 << 12;

/// Forwards the words of one vocabulary to one sink.
pub struct TokenRoute<'a, S> {
    /// Words to forward.
    pub vocabulary: &'a Vocabulary,
    /// Reusable buffers.
    pub buffers: &'a mut RouteBuffers,
    /// Receives the tokens.
    pub sink: S,
}

/// Reusable buffers of a [`TokenRoute`].
#[derive(Default)]
pub struct RouteBuffers {
    names: NameTokens,
    /// Vocabulary words found in the pending text.
    pub(super) found: FoundTokens,
}

/// Text and markers not yet forwarded. Reused across documents to avoid reallocation.
pub struct PendingText {
    texts: TextBuffer,
    lookups: LookupQueue,
    markers_max: usize,
    /// Each with its byte offset in the text.
    markers: Vec<(u32, Marker)>,
    /// By name: whether the document has had it; only if no sink needs the elements.
    is_seen: Vec<bool>,
    /// Those names.
    seen: Vec<NameId>,
}

impl Default for PendingText {
    fn default() -> PendingText {
        PendingText::new(MARKERS_MAX)
    }
}

impl PendingText {
    /// Creates an empty buffer that is flushed at `markers_max` markers at the latest.
    pub fn new(markers_max: usize) -> PendingText {
        PendingText {
            texts: TextBuffer::default(),
            lookups: LookupQueue::default(),
            markers_max,
            markers: Vec::new(),
            is_seen: Vec::new(),
            seen: Vec::new(),
        }
    }

    fn reset(&mut self, options: TokenizerOptions) {
        self.texts.reset(options);
        self.markers.clear();
        for name in self.seen.drain(..) {
            self.is_seen[name.0 as usize] = false;
        }
    }

    /// Whether a name is new in the document.
    #[inline]
    fn is_new(&self, name: NameId) -> bool {
        !self.is_seen.get(name.0 as usize).is_some_and(|&seen| seen)
    }

    fn add_name(&mut self, name: NameId) {
        let at = name.0 as usize;
        if self.is_seen.len() <= at {
            self.is_seen.resize(at + 1, false);
        }
        self.is_seen[at] = true;
        self.seen.push(name);
    }
}

/// Event handler that tokenizes a document and forwards the tokens.
pub struct TokenDispatcher<'e, 's, S> {
    pending: &'e mut PendingText,
    routes: &'e mut [TokenRoute<'s, S>],
    /// Whether some vocabulary has phrases.
    has_phrases: bool,
    /// Whether elements need markers: for the sinks, or because phrases do not cross tags.
    has_markers: bool,
    /// The words of the pending markers' names, in the vocabulary that has the most of them; only if the
    /// sinks need spans.
    name_words: usize,
    /// Number of open elements.
    depth: usize,
    /// End of the last text event, if the text may continue.
    text_end: Option<u64>,
}

impl<'e, 's, S: TokenSink> TokenDispatcher<'e, 's, S> {
    /// Creates a dispatcher for one document; `names_table` identifies the reader's name table. All
    /// vocabularies are of one index, so they have the same options.
    pub fn new(
        pending: &'e mut PendingText,
        routes: &'e mut [TokenRoute<'s, S>],
        names_table: u64,
    ) -> Self {
        let options = routes.first().map(|route| route.vocabulary.options);
        let options = options.unwrap_or_default();
        let mut vocabularies = routes.iter().map(|route| route.vocabulary);
        debug_assert!(vocabularies.all(|each| each.options == options));
        pending.reset(options);
        for route in routes.iter_mut() {
            route.buffers.names.reset_for_table(names_table);
            route.buffers.found.reset();
        }
        let has_phrases = routes.iter().any(TokenRoute::has_phrases);
        TokenDispatcher {
            has_phrases,
            has_markers: S::NEEDS_ELEMENTS || has_phrases,
            name_words: 0,
            pending,
            routes,
            depth: 0,
            text_end: None,
        }
    }

    #[inline]
    fn push_marker(&mut self, marker: Marker) {
        // The text buffer is far smaller than 2^32 bytes.
        let offset = self.pending.texts.len_bytes() as u32;
        self.pending.markers.push((offset, marker));
    }

    #[inline]
    fn intern_name(&mut self, names: &Names, name: NameId) {
        let mut words = 0;
        for route in self.routes.iter_mut() {
            route.buffers.names.intern(route.vocabulary, names, name);
            if S::NEEDS_SPANS {
                words = words.max(route.buffers.names.get(name).len());
            }
        }
        self.name_words += words;
    }

    /// Forwards a name if it is new in the document.
    #[inline]
    fn push_name(&mut self, names: &Names, name: NameId) -> Result<(), Stop> {
        if self.pending.is_new(name) {
            self.push_new_name(names, name)?;
        }
        Ok(())
    }

    #[cold]
    fn push_new_name(&mut self, names: &Names, name: NameId) -> Result<(), Stop> {
        self.pending.add_name(name);
        self.intern_name(names, name);
        self.flush_if_full()?;
        self.push_marker(Marker::Name(name));
        Ok(())
    }

    /// Forwards everything if some sink needs its words before the next element starts or ends.
    #[inline]
    fn flush_unless_delayed(&mut self) -> Result<(), Stop> {
        // A word has at least one byte, and as many phrases as there are lengths may end with it.
        let phrases = usize::from(self.has_phrases) * PHRASE_WORDS_MAX;
        let words = self.pending.texts.len_bytes() * (1 + phrases) + self.name_words;
        match self.routes.iter().all(|route| route.sink.may_delay(words)) {
            true => Ok(()),
            false => self.flush(),
        }
    }

    #[inline]
    fn flush_if_full(&mut self) -> Result<(), Stop> {
        if self.pending.markers.len() >= self.pending.markers_max {
            self.flush()?;
        }
        Ok(())
    }

    #[inline]
    fn push_text(&mut self, piece: &str) -> Result<(), Stop> {
        let mut rest = self.pending.texts.push(piece);
        while !rest.is_empty() {
            self.flush()?;
            rest = self.pending.texts.push(rest);
        }
        Ok(())
    }

    /// Tokenizes the pending text and forwards everything to the sinks.
    fn flush(&mut self) -> Result<(), Stop> {
        let PendingText {
            texts,
            lookups,
            markers,
            ..
        } = &mut *self.pending;
        let mut lookup = VocabularyLookup::new(self.routes, lookups);
        texts.tokenize(&mut lookup);
        lookup.resolve();
        for route in self.routes.iter_mut() {
            route.flush(markers)?;
        }
        markers.clear();
        self.name_words = 0;
        Ok(())
    }

    /// Forwards the span of a text event, and of the gap since the previous one: an empty CDATA
    /// section.
    fn forward_text_span(&mut self, span: Span) -> Result<(), Stop> {
        let gap = self.text_end.filter(|&end| end < span.start);
        let gap = gap.map(|start| Span {
            start,
            end: span.start,
            from_entity: false,
        });
        self.text_end = Some(span.end);
        for route in self.routes.iter_mut() {
            if let Some(gap) = gap {
                route.sink.text_span(gap)?;
            }
            route.sink.text_span(span)?;
        }
        Ok(())
    }

    #[inline]
    fn end_text(&mut self) {
        self.text_end = None;
        self.pending.texts.end_text();
    }
}

impl<S: TokenSink> Handler for TokenDispatcher<'_, '_, S> {
    const SPANS: bool = S::NEEDS_SPANS;

    #[inline]
    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.end_text();
        self.depth += 1;
        if !self.has_markers {
            self.push_name(context.names(), element.name)?;
            for attribute in element.attributes {
                self.push_name(context.names(), attribute.name)?;
                self.push_text(attribute.value)?;
                self.pending.texts.end_text();
            }
            return Ok(());
        }
        self.flush_if_full()?;
        if S::NEEDS_SPANS {
            self.flush_unless_delayed()?;
            for route in self.routes.iter_mut() {
                route.sink.open()?;
                route.sink.start_tag(context, element);
            }
        }
        self.intern_name(context.names(), element.name);
        self.push_marker(Marker::Open(element.name));
        for attribute in element.attributes {
            self.intern_name(context.names(), attribute.name);
            self.push_marker(Marker::Name(attribute.name));
            self.push_text(attribute.value)?;
            self.pending.texts.end_text();
        }
        if self.has_phrases && !element.attributes.is_empty() {
            self.push_marker(Marker::EndOfAttributes);
        }
        Ok(())
    }

    #[inline]
    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        self.end_text();
        self.depth -= 1;
        if S::NEEDS_SPANS {
            self.flush_unless_delayed()?;
        }
        if self.has_markers {
            self.push_marker(Marker::Close);
        }
        if self.depth == 0 {
            self.flush()?;
        }
        if S::NEEDS_SPANS {
            let mut routes = self.routes.iter_mut();
            routes.try_for_each(|route| route.sink.close(span, end_tag))?;
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if S::NEEDS_SPANS {
            self.forward_text_span(span)?;
        }
        self.push_text(text)
    }

    #[inline]
    fn text_break(&mut self) -> Result<(), Stop> {
        self.end_text();
        Ok(())
    }
}

impl<S: TokenSink> TokenRoute<'_, S> {
    fn has_phrases(&self) -> bool {
        !self.vocabulary.phrases.is_empty()
    }

    /// Forwards the pending markers and words to the sink.
    fn flush(&mut self, markers: &[(u32, Marker)]) -> Result<(), Stop> {
        let RouteBuffers { names, found } = &mut *self.buffers;
        if !self.vocabulary.phrases.is_empty() {
            found.insert_phrases(&self.vocabulary.phrases, markers);
        }
        // Sentinel after all markers.
        found.offsets.push(u32::MAX);
        self.sink.push_batch(&TokenBatch {
            markers,
            names,
            words: &found.words,
            offsets: &found.offsets,
        })?;
        found.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
