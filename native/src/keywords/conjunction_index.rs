//! Finds the AND queries all of whose words occur in a document.
//!
//! A query is indexed by its two rarest words and considered only if both occur. Entries are stored
//! contiguously and tested without branches, because whether a word occurs is unpredictable.

use bytemuck::{Pod, Zeroable};

use crate::subscription_store::file_format::is_partition;
use crate::subscription_store::flat_layout::{prefetch, FlatArray};

use crate::keywords::adaptive_reindex::ObservedFrequencies;
use crate::keywords::buffers::ensure_len;
use crate::keywords::token_sink::{Mode, QuerySet, WordId};

/// Number of words stored in an entry. The remaining words of longer queries are tested only if all
/// of these occur.
pub const ENTRY_WORDS: usize = 6;

/// Number of second words probed for each first word, and of entries for each pair, regardless of
/// how many exist; this avoids a mispredicted branch. Few lists are longer.
const SECOND_WORDS_UNROLLED: usize = 4;
const ENTRIES_UNROLLED: usize = 2;

/// Number of entry lists by which prefetching runs ahead.
const PREFETCH_DISTANCE: usize = 8;

/// Second word of an index key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SecondWord {
    /// The word; equal to the first word for single-word queries.
    pub word: WordId,
    /// Index of its first entry; the list ends where that of the next second word starts.
    pub entries: u32,
}

/// Index entry of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct QueryEntry {
    query: u32,
    /// Number of words.
    count: u32,
    /// The rarest words, rarest first, padded with the second.
    words: [WordId; ENTRY_WORDS],
}

/// Index of all AND queries by their two rarest words.
pub struct ConjunctionIndex {
    /// Index of each word's first [`SecondWord`]; one more than there are words.
    pub starts: FlatArray<u32>,
    /// All second words, padded for unrolled probing. The first padding element ends the last list
    /// of entries.
    pub second_words: FlatArray<SecondWord>,
    /// All entries, padded for unrolled probing.
    pub entries: FlatArray<QueryEntry>,
}

/// 1 if a word occurs in a document, else 0. An integer, so that the words of a query are combined
/// by AND without branches.
pub type Presence = u32;

/// Reusable buffers of a search.
#[derive(Debug, Default)]
pub struct SearchBuffers {
    first_ranges: Vec<CandidateRange>,
    second_ranges: Vec<CandidateRange>,
    candidates: Vec<u32>,
    /// Statistics for [`crate::keywords::adaptive_reindex`].
    pub observed: ObservedFrequencies,
}

/// Start and end of a list.
type CandidateRange = (u32, u32);

impl ConjunctionIndex {
    /// Builds an index of all AND queries. `counts` gives the document frequency of each word, if
    /// known. Among equally frequent words, the one in the fewest queries counts as the rarest.
    pub fn build(queries: &dyn QuerySet, counts: &[u32]) -> ConjunctionIndex {
        let ordered = OrderedQueries::new(queries, counts);
        let mut starts = vec![0_u32; queries.word_count() + 1];
        let mut second_words: Vec<SecondWord> = Vec::new();
        let mut entries = Vec::with_capacity(ordered.order.len());
        let mut before = None;
        for &at in &ordered.order {
            let key = ordered.get(at);
            let (first, second) = (key[0], key[key.len().min(2) - 1]);
            if before != Some((first, second)) {
                before = Some((first, second));
                starts[first as usize + 1] += 1;
                second_words.push(SecondWord {
                    word: second,
                    entries: entries.len() as u32,
                });
            }
            let mut words = [second; ENTRY_WORDS];
            for (word, &rarest) in words.iter_mut().zip(key) {
                *word = rarest;
            }
            entries.push(QueryEntry {
                query: ordered.queries[at as usize],
                count: key.len() as u32,
                words,
            });
        }
        let none = SecondWord {
            word: 0,
            entries: entries.len() as u32,
        };
        second_words.extend([none; SECOND_WORDS_UNROLLED]);
        entries.extend([QueryEntry::zeroed(); ENTRIES_UNROLLED]);
        for word in 1..starts.len() {
            starts[word] += starts[word - 1];
        }
        ConjunctionIndex {
            starts: starts.into(),
            second_words: second_words.into(),
            entries: entries.into(),
        }
    }

