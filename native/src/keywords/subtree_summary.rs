//! Summarizes the closed children of an element that stays open when the window spills.
//!
//! AND queries need little of a closed child: for each word, the number of elements that contain it
//! and a few witnesses, the first in document order; and the queries that are complete in the
//! child. An element answers a query if, for each word, it contains more occurrences than its
//! complete children together. A query that is complete in a child needs separate witnesses: the
//! first that are outside of such children.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};

use crate::keywords::answers::WordOccurrences;
use crate::keywords::element_metadata::{ElementRecord, TextRanges};
use crate::keywords::token_sink::{QuerySet, WordId};

/// The words of a closed subtree, to be merged into the enclosing element's summary.
pub trait SubtreeWords {
    /// Calls `visit` for each word with the number of elements that directly contain it.
    fn for_each_word(&self, visit: &mut dyn FnMut(WordId, u64));
    /// Number of elements that directly contain a word.
    fn count(&self, word: WordId) -> u64;
    /// The first elements that directly contain a word, at most `max`.
    fn witnesses(&mut self, word: WordId, max: usize) -> Vec<Arc<ElementRecord>>;
}

/// An open element outside of the window, with a summary of its closed children.
pub struct SubtreeSummary {
    /// The element.
    pub record: Arc<ElementRecord>,
    /// Its own text so far.
    pub texts: TextRanges,
    /// The words it directly contains.
    pub own: HashSet<WordId, RandomState>,
    /// Occurrences in its children, and after its end also its own.
    totals: HashMap<WordId, WordOccurrences, RandomState>,
    /// The queries that are complete in a child.
    complete_below: HashMap<u32, CompleteBelow, RandomState>,
    /// Those of them that need more witnesses.
    needs_witnesses: Vec<u32>,
}

/// A query that is complete in a child; one value for each of its words.
struct CompleteBelow {
    /// Number of occurrences in such children.
    counts: Vec<u64>,
    /// The first witnesses outside of such children.
    remaining: Vec<Vec<Arc<ElementRecord>>>,
}

impl CompleteBelow {
    fn needs_witnesses(&self, witnesses_max: usize) -> bool {
        self.remaining
            .iter()
            .any(|witnesses| witnesses.len() < witnesses_max)
    }
}

impl SubtreeSummary {
    /// Summary of an open element none of whose children has been merged.
    pub fn new(record: Arc<ElementRecord>, texts: TextRanges) -> SubtreeSummary {
        SubtreeSummary {
            record,
            texts,
            own: HashSet::default(),
            totals: HashMap::default(),
            complete_below: HashMap::default(),
            needs_witnesses: Vec::new(),
        }
    }

    /// Merges a child; `complete` are the queries that are complete in it, ascending.
    pub fn merge(
        &mut self,
        child: &mut dyn SubtreeWords,
        complete: &[u32],
        queries: &dyn QuerySet,
        witnesses_max: usize,
    ) {
        self.supply_witnesses(child, complete, queries, witnesses_max);
        for &query in complete {
            let words = queries.words(query);
            let below = match self.complete_below.entry(query) {
                Entry::Occupied(below) => below.into_mut(),
                Entry::Vacant(vacant) => {
                    let remaining = |word| {
                        let total: Option<&WordOccurrences> = self.totals.get(word);
                        total.map_or(Vec::new(), |total| total.witnesses.clone())
                    };
                    let below = CompleteBelow {
                        counts: vec![0; words.len()],
                        remaining: words.iter().map(remaining).collect(),
                    };
                    if below.needs_witnesses(witnesses_max) {
                        self.needs_witnesses.push(query);
                    }
                    vacant.insert(below)
                }
            };
            for (count, &word) in below.counts.iter_mut().zip(words) {
                *count += child.count(word);
            }
        }
        let mut short = Vec::new();
        child.for_each_word(&mut |word, count| {
            let total = self.totals.entry(word).or_default();
            total.count += count;
            if total.witnesses.len() < witnesses_max {
                short.push(word);
            }
        });
        for word in short {
            let total = self.totals.entry(word).or_default();
            let missing = witnesses_max - total.witnesses.len();
            total.witnesses.extend(child.witnesses(word, missing));
        }
    }

    /// Adds a child's witnesses to the queries that need some and are not complete in it.
    fn supply_witnesses(
        &mut self,
        child: &mut dyn SubtreeWords,
        complete: &[u32],
        queries: &dyn QuerySet,
        witnesses_max: usize,
    ) {
        let complete_below = &mut self.complete_below;
        self.needs_witnesses.retain(|query| {
            if complete.binary_search(query).is_ok() {
                return true;
            }
            let below = complete_below
                .get_mut(query)
                .expect("queries that need witnesses are complete below");
            for (remaining, &word) in below.remaining.iter_mut().zip(queries.words(*query)) {
                if remaining.len() < witnesses_max && child.count(word) > 0 {
                    remaining.extend(child.witnesses(word, witnesses_max - remaining.len()));
                }
            }
            below.needs_witnesses(witnesses_max)
        });
    }

    /// The element ends: its own words join those of its children.
    pub fn end(&mut self, witnesses_max: usize) {
        for &word in &self.own {
            let total = self.totals.entry(word).or_default();
            total.count += 1;
            put_first(&mut total.witnesses, &self.record, witnesses_max);
        }
    }

    /// Whether the ended element contains a word.
    pub fn contains(&self, word: WordId) -> bool {
        self.totals.contains_key(&word)
    }

    /// Whether the ended element, in which the query is complete, answers it: each word occurs
    /// outside of the children in which the query is complete.
    pub fn answers(&self, query: u32, words: &[WordId]) -> bool {
        let Some(below) = self.complete_below.get(&query) else {
            return true;
        };
        let mut counts = below.counts.iter().zip(words);
        counts.all(|(&count, word)| self.totals[word].count > count)
    }

    /// Occurrences of the query's `at`-th word outside of the children in which it is complete.
    pub fn remaining(
        &self,
        query: u32,
        at: usize,
        word: WordId,
        witnesses_max: usize,
    ) -> WordOccurrences {
        let total = &self.totals[&word];
        let Some(below) = self.complete_below.get(&query) else {
            return total.clone();
        };
        let mut witnesses = below.remaining[at].clone();
        if self.own.contains(&word) {
            put_first(&mut witnesses, &self.record, witnesses_max);
        }
        WordOccurrences {
            count: total.count - below.counts[at],
            witnesses,
        }
    }
}

/// Inserts an element before its descendants.
fn put_first(
    witnesses: &mut Vec<Arc<ElementRecord>>,
    record: &Arc<ElementRecord>,
    witnesses_max: usize,
) {
    witnesses.insert(0, Arc::clone(record));
    witnesses.truncate(witnesses_max);
}

impl SubtreeWords for SubtreeSummary {
    fn for_each_word(&self, visit: &mut dyn FnMut(WordId, u64)) {
        for (&word, total) in &self.totals {
            visit(word, total.count);
        }
    }

    fn count(&self, word: WordId) -> u64 {
        self.totals.get(&word).map_or(0, |total| total.count)
    }

    fn witnesses(&mut self, word: WordId, max: usize) -> Vec<Arc<ElementRecord>> {
        let witnesses = self.totals.get(&word).map(|total| &total.witnesses);
        let first = witnesses.map(|all| &all[..all.len().min(max)]);
        first.map_or(Vec::new(), <[_]>::to_vec)
    }
}
