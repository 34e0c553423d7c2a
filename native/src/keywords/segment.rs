//! An immutable set of keyword subscriptions.
//!
//! Equal queries form one *class*. Words are numbered in lexicographic order, so that the ascending
//! word numbers of a class yield its canonical text.

use crate::keywords::adaptive_reindex::{AdaptiveIndex, ObservedFrequencies};
use crate::keywords::answer_engine::QueryIndexes;
use crate::keywords::conjunction_index::ConjunctionIndex;
use crate::keywords::disjunction_index::DisjunctionIndex;
use crate::keywords::token_sink::{Mode, QuerySet, WordId};
use crate::keywords::vocabulary::Vocabulary;
use crate::subscription_store::file_format::{
    damaged, roster_sections, OpenError, Sections, Stored,
};
use crate::subscription_store::flat_layout::Flat;
use crate::subscription_store::store::Part;
use crate::subscription_store::subscription_table::Roster;

/// The words of each class.
pub struct ClassWords {
    /// Start of each class's words in `words`; one more than there are classes.
    pub starts: Flat<u32>,
    /// The words of all classes; those of one class are ascending.
    pub words: Flat<WordId>,
    /// Mode of each class: 0 for all words, 1 for any word.
    pub modes: Flat<u8>,
    /// Number of words in the vocabulary.
    pub word_count: usize,
}

impl QuerySet for ClassWords {
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
    /// The AND queries by their words.
    pub conjunctions: ConjunctionIndex,
    /// The same, rebuilt by observed word frequencies.
    pub adaptive: AdaptiveIndex,
    /// The OR queries by their words.
    pub disjunctions: DisjunctionIndex,
    /// The subscriptions.
    pub roster: Roster,
}

impl KeywordSegment {
    /// The best available index of the AND queries.
    pub fn conjunction_index(&self) -> &ConjunctionIndex {
        self.adaptive.get().unwrap_or(&self.conjunctions)
    }

    /// Takes a thread's search statistics into account.
    pub fn observe(&self, observed: &ObservedFrequencies) {
        self.adaptive.rebuild_if_worthwhile(&self.queries, observed);
    }

    /// The queries and their indexes.
    pub fn query_indexes(&self) -> QueryIndexes<'_> {
        QueryIndexes {
            queries: &self.queries,
            conjunctions: self.conjunction_index(),
            disjunctions: &self.disjunctions,
        }
    }

    /// The words of a class, ascending.
    pub fn class_words(&self, class: u32) -> impl Iterator<Item = &str> + '_ {
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
            self.vocabulary.multipliers.as_bytes(),
            self.vocabulary.slots.as_bytes(),
            self.queries.starts.as_bytes(),
            self.queries.words.as_bytes(),
            self.queries.modes.as_bytes(),
            self.conjunctions.starts.as_bytes(),
            self.conjunctions.second_words.as_bytes(),
            self.conjunctions.entries.as_bytes(),
            self.disjunctions.starts.as_bytes(),
            self.disjunctions.queries.as_bytes(),
        ];
        own.into_iter()
            .chain(roster_sections(&self.roster))
            .collect()
    }

    fn from_sections(sections: &mut Sections<'_>) -> Result<KeywordSegment, OpenError> {
        let vocabulary = Vocabulary {
            words: sections.texts()?,
            multipliers: sections.flat()?,
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
            conjunctions: ConjunctionIndex {
                starts: sections.flat()?,
                second_words: sections.flat()?,
                entries: sections.flat()?,
            },
            adaptive: AdaptiveIndex::default(),
            disjunctions: DisjunctionIndex {
                starts: sections.flat()?,
                queries: sections.flat()?,
            },
            roster: sections.roster()?,
        };
        let classes = segment.queries.count();
        let words = segment.vocabulary.count();
        let sound = !segment.vocabulary.multipliers.is_empty()
            && !segment.vocabulary.slots.is_empty()
            && segment.queries.starts.len() == classes + 1
            && segment.roster.class_count() == classes
            && segment.conjunctions.starts.len() == words + 1
            && segment.disjunctions.starts.len() == words + 1;
        if sound {
            Ok(segment)
        } else {
            Err(damaged("its parts do not fit together"))
        }
    }
}
