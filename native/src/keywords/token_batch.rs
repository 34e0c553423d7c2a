//! Some of a document at a time, as an ear tells it to an engine.

use crate::events::{NameId, Span, Stop};

use crate::keywords::name_tokens::NameWords;
use crate::keywords::token_sink::{Listener, WordId};

/// What stands between texts.
#[derive(Clone, Copy, Debug)]
pub enum Mark {
    /// An element of that name begins.
    Open(NameId),
    /// A name of the element that is open, or of an attribute.
    Name(NameId),
    /// The element that is open ends.
    Close,
}

/// Marks, and words that were found in the texts between them.
pub struct Batch<'b> {
    /// Each with the place in the texts that it stands at, ascending.
    pub marks: &'b [(u32, Mark)],
    /// The words of their names.
    pub names: &'b NameWords,
    /// The words, in their order.
    pub words: &'b [WordId],
    /// Where in the texts each of them stands; one more, behind all marks.
    pub places: &'b [u32],
}

impl Batch<'_> {
    /// How many elements and words of texts there are at most.
    pub fn size(&self) -> usize {
        self.marks.len() + self.words.len()
    }

    /// No mark and no word stands behind this place.
    pub fn end(&self) -> u32 {
        let mark = self.marks.last().map_or(0, |&(place, _)| place);
        let word = self.places[..self.words.len()].last().copied();
        mark.max(word.unwrap_or(0))
    }

    /// The words of each name that is marked.
    #[inline]
    pub fn names_heard(&self) -> impl Iterator<Item = &[WordId]> {
        self.marks.iter().filter_map(|&(_, mark)| match mark {
            Mark::Open(name) | Mark::Name(name) => Some(self.names.of(name)),
            Mark::Close => None,
        })
    }

    /// Tells everything in its order, one at a time.
    pub fn tell<L: Listener + ?Sized>(&self, listener: &mut L) -> Result<(), Stop> {
        let mut told = 0;
        for &(place, mark) in self.marks {
            let mut end = told;
            while self.places[end] < place {
                end += 1;
            }
            if end > told {
                listener.words(&self.words[told..end])?;
                told = end;
            }
            match mark {
                Mark::Open(name) => {
                    listener.open()?;
                    listener.words(self.names.of(name))?;
                }
                Mark::Name(name) => listener.words(self.names.of(name))?,
                Mark::Close => listener.close(Span::default(), Span::default())?,
            }
        }
        listener.words(&self.words[told..])
    }
}
