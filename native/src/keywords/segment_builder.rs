//! Builds a segment from subscriptions.

use hashbrown::HashMap;

use crate::keywords::adaptive_reindex::AdaptiveIndex;
use crate::keywords::conjunction_index::ConjunctionIndex;
use crate::keywords::disjunction_index::DisjunctionIndex;
use crate::keywords::phrase_automaton::{is_phrase, words_of_phrase};
use crate::keywords::segment::{ClassWords, KeywordSegment};
use crate::keywords::token_sink::{Mode, QuerySet, WordId};
use crate::keywords::vocabulary::Vocabulary;
use crate::subscription_store::file_format::OpenError;
use crate::subscription_store::flat_layout::StringArrayBuilder;
use crate::subscription_store::header_tests::{is_header_word, HeaderTests};
use crate::subscription_store::store::BuildSegment;
use crate::subscription_store::subscription_table::SubscriptionTableBuilder;
use crate::tokenizer::tokenizer_options::TokenizerOptions;

type Table<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Collects subscriptions for a [`KeywordSegment`]. Words are numbered in order of arrival and
/// renumbered at the end.
#[derive(Default)]
pub struct KeywordBuilder {
    options: TokenizerOptions,
    words: Table<Box<str>, WordId>,
    classes: Vec<(Mode, Box<[WordId]>)>,
    class_numbers: Table<(Mode, Box<[WordId]>), u32>,
    subscriptions: SubscriptionTableBuilder,
}

impl KeywordBuilder {
    /// Creates an empty builder of queries that were tokenized with these options.
    pub fn new(options: TokenizerOptions) -> KeywordBuilder {
        KeywordBuilder {
            options,
            ..KeywordBuilder::default()
        }
    }

    /// How queries have to be tokenized.
    pub fn options(&self) -> TokenizerOptions {
        self.options
    }

    /// Adds a subscription to a query of these distinct words and phrases, which must always
    /// come in the same order; `source` is the original query text.
    pub fn add<'a>(
        &mut self,
        id: &str,
        source: &str,
        mode: Mode,
        words: impl Iterator<Item = &'a str>,
    ) {
        let words: Box<[WordId]> = words.map(|word| self.number(word)).collect();
        let next = u32::try_from(self.classes.len()).expect("fewer than 2^32 classes a segment");
        let key = (mode, words);
        let class = match self.class_numbers.get(&key) {
            Some(&class) => class,
            None => {
                self.classes.push(key.clone());
                self.class_numbers.insert(key, next);
                next
            }
        };
        self.subscriptions.add(id, source, class);
    }

    /// Adds a subscription of another segment without its header tests.
    pub fn copy_content(&mut self, segment: &KeywordSegment, row: u32) {
        let class = segment.subscriptions.row_classes[row as usize];
        let (_, words) = HeaderTests::split_words(segment.class_words(class));
        self.add(
            segment.subscriptions.ids.get(row),
            segment.subscriptions.sources.get(row),
            segment.queries.mode(class),
            words.into_iter(),
        );
    }

    fn number(&mut self, word: &str) -> WordId {
        if let Some(&number) = self.words.get(word) {
            return number;
        }
        let number = WordId::try_from(self.words.len()).expect("fewer than 2^32 words a segment");
        self.words.insert(word.into(), number);
        if is_phrase(word) {
            for own in words_of_phrase(word) {
                self.number(own);
            }
        }
        number
    }
}

impl BuildSegment for KeywordBuilder {
    type Segment = KeywordSegment;

    fn like(segment: &KeywordSegment) -> KeywordBuilder {
        KeywordBuilder::new(segment.vocabulary.options)
    }

    fn empty(&self) -> KeywordBuilder {
        KeywordBuilder::new(self.options)
    }

    fn count(&self) -> usize {
        self.subscriptions.count()
    }

    fn copy(&mut self, segment: &KeywordSegment, row: u32) -> Result<(), OpenError> {
        let class = segment.subscriptions.row_classes[row as usize];
        self.add(
            segment.subscriptions.ids.get(row),
            segment.subscriptions.sources.get(row),
            segment.queries.mode(class),
            segment.class_words(class),
        );
        Ok(())
    }

    fn finish(self) -> KeywordSegment {
        let mut words: Vec<(Box<str>, WordId)> = self.words.into_iter().collect();
        words.sort_unstable();
        let header_words = words.partition_point(|(word, _)| is_header_word(word)) as WordId;
        let mut texts = StringArrayBuilder::default();
        let mut ranks = vec![0; words.len()];
        for (word, number) in words {
            ranks[number as usize] = texts.push(&word);
        }
        let queries = flatten_classes(&self.classes, &ranks, header_words);
        KeywordSegment {
            conjunctions: ConjunctionIndex::build(&queries, &[]),
            adaptive: AdaptiveIndex::default(),
            disjunctions: DisjunctionIndex::build(&queries),
            vocabulary: Vocabulary::new(self.options, texts.finish()),
            queries,
            subscriptions: self.subscriptions.finish(self.classes.len()),
        }
    }
}

/// Flattens the words of the classes, renumbering them.
fn flatten_classes(
    classes: &[(Mode, Box<[WordId]>)],
    ranks: &[WordId],
    header_words: WordId,
) -> ClassWords {
    let mut starts = vec![0];
    let mut words: Vec<WordId> = Vec::new();
    for (_, own) in classes {
        let start = words.len();
        words.extend(own.iter().map(|&word| ranks[word as usize]));
        words[start..].sort_unstable();
        starts.push(u32::try_from(words.len()).expect("fewer than 2^32 words of queries"));
    }
    let mode = |class: &(Mode, Box<[WordId]>)| match class.0 {
        Mode::All => 0,
        Mode::Any => 1,
    };
    let modes: Vec<u8> = classes.iter().map(mode).collect();
    ClassWords {
        starts: starts.into(),
        words: words.into(),
        modes: modes.into(),
        word_count: ranks.len(),
        header_words,
    }
}
