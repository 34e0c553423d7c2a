//! Which AND queries have all their words in a document.
//!
//! A query is filed under its two rarest words: it is looked at only where both are in the document. What is
//! looked at stands side by side, and nothing is branched on: whether a word is there cannot be foretold.

use bytemuck::{Pod, Zeroable};

use crate::subscription_store::flat_layout::{fetch, Flat};

use crate::keywords::adaptive_reindex::Learnt;
use crate::keywords::token_sink::{Mode, Queries, WordId};

/// Words of a query that stand in its row. A longer query's others are looked up once all these are there.
pub const ROW_WORDS: usize = 6;

/// So many words behind a first one are looked at, and so many rows behind both, without asking how many
/// there are: it cannot be foretold. Few have more.
const SECONDS_AT_ONCE: usize = 4;
const ROWS_AT_ONCE: usize = 2;

/// Memory is fetched so many lists of rows before it is needed.
const FETCHED_AHEAD: usize = 8;

/// A word that queries are filed under, behind another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Second {
    /// The word; the first one again for queries of one word.
    pub word: WordId,
    /// The first of its rows; they end where those of the next one begin.
    pub rows: u32,
}

/// A query that is filed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Row {
    query: u32,
    /// How many words it has.
    count: u32,
    /// The rarest of them, rarest first; the second again where it has fewer.
    words: [WordId; ROW_WORDS],
}

/// The AND queries, filed.
pub struct Filing {
    /// For each word the first [`Second`] behind it; one more than there are words.
    pub starts: Flat<u32>,
    /// All of them, and as many as are looked at without asking, the first of which ends the last one's rows.
    pub seconds: Flat<Second>,
    /// The queries, and as many as are looked at without asking.
    pub rows: Flat<Row>,
}

/// What is known of a word in a document: 0 where it is not there. The places of a query's words come
/// together by AND.
pub type Places = u32;

/// A query all of whose words are there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Complete {
    /// Its number.
    pub query: u32,
    /// Where it is filed.
    row: u32,
    /// What the places of all its words have in common.
    pub places: Places,
}

/// Memory of a search, kept so that it is used again.
#[derive(Debug, Default)]
pub struct Search {
    firsts: Vec<Reached>,
    reached: Vec<Reached>,
    likely: Vec<(u32, Places)>,
    /// What was learnt from the searches.
    pub learnt: Learnt,
}

/// From where to where to go on, and the places of the words so far.
type Reached = (u32, u32, Places);

impl Filing {
    /// All AND queries; `counts` says of the words in how many documents they were, where that is known. Of
    /// words alike the rarest is that which the fewest queries have.
    pub fn build(queries: &dyn Queries, counts: &[u32]) -> Filing {
        let keys = Keys::new(queries, counts);
        let mut starts = vec![0_u32; queries.word_count() + 1];
        let mut seconds: Vec<Second> = Vec::new();
        let mut rows = Vec::with_capacity(keys.order.len());
        let mut before = None;
        for &at in &keys.order {
            let key = keys.get(at);
            let (first, second) = (key[0], key[key.len().min(2) - 1]);
            if before != Some((first, second)) {
                before = Some((first, second));
                starts[first as usize + 1] += 1;
                seconds.push(Second {
                    word: second,
                    rows: rows.len() as u32,
                });
            }
            let mut words = [second; ROW_WORDS];
            for (word, &rarest) in words.iter_mut().zip(key) {
                *word = rarest;
            }
            rows.push(Row {
                query: keys.queries[at as usize],
                count: key.len() as u32,
                words,
            });
        }
        let none = Second {
            word: 0,
            rows: rows.len() as u32,
        };
        seconds.extend([none; SECONDS_AT_ONCE]);
        rows.extend([Row::zeroed(); ROWS_AT_ONCE]);
        for word in 1..starts.len() {
            starts[word] += starts[word - 1];
        }
        Filing {
            starts: starts.into(),
            seconds: seconds.into(),
            rows: rows.into(),
        }
    }