    /// Appends the queries all of whose words occur to `found`, each once; `words` are the words of the
    /// document, distinct and in any order.
    #[inline]
    pub fn search(
        &self,
        buffers: &mut SearchBuffers,
        queries: &dyn QuerySet,
        words: &[WordId],
        presence_of: impl Fn(WordId) -> Presence,
        found: &mut Vec<u32>,
    ) {
        let SearchBuffers {
            first_ranges,
            second_ranges,
            candidates,
            observed,
        } = buffers;
        let first_ranges = self.first_word_ranges(first_ranges, words);
        let second_ranges = self.second_word_ranges(second_ranges, first_ranges, &presence_of);
        let candidates = self.filter_by_third_word(candidates, second_ranges, &presence_of);
        let first = found.len();
        found.resize(first + candidates.len(), 0);
        let matched = &mut found[first..];
        let mut count = 0;
        for &at in candidates {
            let entry = &self.entries[at as usize];
            let [_, _, _, b, c, d] = entry.words;
            let mut presence = presence_of(b) & presence_of(c) & presence_of(d);
            if entry.count as usize > ENTRY_WORDS && presence != 0 {
                let words = queries.words(entry.query).iter();
                presence = words.fold(presence, |all, &word| all & presence_of(word));
            }
            matched[count] = entry.query;
            count += presence as usize;
        }
        found.truncate(first + count);
        if observed.is_observing() {
            let probed = total_len(second_ranges);
            observed.record(queries.word_count(), words, probed, count);
        }
    }

    /// Lists of second words for each word that occurs.
    #[inline(always)]
    fn first_word_ranges<'m>(
        &self,
        to: &'m mut Vec<CandidateRange>,
        words: &[WordId],
    ) -> &'m [CandidateRange] {
        ensure_len(to, words.len());
        let (starts, second_words) = (&self.starts[..], &self.second_words[..]);
        let to = &mut to[..words.len()];
        let mut count = 0;
        for &word in words {
            let ends = &starts[word as usize..word as usize + 2];
            prefetch(second_words, ends[0] as usize);
            to[count] = (ends[0], ends[1]);
            count += usize::from(ends[0] < ends[1]);
        }
        &to[..count]
    }

    /// Lists of entries whose first two words occur.
    #[inline(always)]
    fn second_word_ranges<'m>(
        &self,
        to: &'m mut Vec<CandidateRange>,
        first_ranges: &[CandidateRange],
        presence_of: impl Fn(WordId) -> Presence,
    ) -> &'m [CandidateRange] {
        ensure_len(to, total_len(first_ranges) + SECOND_WORDS_UNROLLED);
        let (to, second_words) = (&mut to[..], &self.second_words[..]);
        let mut count = 0;
        for &(start, end) in first_ranges {
            let mut probe = |at: u32, two: &[SecondWord]| {
                to[count] = (two[0].entries, two[1].entries);
                let presence = presence_of(two[0].word) & Presence::from(at < end);
                count += presence as usize;
            };
            let first = &second_words[start as usize..start as usize + SECOND_WORDS_UNROLLED + 1];
            (start..)
                .zip(first.windows(2))
                .for_each(|(at, two)| probe(at, two));
            for at in start + SECOND_WORDS_UNROLLED as u32..end {
                probe(at, &second_words[at as usize..at as usize + 2]);
            }
        }
        &to[..count]
    }

    /// Entries whose third word occurs, too.
    #[inline(always)]
    fn filter_by_third_word<'m>(
        &self,
        to: &'m mut Vec<u32>,
        second_ranges: &[CandidateRange],
        presence_of: impl Fn(WordId) -> Presence,
    ) -> &'m [u32] {
        ensure_len(to, total_len(second_ranges) + ENTRIES_UNROLLED);
        let (to, entries) = (&mut to[..], &self.entries[..]);
        let mut count = 0;
        for (at, &(start, end)) in second_ranges.iter().enumerate() {
            if let Some(later) = second_ranges.get(at + PREFETCH_DISTANCE) {
                prefetch(entries, later.0 as usize);
            }
            let mut probe = |at: u32, entry: &QueryEntry| {
                to[count] = at;
                let presence = presence_of(entry.words[2]) & Presence::from(at < end);
                count += presence as usize;
            };
            let first = &entries[start as usize..start as usize + ENTRIES_UNROLLED];
            (start..)
                .zip(first)
                .for_each(|(at, entry)| probe(at, entry));
            for at in start + ENTRIES_UNROLLED as u32..end {
                probe(at, &entries[at as usize]);
            }
        }
        &to[..count]
    }
}

