//! Keyword indexes of generated queries, and the answers they must give.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{queries, Document, QueryList, Tree};
use crate::keywords::store::KeywordIndex;
use crate::keywords::token_sink::{Mode, QuerySet};
use crate::subscription_store::file_format;

/// How an index came about: queries added in batches, each followed by a snapshot, then removals.
#[derive(Clone, Debug)]
pub struct IndexHistory {
    queries: QueryList,
    batches: Vec<usize>,
    removed: Vec<prop::sample::Index>,
}

/// Generates histories with up to 24 queries of 6 words.
pub fn index_histories() -> impl Strategy<Value = IndexHistory> {
    let batches = prop::collection::vec(1..6_usize, 1..12);
    let removed = prop::collection::vec(any::<prop::sample::Index>(), 0..6);
    (queries(6, 24), batches, removed).prop_map(|(queries, batches, removed)| IndexHistory {
        queries,
        batches,
        removed,
    })
}

/// The index of a history, the same index loaded from a file, and the subscriptions in them.
pub struct BuiltIndexes {
    /// The built and the loaded index.
    pub indexes: [KeywordIndex; 2],
    queries: QueryList,
    live: BTreeSet<u32>,
}

impl IndexHistory {
    /// Builds the index.
    pub fn build(self) -> BuiltIndexes {
        let IndexHistory {
            queries,
            batches,
            removed,
        } = self;
        let mut index = KeywordIndex::default();
        let mut next = 0;
        for size in batches {
            for query in next..(next + size).min(queries.count()) {
                let text = query_text(&queries, query as u32);
                index.add(&query.to_string(), &text).expect("a query");
            }
            next = (next + size).min(queries.count());
            index.snapshot();
        }
        let mut live: BTreeSet<u32> = (0..next as u32).collect();
        for index_of in removed.iter().filter(|_| next > 0) {
            let query = index_of.index(next) as u32;
            assert_eq!(index.remove(&query.to_string()), live.remove(&query));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("words");
        file_format::write(&*index.compacted().expect("undamaged"), &path).expect("written");
        let loaded = KeywordIndex::from_segment(file_format::open(&path).expect("read"));
        assert_eq!([index.count(), loaded.count()], [live.len(); 2]);
        BuiltIndexes {
            indexes: [index, loaded],
            queries,
            live,
        }
    }
}

impl BuiltIndexes {
    /// The elements that answer each subscription in a document by definition.
    pub fn expected_answers(&self, tree: &Tree) -> BTreeMap<String, Vec<u32>> {
        let document = Document::new(tree);
        self.expected_by(|mode, words| {
            let answers = document.answers(mode, words).into_iter();
            answers.map(|answer| answer.element).collect()
        })
    }

    /// The same by the definition of SLCA, which has no answers to OR queries.
    #[cfg(feature = "baselines")]
    pub fn expected_slca_answers(&self, tree: &Tree) -> BTreeMap<String, Vec<u32>> {
        let document = Document::new(tree);
        self.expected_by(|mode, words| match mode {
            Mode::All => document.smallest(words),
            Mode::Any => Vec::new(),
        })
    }

    fn expected_by(
        &self,
        elements: impl Fn(Mode, &[u32]) -> Vec<usize>,
    ) -> BTreeMap<String, Vec<u32>> {
        let answers = self.live.iter().map(|&query| {
            let words = self.queries.words(query);
            let mode = match words.len() {
                1 => Mode::All,
                _ => self.queries.mode(query),
            };
            let numbers = elements(mode, words).into_iter();
            let numbers: Vec<u32> = numbers.map(|number| number as u32).collect();
            (query.to_string(), numbers)
        });
        answers.filter(|(_, numbers)| !numbers.is_empty()).collect()
    }
}

/// The query as a subscriber would write it, with words named as in [`Tree::to_xml`].
fn query_text(queries: &QueryList, query: u32) -> String {
    let words: Vec<String> = (queries.words(query).iter().rev())
        .map(|word| format!("W{word}"))
        .collect();
    words.join(match queries.mode(query) {
        Mode::All => " ",
        Mode::Any => " OR ",
    })
}