    /// Tells the queries all of whose words are there; `words` are those that are, in any order, each once.
    #[inline]
    pub fn search(
        &self,
        memory: &mut Search,
        queries: &dyn Queries,
        words: &[WordId],
        places_of: impl Fn(WordId) -> Places,
        mut found: impl FnMut(Complete),
    ) {
        let Search {
            firsts,
            reached,
            likely,
            learnt,
        } = memory;
        let firsts = self.firsts(firsts, words, &places_of);
        let reached = self.reached(reached, firsts, &places_of);
        let mut count = 0;
        for &(at, places) in self.likely(likely, reached, &places_of) {
            let row = &self.rows[at as usize];
            let [_, _, _, b, c, d] = row.words;
            let mut places = places & places_of(b) & places_of(c) & places_of(d);
            if row.count as usize > ROW_WORDS && places != 0 {
                let words = queries.words(row.query).iter();
                places = words.fold(places, |all, &word| all & places_of(word));
            }
            if places != 0 {
                count += 1;
                found(Complete {
                    query: row.query,
                    row: at,
                    places,
                });
            }
        }
        if learnt.is_learning() {
            let looked_at = reached.iter().map(|(start, end, _)| (end - start) as usize);
            learnt.learn(queries.word_count(), words, looked_at.sum(), count);
        }
    }

    /// The words of a query that was found, in any order. They stand where it was found.
    #[inline]
    pub fn words<'f>(&'f self, queries: &'f dyn Queries, found: Complete) -> &'f [WordId] {
        let row = &self.rows[found.row as usize];
        match row.words.get(..row.count as usize) {
            Some(words) => words,
            None => queries.words(found.query),
        }
    }

    /// Where queries are filed under words that are there.
    #[inline(always)]
    fn firsts<'m>(
        &self,
        to: &'m mut Vec<Reached>,
        words: &[WordId],
        places_of: impl Fn(WordId) -> Places,
    ) -> &'m [Reached] {
        make_room(to, words.len());
        let (starts, seconds) = (&self.starts[..], &self.seconds[..]);
        let to = &mut to[..words.len()];
        let mut count = 0;
        for &word in words {
            let ends = &starts[word as usize..word as usize + 2];
            fetch(seconds, ends[0] as usize);
            to[count] = (ends[0], ends[1], places_of(word));
            count += usize::from(ends[0] < ends[1]);
        }
        &to[..count]
    }

    /// The rows of queries two of whose words are there.
    #[inline(always)]
    fn reached<'m>(
        &self,
        to: &'m mut Vec<Reached>,
        firsts: &[Reached],
        places_of: impl Fn(WordId) -> Places,
    ) -> &'m [Reached] {
        let looked_at = firsts.iter().map(|(start, end, _)| (end - start) as usize);
        make_room(to, looked_at.sum::<usize>() + SECONDS_AT_ONCE);
        let (to, seconds) = (&mut to[..], &self.seconds[..]);
        let mut count = 0;
        for &(start, end, places) in firsts {
            let mut look = |at: u32, two: &[Second]| {
                let places = places & places_of(two[0].word) & mask(at < end);
                to[count] = (two[0].rows, two[1].rows, places);
                count += usize::from(places != 0);
            };
            let first = &seconds[start as usize..start as usize + SECONDS_AT_ONCE + 1];
            (start..)
                .zip(first.windows(2))
                .for_each(|(at, two)| look(at, two));
            for at in start + SECONDS_AT_ONCE as u32..end {
                look(at, &seconds[at as usize..at as usize + 2]);
            }
        }
        &to[..count]
    }

    /// Of these rows, those whose third word is there, too.
    #[inline(always)]
    fn likely<'m>(
        &self,
        to: &'m mut Vec<(u32, Places)>,
        reached: &[Reached],
        places_of: impl Fn(WordId) -> Places,
    ) -> &'m [(u32, Places)] {
        let looked_at = reached.iter().map(|(start, end, _)| (end - start) as usize);
        make_room(to, looked_at.sum::<usize>() + ROWS_AT_ONCE);
        let (to, rows) = (&mut to[..], &self.rows[..]);
        let mut count = 0;
        for (at, &(start, end, places)) in reached.iter().enumerate() {
            if let Some(later) = reached.get(at + FETCHED_AHEAD) {
                fetch(rows, later.0 as usize);
            }
            let mut look = |at: u32, row: &Row| {
                let places = places & places_of(row.words[2]) & mask(at < end);
                to[count] = (at, places);
                count += usize::from(places != 0);
            };
            let first = &rows[start as usize..start as usize + ROWS_AT_ONCE];
            (start..).zip(first).for_each(|(at, row)| look(at, row));
            for at in start + ROWS_AT_ONCE as u32..end {
                look(at, &rows[at as usize]);
            }
        }
        &to[..count]
    }
}

