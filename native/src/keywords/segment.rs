//! A segment: an immutable set of keyword subscriptions.
//!
//! Equal queries are one *class*. Words are numbered in the order of their texts, so that the numbers of a
//! class, ascending, tell its canonical text.

use crate::keywords::adaptive_reindex::{Learnt, Refiled};
use crate::keywords::conjunction_index::Filing;
use crate::keywords::disjunction_index::OrLists;
use crate::keywords::token_sink::{Mode, Queries, WordId};
use crate::keywords::vocabulary::Vocabulary;
use crate::subscription_store::file_format::{
    damaged, roster_sections, OpenError, Sections, Stored,
};
use crate::subscription_store::flat_layout::Flat;
use crate::subscription_store::store::Part;
use crate::subscription_store::subscription_table::Roster;

/// The words of each class.
pub struct ClassWords {
    /// One more than there are classes: where each one's words begin in `words`.
    pub starts: Flat<u32>,
    /// The words of all classes, those of one ascending.
    pub words: Flat<WordId>,
    /// By class: 0 where all words are wanted, 1 where any.
    pub modes: Flat<u8>,
    /// How many words the vocabulary has.
    pub word_count: usize,
}

impl Queries for ClassWords {
    fn count(&self) -> usize {
        self.modes.len()
    }

    #[inline]
    fn words(&self, class: u32) -> &[WordId] {
        let ends = &self.starts[class as usize..class as usize + 2];
        &self.words[ends[0] as usize..ends[1] as usize]
    }

    #[inline]
    fn mode(&self, class: u32) -> Mode {
        match self.modes[class as usize] {
            0 => Mode::All,
            _ => Mode::Any,
        }
    }

    fn word_count(&self) -> usize {
        self.word_count
    }
}

/// An immutable set of keyword subscriptions.
pub struct KeywordSegment {
    /// The words of all queries.
    pub vocabulary: Vocabulary,
    /// The distinct queries.
    pub queries: ClassWords,
    /// Finds the classes all of whose words are there.
    pub all: Filing,
    /// The same by what was learnt from documents.
    pub refiled: Refiled,
    /// Finds the classes any of whose words is there.
    pub any: OrLists,
    /// The subscriptions.
    pub roster: Roster,
}

impl KeywordSegment {
    /// Finds the classes all of whose words are there, as well as is known by now.
    pub fn filing(&self) -> &Filing {
        self.refiled.get().unwrap_or(&self.all)
    }

    /// Learns from a thread's searches.
    pub fn learn(&self, learnt: &Learnt) {
        self.refiled.refile(&self.queries, learnt);
    }

    /// The words of a class, ascending.
    pub fn tokens_of(&self, class: u32) -> impl Iterator<Item = &str> + '_ {
        let words = self.queries.words(class).iter();
        words.map(|&word| self.vocabulary.words.get(word))
    }
}

impl Part for KeywordSegment {
    fn roster(&self) -> &Roster {
        &self.roster
    }

    fn source_of(&self, handle: u32) -> &str {
        self.roster.sources.get(handle)
    }
}

impl Stored for KeywordSegment {
    const MAGIC: &'static [u8; 16] = b"penstock-words\r\n";
    const VERSION: u32 = 4;

    fn sections(&self) -> Vec<&[u8]> {
        let own = [
            self.vocabulary.words.ends.as_bytes(),
            self.vocabulary.words.bytes.as_bytes(),
            self.vocabulary.factors.as_bytes(),
            self.vocabulary.slots.as_bytes(),
            self.queries.starts.as_bytes(),
            self.queries.words.as_bytes(),
            self.queries.modes.as_bytes(),
            self.all.starts.as_bytes(),
            self.all.seconds.as_bytes(),
            self.all.rows.as_bytes(),
            self.any.starts.as_bytes(),
            self.any.queries.as_bytes(),
        ];
        own.into_iter()
            .chain(roster_sections(&self.roster))
            .collect()
    }

    fn from_sections(sections: &mut Sections<'_>) -> Result<KeywordSegment, OpenError> {
        let vocabulary = Vocabulary {
            words: sections.texts()?,
            factors: sections.flat()?,
            slots: sections.flat()?,
        };
        let segment = KeywordSegment {
            queries: ClassWords {
                starts: sections.flat()?,
                words: sections.flat()?,
                modes: sections.flat()?,
                word_count: vocabulary.count(),
            },
            vocabulary,
            all: Filing {
                starts: sections.flat()?,
                seconds: sections.flat()?,
                rows: sections.flat()?,
            },
            refiled: Refiled::default(),
            any: OrLists {
                starts: sections.flat()?,
                queries: sections.flat()?,
            },
            roster: sections.roster()?,
        };
        let classes = segment.queries.count();
        let words = segment.vocabulary.count();
        let sound = !segment.vocabulary.factors.is_empty()
            && !segment.vocabulary.slots.is_empty()
            && segment.queries.starts.len() == classes + 1
            && segment.roster.class_count() == classes
            && segment.all.starts.len() == words + 1
            && segment.any.starts.len() == words + 1;
        if sound {
            Ok(segment)
        } else {
            Err(damaged("its parts do not fit together"))
        }
    }
}