impl ConjunctionIndex {
    /// Whether the index contains each AND query once, under words of its own.
    pub fn is_valid(&self, queries: &dyn QuerySet) -> bool {
        let (Some(lists), Some(entry_count)) = (
            self.second_words.len().checked_sub(SECOND_WORDS_UNROLLED),
            self.entries.len().checked_sub(ENTRIES_UNROLLED),
        ) else {
            return false;
        };
        let (second_words, padding) = self.second_words.split_at(lists);
        let (entries, entry_padding) = self.entries.split_at(entry_count);
        let none = SecondWord {
            word: 0,
            entries: entry_count as u32,
        };
        let starts = self.second_words[..=lists]
            .iter()
            .map(|second| second.entries);
        let has_valid_lists = self.starts.len() == queries.word_count() + 1
            && lists < u32::MAX as usize
            && entry_count < u32::MAX as usize
            && is_partition(self.starts.iter().copied(), lists as u32)
            && is_partition(starts, entry_count as u32)
            && padding.iter().all(|second| *second == none)
            && entry_padding
                .iter()
                .all(|entry| *entry == QueryEntry::zeroed());
        if !has_valid_lists {
            return false;
        }
        let mut is_indexed = vec![false; queries.count()];
        let are_valid = (0..queries.word_count() as WordId).all(|first| {
            let ends = &self.starts[first as usize..first as usize + 2];
            (ends[0]..ends[1]).all(|at| {
                let second = second_words[at as usize];
                let end = self.second_words[at as usize + 1].entries;
                entries[second.entries as usize..end as usize]
                    .iter()
                    .all(|entry| {
                        is_entry_valid(entry, queries, first, second.word)
                            && !std::mem::replace(&mut is_indexed[entry.query as usize], true)
                    })
            })
        });
        let is_all = |query: &u32| queries.mode(*query) == Mode::All;
        are_valid && (0..queries.count() as u32).filter(is_all).count() == entry_count
    }
}

/// Whether an entry contains the rarest words of its query, the first two being those it is listed under.
fn is_entry_valid(
    entry: &QueryEntry,
    queries: &dyn QuerySet,
    first: WordId,
    second: WordId,
) -> bool {
    if entry.query as usize >= queries.count() || queries.mode(entry.query) != Mode::All {
        return false;
    }
    let words = queries.words(entry.query);
    let (own, padding) = entry.words.split_at(words.len().min(ENTRY_WORDS));
    let are_distinct = || (1..own.len()).all(|at| !own[..at].contains(&own[at]));
    entry.count as usize == words.len()
        && own.first() == Some(&first)
        && own[own.len().min(2) - 1] == second
        && own.iter().all(|word| words.binary_search(word).is_ok())
        && are_distinct()
        && padding.iter().all(|&word| word == second)
}

/// Total length of lists.
fn total_len(ranges: &[CandidateRange]) -> usize {
    let lens = ranges.iter().map(|(start, end)| (end - start) as usize);
    lens.sum()
}

/// The words of each AND query, rarest first, in index order.
struct OrderedQueries {
    ends: Vec<usize>,
    words: Vec<WordId>,
    queries: Vec<u32>,
    order: Vec<u32>,
}

impl OrderedQueries {
    fn new(queries: &dyn QuerySet, counts: &[u32]) -> OrderedQueries {
        let count = u32::try_from(queries.count()).expect("fewer than 2^32 queries");
        let conjunctions = (0..count).filter(|&query| queries.mode(query) == Mode::All);
        let mut ordered = OrderedQueries {
            ends: vec![0],
            words: Vec::new(),
            queries: conjunctions.collect(),
            order: Vec::new(),
        };
        let mut frequency = vec![0_u32; queries.word_count()];
        for &query in &ordered.queries {
            for &word in queries.words(query) {
                frequency[word as usize] += 1;
            }
        }
        for &query in &ordered.queries {
            let start = ordered.words.len();
            ordered.words.extend_from_slice(queries.words(query));
            ordered.words[start..].sort_unstable_by_key(|&word| {
                let count = counts.get(word as usize).copied().unwrap_or_default();
                (count, frequency[word as usize], word)
            });
            ordered.ends.push(ordered.words.len());
        }
        let mut order: Vec<u32> = (0..ordered.queries.len() as u32).collect();
        order.sort_unstable_by_key(|&at| (ordered.get(at), at));
        ordered.order = order;
        ordered
    }