/// All places, or none.
#[inline(always)]
fn mask(is_wanted: bool) -> Places {
    Places::from(is_wanted).wrapping_neg()
}

/// Makes room for so many, without a say what stands there.
#[inline]
pub fn make_room<T: Default + Clone>(values: &mut Vec<T>, count: usize) {
    if values.len() < count {
        values.resize(2 * count, T::default());
    }
}

/// The words of each AND query, rarest first, in the order in which they are laid out.
struct Keys {
    ends: Vec<usize>,
    words: Vec<WordId>,
    queries: Vec<u32>,
    order: Vec<u32>,
}

impl Keys {
    fn new(queries: &dyn Queries, counts: &[u32]) -> Keys {
        let count = u32::try_from(queries.count()).expect("fewer than 2^32 queries");
        let conjunctions = (0..count).filter(|&query| queries.mode(query) == Mode::All);
        let mut keys = Keys {
            ends: vec![0],
            words: Vec::new(),
            queries: conjunctions.collect(),
            order: Vec::new(),
        };
        let mut frequency = vec![0_u32; queries.word_count()];
        for &query in &keys.queries {
            for &word in queries.words(query) {
                frequency[word as usize] += 1;
            }
        }
        for &query in &keys.queries {
            let start = keys.words.len();
            keys.words.extend_from_slice(queries.words(query));
            keys.words[start..].sort_unstable_by_key(|&word| {
                let count = counts.get(word as usize).copied().unwrap_or_default();
                (count, frequency[word as usize], word)
            });
            keys.ends.push(keys.words.len());
        }
        let mut order: Vec<u32> = (0..keys.queries.len() as u32).collect();
        order.sort_unstable_by_key(|&at| (keys.get(at), at));
        keys.order = order;
        keys
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
        let mut memory = Search::default();
        let places = |word| Places::from(words.contains(&word));
        let mut found = Vec::new();
        Filing::build(queries, &[]).search(&mut memory, queries, &listed, places, |complete| {
            found.push(complete.query);
        });
        found.sort_unstable();
        found
    }

    #[test]
    fn queries_are_filed_under_their_rarest_words() {
        let words = [vec![0, 1], vec![0, 1, 2], vec![2, 3], vec![2, 4]];
        let queries = QueryList::new(words.map(|words| (Mode::All, words)));
        let filing = Filing::build(&queries, &[]);
        // 0 1 has two rows; 2, which most have, comes behind in 3 2 and 4 2.
        assert_eq!(*filing.starts, [0, 1, 1, 1, 2, 3]);
        assert_eq!(filing.rows.len() - ROWS_AT_ONCE, 4);
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
    fn places_that_all_words_have_in_common_are_told() {
        let queries = QueryList::new([
            (Mode::All, vec![0, 1, 2]),
            (Mode::All, vec![2, 3]),
            (Mode::All, (0..8).collect()),
        ]);
        let filing = Filing::build(&queries, &[]);
        let places = |word: WordId| !(2 << word);
        let words: Vec<WordId> = (0..8).collect();
        let mut memory = Search::default();
        let mut found = Vec::new();
        filing.search(&mut memory, &queries, &words, places, |complete| {
            assert_eq!(
                filing.words(&queries, complete).len(),
                queries.words(complete.query).len()
            );
            found.push((complete.query, !complete.places));
        });
        found.sort_unstable();
        let places: Vec<Places> = found.iter().map(|&(_, places)| places).collect();
        assert_eq!(places, [0b1110, 0b11000, 0b1_1111_1110]);
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
