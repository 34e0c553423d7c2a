//! Hears the words of a document and tells those that queries have to the engines.

use std::convert::Infallible;

use super::listen::{Listener, WordId};
use super::pieces::Pieces;
use super::vocabulary::{Key, Vocabulary};
use super::words::{Cutter, RawWord, Words};
use crate::events::{Context, Handler, NameId, Names, Span, StartElement, Stop};

/// One engine's seat: it is told the words of its own vocabulary.
pub struct Seat<'a, L> {
    /// The words it knows.
    pub vocabulary: &'a Vocabulary,
    /// What is known of names.
    pub names: &'a mut NameWords,
    /// The engine.
    pub listener: L,
}

/// A handler of the reader's events that tells words to engines.
pub struct Ear<'e, 's, L> {
    pieces: &'e mut Pieces,
    seats: Seats<'e, 's, L>,
    /// Where the last piece of a text ended that may go on.
    text_end: Option<u64>,
}

struct Seats<'e, 's, L>(&'e mut [Seat<'s, L>]);

impl<'e, 's, L: Listener> Ear<'e, 's, L> {
    /// An ear for one document; `table` numbers the table of names that the reader uses.
    pub fn new(pieces: &'e mut Pieces, seats: &'e mut [Seat<'s, L>], table: u64) -> Self {
        pieces.clear();
        for seat in seats.iter_mut() {
            seat.names.use_table(table);
        }
        Ear {
            pieces,
            seats: Seats(seats),
            text_end: None,
        }
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
        for seat in self.seats.0.iter_mut() {
            if let Some(between) = between {
                seat.listener.text(between)?;
            }
            seat.listener.text(span)?;
        }
        Ok(())
    }

    fn end_text(&mut self) -> Result<(), Stop> {
        self.text_end = None;
        self.pieces.end(&mut self.seats)
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
        self.end_text()?;
        for seat in self.seats.0.iter_mut() {
            seat.listener.open(context, element)?;
            seat.name(context.names(), element.name)?;
            for attribute in element.attributes {
                seat.name(context.names(), attribute.name)?;
            }
        }
        for attribute in element.attributes {
            self.pieces.whole(attribute.value, &mut self.seats)?;
        }
        Ok(())
    }

    #[inline]
    fn end_element(&mut self, span: Span, end_tag: Span) -> Result<(), Stop> {
        self.end_text()?;
        let mut seats = self.seats.0.iter_mut();
        seats.try_for_each(|seat| seat.listener.close(span, end_tag))
    }

    #[inline]
    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        if L::DETAILS {
            self.tell_text(span)?;
        }
        self.pieces.piece(text, &mut self.seats)
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        self.end_text()
    }
}

impl<L: Listener> Words for Seats<'_, '_, L> {
    type Stop = Stop;

    #[inline]
    fn raw(&mut self, word: RawWord<'_>) -> Result<(), Stop> {
        let key = Key::of_raw(word);
        for seat in self.0.iter_mut() {
            if let Some(word) = seat.vocabulary.find_raw(word, key) {
                seat.listener.word(word)?;
            }
        }
        Ok(())
    }

    fn folded(&mut self, word: &str) -> Result<(), Stop> {
        let key = Key::of(word);
        for seat in self.0.iter_mut() {
            if let Some(word) = seat.vocabulary.find(word, key) {
                seat.listener.word(word)?;
            }
        }
        Ok(())
    }
}

impl<L: Listener> Seat<'_, L> {
    #[inline]
    fn name(&mut self, names: &Names, name: NameId) -> Result<(), Stop> {
        let words = self.names.of(self.vocabulary, names, name);
        words.iter().try_for_each(|&word| self.listener.word(word))
    }
}

/// The words of names, each name cut once.
#[derive(Default)]
pub struct NameWords {
    table: u64,
    /// By name: where its words begin and end.
    ranges: Vec<(u32, u32)>,
    words: Vec<WordId>,
}

const UNKNOWN: (u32, u32) = (u32::MAX, 0);

impl NameWords {
    /// Says which table of names the ids come from; another one than before starts anew.
    fn use_table(&mut self, table: u64) {
        if self.table != table {
            self.table = table;
            self.ranges.clear();
            self.words.clear();
        }
    }

    /// The words of a local name that the vocabulary has.
    #[inline]
    fn of(&mut self, vocabulary: &Vocabulary, names: &Names, name: NameId) -> &[WordId] {
        let (start, end) = match self.ranges.get(name.0 as usize) {
            Some(&range) if range != UNKNOWN => range,
            _ => self.learn(vocabulary, names, name),
        };
        &self.words[start as usize..end as usize]
    }

