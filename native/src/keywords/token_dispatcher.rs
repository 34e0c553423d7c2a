//! Hears the words of a document and tells those that queries have to the engines.
//!
//! Texts are short and many. So they are collected, with marks where elements begin and end, and cut
//! together: the engines hear everything in its order, some time later.

use crate::events::{Context, Handler, NameId, Names, Span, StartElement, Stop};
use crate::keywords::name_tokens::NameWords;
use crate::keywords::token_batch::{Batch, Mark};
use crate::keywords::token_sink::{Listener, WordId};
use crate::keywords::vocabulary::Vocabulary;
use crate::keywords::vocabulary_lookup::{Asked, Lookup};
use crate::tokenizer::text_buffer::TextBuffer;

/// See [`Heard::new`].
const MARKS_MAX: usize = 1 << 12;

/// One engine's seat: it is told the words of its own vocabulary.
pub struct Seat<'a, L> {
    /// The words it knows.
    pub vocabulary: &'a Vocabulary,
    /// Its memory.
    pub memory: &'a mut SeatMemory,
    /// The engine.
    pub listener: L,
}

/// What an engine's seat remembers; kept from one document to the next.
#[derive(Default)]
pub struct SeatMemory {
    names: NameWords,
    /// The words that the texts have.
    pub(super) found: Found,
}

/// Words that were found in texts, in their order.
#[derive(Default)]
pub(super) struct Found {
    /// Where in the texts each of them stands.
    pub places: Vec<u32>,
    pub words: Vec<WordId>,
}

/// What was heard and not told yet; kept from one document to the next so that its memory is used again.
pub struct Heard {
    texts: TextBuffer,
    asked: Asked,
    marks_max: usize,
    /// Each with the place in the texts that it stands at.
    marks: Vec<(u32, Mark)>,
}

impl Default for Heard {
    fn default() -> Heard {
        Heard::new(MARKS_MAX)
    }
}

impl Heard {
    /// Nothing yet. It is told at the latest when so many beginnings, names and ends are marked.
    pub fn new(marks_max: usize) -> Heard {
        Heard {
            texts: TextBuffer::default(),
            asked: Asked::default(),
            marks_max,
            marks: Vec::new(),
        }
    }
}

/// A handler of the reader's events that tells words to engines.
pub struct Ear<'e, 's, L> {
    heard: &'e mut Heard,
    seats: &'e mut [Seat<'s, L>],
    /// How many elements are open.
    depth: usize,
    /// Where the last piece of a text ended that may go on.
    text_end: Option<u64>,
}

impl<'e, 's, L: Listener> Ear<'e, 's, L> {
    /// An ear for one document; `table` numbers the table of names that the reader uses.
    pub fn new(heard: &'e mut Heard, seats: &'e mut [Seat<'s, L>], table: u64) -> Self {
        heard.texts.clear();
        heard.marks.clear();
        for seat in seats.iter_mut() {
            seat.memory.names.use_table(table);
            // A document that was stopped may have left some.
            seat.memory.found.places.clear();
            seat.memory.found.words.clear();
        }
        Ear {
            heard,
            seats,
            depth: 0,
            text_end: None,
        }
    }

    #[inline]
    fn mark(&mut self, mark: Mark) {
        // Far fewer than 2^32 bytes of text are held.
        let place = self.heard.texts.len_bytes() as u32;
        self.heard.marks.push((place, mark));
    }

    #[inline]
    fn learn(&mut self, names: &Names, name: NameId) {
        for seat in self.seats.iter_mut() {
            seat.memory.names.learn(seat.vocabulary, names, name);
        }
    }

    #[inline]
    fn piece(&mut self, piece: &str) -> Result<(), Stop> {
        let mut rest = self.heard.texts.push(piece);
        while !rest.is_empty() {
            self.tell()?;
            rest = self.heard.texts.push(rest);
        }
        Ok(())
    }

    /// Tells the engines what was heard.
    fn tell(&mut self) -> Result<(), Stop> {
        let Heard {
            texts,
            asked,
            marks,
            ..
        } = &mut *self.heard;
        let mut lookup = Lookup::new(self.seats, asked);
        texts.tokenize(&mut lookup);
        lookup.answer();
        for seat in self.seats.iter_mut() {
            seat.tell(marks)?;
        }
        marks.clear();
        Ok(())
    }

    /// Tells where a piece of text is, and what is between it and the piece before: a CDATA section
    /// without content.
    fn tell_text(&mut self, span: Span) -> Result<(), Stop> {
        let between = self.text_end.filter(|&end| end < span.start);
        let between = between.map(|start| Span {
            start,
            end: span.start,
            from_entity: false,
        });
        self.text_end = Some(span.end);
        for seat in self.seats.iter_mut() {
            if let Some(between) = between {
                seat.listener.text(between)?;
            }
            seat.listener.text(span)?;
        }
        Ok(())
    }

    #[inline]
    fn end_text(&mut self) {
        self.text_end = None;
        self.heard.texts.end_text();
    }
}

impl<L: Listener> Handler for Ear<'_, '_, L> {
    const SPANS: bool = L::DETAILS;

    #[inline]
    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.end_text();
        self.depth += 1;
        self.learn(context.names(), element.name);
        if L::DETAILS {
            self.tell()?;
            for seat in self.seats.iter_mut() {
                seat.listener.open()?;
                seat.listener.tag(context, element);
            }
            self.mark(Mark::Name(element.name));
        } else {
            if self.heard.marks.len() >= self.heard.marks_max {
                self.tell()?;
            }
            self.mark(Mark::Open(element.name));
        }
        for attribute in element.attributes {
            self.learn(context.names(), attribute.name);
            self.mark(Mark::Name(attribute.name));
            self.piece(attribute.value)?;
            self.heard.texts.end_text();
        }
        Ok(())
    }

    #[inline]
    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        self.end_text();
        self.depth -= 1;
        if L::DETAILS {
            self.tell()?;
            let mut seats = self.seats.iter_mut();
            return seats.try_for_each(|seat| seat.listener.close(span, end_tag));
        }
        self.mark(Mark::Close);
        if self.depth == 0 {
            self.tell()?;
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if L::DETAILS {
            self.tell_text(span)?;
        }
        self.piece(text)
    }

    #[inline]
    fn text_break(&mut self) -> Result<(), Stop> {
        self.end_text();
        Ok(())
    }
}

impl<L: Listener> Seat<'_, L> {
    /// Tells the engine what was heard: words that were found, and what is marked between them.
    fn tell(&mut self, marks: &[(u32, Mark)]) -> Result<(), Stop> {
        let SeatMemory { names, found } = &mut *self.memory;
        // Behind all marks.
        found.places.push(u32::MAX);
        self.listener.hear(&Batch {
            marks,
            names,
            words: &found.words,
            places: &found.places,
        })?;
        found.places.clear();
        found.words.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