    fn get(&self, at: u32) -> &[WordId] {
        &self.words[self.ends[at as usize]..self.ends[at as usize + 1]]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::keywords::testing::{queries, QueryList};

    fn found(queries: &QueryList, words: &BTreeSet<WordId>) -> Vec<u32> {
        let listed: Vec<WordId> = words.iter().copied().collect();
        let mut buffers = SearchBuffers::default();
        let presence = |word| Presence::from(words.contains(&word));
        let mut found = Vec::new();
        let index = ConjunctionIndex::build(queries, &[]);
        index.search(&mut buffers, queries, &listed, presence, &mut found);
        found.sort_unstable();
        found
    }

    #[test]
    fn queries_are_indexed_by_their_rarest_words() {
        let words = [vec![0, 1], vec![0, 1, 2], vec![2, 3], vec![2, 4]];
        let queries = QueryList::new(words.map(|words| (Mode::All, words)));
        let index = ConjunctionIndex::build(&queries, &[]);
        // The pair (0, 1) has two entries. Word 2 is the most frequent and so comes second in (3,
        // 2) and (4, 2).
        assert_eq!(*index.starts, [0, 1, 1, 1, 2, 3]);
        assert_eq!(index.entries.len() - ENTRIES_UNROLLED, 4);
        assert_eq!(found(&queries, &BTreeSet::from([0, 1, 2])), [0, 1]);
        assert_eq!(found(&queries, &BTreeSet::from([2, 4])), [3]);
    }

    #[test]
    fn two_queries_of_the_same_words_are_both_found() {
        let queries = QueryList::new([
            (Mode::All, vec![0, 1]),
            (Mode::All, vec![1, 0]),
            (Mode::All, vec![0, 1, 2, 2]),
        ]);
        assert_eq!(found(&queries, &BTreeSet::from([0, 1])), [0, 1]);
        assert_eq!(found(&queries, &BTreeSet::from([0, 1, 2])), [0, 1, 2]);
    }

    #[test]
    fn without_queries_nothing_is_found() {
        let none = QueryList::default().with_words(3);
        assert_eq!(found(&none, &BTreeSet::from([0, 2])), [0_u32; 0]);
    }

    #[test]
    fn queries_longer_than_an_entry_are_found_only_if_all_words_occur() {
        let words: Vec<WordId> = (0..ENTRY_WORDS as WordId + 2).collect();
        let queries = QueryList::new([
            (Mode::All, vec![0, 1, 2]),
            (Mode::All, vec![2, 3]),
            (Mode::All, words.clone()),
        ]);
        let all: BTreeSet<WordId> = words.iter().copied().collect();
        assert_eq!(found(&queries, &all), [0, 1, 2]);
        for word in words {
            let others: BTreeSet<WordId> = all.iter().copied().filter(|&w| w != word).collect();
            assert!(!found(&queries, &others).contains(&2), "{word}");
        }
    }

    proptest! {
        #[test]
        fn a_query_is_found_where_all_its_words_are(
            queries in queries(16, 20),
            long in prop::collection::vec(prop::collection::vec(0..16_u32, 6..16), 0..5),
            words in prop::collection::btree_set(0..16_u32, 0..16),
        ) {
            let drawn = (0..queries.count() as u32).map(|query| (queries.mode(query), queries.words(query).to_vec()));
            let long = long.into_iter().map(|words| (Mode::All, words));
            let queries = QueryList::new(drawn.chain(long)).with_words(16);
            let complete = |&query: &u32| {
                queries.mode(query) == Mode::All
                    && queries.words(query).iter().all(|word| words.contains(word))
            };
            let expected: Vec<u32> = (0..queries.count() as u32).filter(complete).collect();
            prop_assert_eq!(found(&queries, &words), expected);
        }
    }
}