    #[cold]
    fn learn(&mut self, vocabulary: &Vocabulary, names: &Names, name: NameId) -> (u32, u32) {
        let (_, local) = names.get(name);
        let start = self.words.len() as u32;
        let mut found = Found {
            vocabulary,
            words: &mut self.words,
        };
        let Ok(()) = Cutter::default().cut(local, &mut found);
        let range = (start, self.words.len() as u32);
        let at = name.0 as usize;
        if self.ranges.len() <= at {
            self.ranges.resize(at + 1, UNKNOWN);
        }
        self.ranges[at] = range;
        range
    }
}

/// Collects the words that a vocabulary has.
struct Found<'a> {
    vocabulary: &'a Vocabulary,
    words: &'a mut Vec<WordId>,
}

impl Words for Found<'_> {
    type Stop = Infallible;

    fn raw(&mut self, word: RawWord<'_>) -> Result<(), Infallible> {
        let found = self.vocabulary.find_raw(word, Key::of_raw(word));
        self.words.extend(found);
        Ok(())
    }

    fn folded(&mut self, word: &str) -> Result<(), Infallible> {
        self.words.extend(self.vocabulary.find(word, Key::of(word)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::flat::TextsBuilder;
    use crate::reader::{Reader, ReaderOptions};

    /// Tells what it hears as text.
    struct Told<'a> {
        vocabulary: &'a Vocabulary,
        text: String,
    }

    impl Listener for Told<'_> {
        fn open(&mut self, context: &dyn Context, e: &StartElement<'_>) -> Result<(), Stop> {
            self.text += &format!("<{} ", context.names().get(e.name).1);
            Ok(())
        }
        fn word(&mut self, word: WordId) -> Result<(), Stop> {
            self.text += &format!("{} ", self.vocabulary.words.get(word));
            Ok(())
        }
        fn close(&mut self, _: Span, _: Span) -> Result<(), Stop> {
            self.text += "> ";
            Ok(())
        }
    }

    fn heard(vocabularies: &[&str], document: &str) -> Vec<String> {
        let vocabularies: Vec<Vocabulary> = vocabularies
            .iter()
            .map(|words| {
                let mut texts = TextsBuilder::default();
                for word in words.split(' ') {
                    texts.push(word);
                }
                Vocabulary::new(texts.finish())
            })
            .collect();
        let mut names: Vec<NameWords> = vocabularies.iter().map(|_| NameWords::default()).collect();
        let mut seats: Vec<Seat<'_, Told<'_>>> = vocabularies
            .iter()
            .zip(&mut names)
            .map(|(vocabulary, names)| Seat {
                vocabulary,
                names,
                listener: Told {
                    vocabulary,
                    text: String::new(),
                },
            })
            .collect();
        let mut pieces = Pieces::default();
        let mut ear = Ear::new(&mut pieces, &mut seats, 1);
        let mut reader = Reader::new(ReaderOptions::default());
        // Twice: the second time names are known.
        for _ in 0..2 {
            reader
                .read_slice(document.as_bytes(), &mut ear)
                .expect("well-formed");
        }
        let told = ear.seats.0.iter().map(|seat| seat.listener.text.as_str());
        told.map(|text| {
            let (first, second) = text.split_at(text.len() / 2);
            assert_eq!(first, second);
            first.to_owned()
        })
        .collect()
    }

    #[test]
    fn an_element_has_the_words_of_its_name_its_attributes_and_its_own_text() {
        let document = "<news-item xmlns:p='urn:coast' p:storm-level='High wind'>Gale\
             <b>Storm</b> warning</news-item>";
        assert_eq!(
            heard(&["coast gale high item level news storm warning"], document),
            ["<news-item news item storm level high gale <b storm > warning > "]
        );
    }

    #[test]
    fn a_word_joins_text_cdata_and_entities_and_no_more() {
        let document = "<!DOCTYPE a [<!ENTITY or 'or'>]>\
             <a>st&or;<![CDATA[m]]> st<!-- -->orm st<?p?>orm st<b/>orm</a>";
        assert_eq!(
            heard(&["orm st storm"], document),
            ["<a storm st orm st orm st <b > orm > "]
        );
    }

    #[test]
    fn each_seat_hears_its_own_words() {
        assert_eq!(
            heard(&["a c", "é b"], "<a x='b'>C É e\u{301} d</a>"),
            ["<a a c > ", "<a b é é > "]
        );
    }
}
