//! An immutable set of keyword subscriptions.
//!
//! Equal queries form one *class*. Words are numbered in lexicographic order, so that the ascending
//! word numbers of a class yield its canonical text.

use crate::keywords::adaptive_reindex::{AdaptiveIndex, ObservedFrequencies};
use crate::keywords::answer_engine::QueryIndexes;
use crate::keywords::conjunction_index::ConjunctionIndex;
use crate::keywords::disjunction_index::DisjunctionIndex;
use crate::keywords::phrase_automaton::PhraseAutomaton;
use crate::keywords::segment_validation::validate;
use crate::keywords::token_sink::{Mode, QuerySet, WordId};
use crate::keywords::vocabulary::Vocabulary;
use crate::subscription_store::file_format::{
    damaged, subscription_table_sections, OpenError, SectionReader, StoredSegment,
};
use crate::subscription_store::flat_layout::FlatArray;
use crate::subscription_store::header_tests::{is_header_word, HeaderTests};
use crate::subscription_store::store::IndexSegment;
use crate::subscription_store::subscription_table::SubscriptionTable;
use crate::tokenizer::tokenizer_options::TokenizerOptions;

/// The words of each class.
pub struct ClassWords {
    /// Start of each class's words in `words`; one more than there are classes.
    pub starts: FlatArray<u32>,
    /// The words of all classes; those of one class are ascending.
    pub words: FlatArray<WordId>,
    /// Mode of each class: 0 for all words, 1 for any word.
    pub modes: FlatArray<u8>,
    /// Number of words in the vocabulary.
    pub word_count: usize,
    /// Number of words that stand for header fields.
    pub header_words: WordId,
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

    #[inline]
    fn header_words(&self) -> WordId {
        self.header_words
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
    pub subscriptions: SubscriptionTable,
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

    /// Whether some query tests header fields.
    pub fn tests_headers(&self) -> bool {
        self.queries.header_words > 0
    }

    /// The words of a class, ascending; those of header tests come first.
    pub fn class_words(&self, class: u32) -> impl Iterator<Item = &str> + '_ {
        let words = self.queries.words(class).iter();
        words.map(|&word| self.vocabulary.words.get(word))
    }
}

/// The number of words that stand for header fields; they sort before all others.
fn count_header_words(vocabulary: &Vocabulary) -> WordId {
    let (mut low, mut high) = (0, vocabulary.count() as WordId);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_header_word(vocabulary.words.get(middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

impl IndexSegment for KeywordSegment {
    fn subscriptions(&self) -> &SubscriptionTable {
        &self.subscriptions
    }

    fn source_of(&self, row: u32) -> &str {
        self.subscriptions.sources.get(row)
    }

    fn header_tests_of(&self, class: u32) -> HeaderTests {
        HeaderTests::split_words(self.class_words(class)).0
    }
}

impl StoredSegment for KeywordSegment {
    const MAGIC: &'static [u8; 16] = b"penstock-words\r\n";
    const VERSION: u32 = 8;

    fn sections(&self) -> Vec<&[u8]> {
        let own = [
            bytemuck::bytes_of(&self.vocabulary.options),
            self.vocabulary.words.ends.as_bytes(),
            self.vocabulary.words.bytes.as_bytes(),
            bytemuck::bytes_of(&self.vocabulary.hash_key),
            self.vocabulary.multipliers.as_bytes(),
            self.vocabulary.slots.as_bytes(),
            self.vocabulary.phrases.states.as_bytes(),
            self.vocabulary.phrases.edges.as_bytes(),
            self.vocabulary.phrases.first_states.as_bytes(),
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
            .chain(subscription_table_sections(&self.subscriptions))
            .collect()
    }

    fn from_sections(sections: &mut SectionReader<'_>) -> Result<KeywordSegment, OpenError> {
        let options = TokenizerOptions::from_bytes(sections.value()?);
        let vocabulary = Vocabulary {
            options: options.ok_or_else(|| damaged("its tokenizer options are invalid"))?,
            words: sections.strings()?,
            hash_key: sections.value()?,
            multipliers: sections.array()?,
            slots: sections.array()?,
            phrases: PhraseAutomaton {
                states: sections.array()?,
                edges: sections.array()?,
                first_states: sections.array()?,
            },
        };
        let segment = KeywordSegment {
            queries: ClassWords {
                starts: sections.array()?,
                words: sections.array()?,
                modes: sections.array()?,
                word_count: vocabulary.count(),
                header_words: count_header_words(&vocabulary),
            },
            vocabulary,
            conjunctions: ConjunctionIndex {
                starts: sections.array()?,
                second_words: sections.array()?,
                entries: sections.array()?,
            },
            adaptive: AdaptiveIndex::default(),
            disjunctions: DisjunctionIndex {
                starts: sections.array()?,
                queries: sections.array()?,
            },
            subscriptions: sections.subscription_table()?,
        };
        validate(&segment).map_err(damaged)?;
        Ok(segment)
    }
}
