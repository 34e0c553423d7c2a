//! Posting lists from words to the OR queries that contain them.
//!
//! An OR query with header tests requires all of its header words and any of the others. It is listed
//! either under its header word with the fewest queries or under each of its other words, whichever
//! lists are shorter, and tested when it is found.

use crate::subscription_store::file_format::is_partition;
use crate::subscription_store::flat_layout::FlatArray;

use crate::keywords::token_sink::{Mode, QuerySet, WordId};

/// The OR queries of each word.
pub struct DisjunctionIndex {
    /// Start of each word's queries; one more than there are words.
    pub starts: FlatArray<u32>,
    /// The queries of all words; those of one word are ascending.
    pub queries: FlatArray<u32>,
}

/// The words of an OR query: those of header tests, all of which it requires, and the others.
fn split_words(words: &[WordId], header_words: WordId) -> (&[WordId], &[WordId]) {
    words.split_at(words.partition_point(|&word| word < header_words))
}

/// Whether an OR query with these words matches. `header_words` is the number of words of header
/// tests, which are the first of the vocabulary.
pub fn is_met(words: &[WordId], header_words: WordId, is_present: impl Fn(WordId) -> bool) -> bool {
    let (header, others) = split_words(words, header_words);
    header.iter().all(|&word| is_present(word)) && others.iter().any(|&word| is_present(word))
}

/// Determines the words that an OR query is listed under.
fn listing<'q>(queries: &'q dyn QuerySet) -> impl Fn(u32) -> &'q [WordId] {
    let disjunctions =
        (0..queries.count() as u32).filter(|&query| queries.mode(query) == Mode::Any);
    let mut uses = vec![0_u32; queries.word_count()];
    for &word in disjunctions.flat_map(|query| queries.words(query)) {
        uses[word as usize] += 1;
    }
    move |query| {
        let (header, others) = split_words(queries.words(query), queries.header_words());
        let rarest = (0..header.len()).min_by_key(|&at| uses[header[at] as usize]);
        let longest = others.iter().map(|&word| uses[word as usize]).max();
        match rarest {
            Some(at) if Some(uses[header[at] as usize]) <= longest => &header[at..=at],
            _ => others,
        }
    }
}

impl DisjunctionIndex {
    /// Indexes all OR queries.
    pub fn build(queries: &dyn QuerySet) -> DisjunctionIndex {
        let count = u32::try_from(queries.count()).expect("fewer than 2^32 queries");
        let disjunctions = || (0..count).filter(|&query| queries.mode(query) == Mode::Any);
        let listed_under = listing(queries);
        let mut starts = vec![0_u32; queries.word_count() + 1];
        for &word in disjunctions().flat_map(&listed_under) {
            starts[word as usize + 1] += 1;
        }
        for word in 1..starts.len() {
            starts[word] += starts[word - 1];
        }
        let total = starts.last().copied().unwrap_or(0);
        let mut listed = vec![0; total as usize];
        let mut ends = starts.clone();
        for query in disjunctions() {
            for &word in listed_under(query) {
                let end = &mut ends[word as usize];
                listed[*end as usize] = query;
                *end += 1;
            }
        }
        DisjunctionIndex {
            starts: starts.into(),
            queries: listed.into(),
        }
    }

    /// The OR queries that contain a word.
    #[inline]
    pub fn get(&self, word: WordId) -> &[u32] {
        let start = self.starts[word as usize] as usize;
        &self.queries[start..self.starts[word as usize + 1] as usize]
    }

    /// Whether each OR query is listed under the words that [`DisjunctionIndex::build`] chooses.
    pub fn is_valid(&self, queries: &dyn QuerySet) -> bool {
        let disjunctions =
            (0..queries.count() as u32).filter(|&query| queries.mode(query) == Mode::Any);
        let listed_under = listing(queries);
        let word_count: usize = disjunctions.map(|query| listed_under(query).len()).sum();
        let is_listed_under = |word: WordId, query: u32| {
            (query as usize) < queries.count()
                && queries.mode(query) == Mode::Any
                && listed_under(query).binary_search(&word).is_ok()
        };
        self.starts.len() == queries.word_count() + 1
            && self.queries.len() == word_count
            && word_count < u32::MAX as usize
            && is_partition(self.starts.iter().copied(), word_count as u32)
            && (0..queries.word_count() as WordId).all(|word| {
                let listed = self.get(word);
                listed.is_sorted_by(|a, b| a < b)
                    && listed.iter().all(|&query| is_listed_under(word, query))
            })
    }

    /// Whether there are no OR queries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OR queries; the first `header_words` words are those of header tests.
    struct Disjunctions {
        queries: Vec<Vec<WordId>>,
        header_words: WordId,
    }

    impl QuerySet for Disjunctions {
        fn count(&self) -> usize {
            self.queries.len()
        }

        fn words(&self, query: u32) -> &[WordId] {
            &self.queries[query as usize]
        }

        fn mode(&self, _: u32) -> Mode {
            Mode::Any
        }

        fn word_count(&self) -> usize {
            10
        }

        fn header_words(&self) -> WordId {
            self.header_words
        }
    }

    #[test]
    fn a_query_with_header_tests_is_listed_where_lists_are_short() {
        // All share the word 8 and differ in the header word; two share the header word 3.
        let queries = vec![
            vec![0, 8],
            vec![1, 8],
            vec![2, 8],
            vec![3, 5],
            vec![3, 6, 7],
        ];
        let index = DisjunctionIndex::build(&Disjunctions {
            queries,
            header_words: 4,
        });
        assert_eq!(index.get(8), &[0; 0]);
        assert_eq!(
            [index.get(0), index.get(1), index.get(2)],
            [&[0], &[1], &[2]]
        );
        assert_eq!(index.get(3), &[0; 0]);
        assert_eq!(
            [index.get(5), index.get(6), index.get(7)],
            [&[3], &[4], &[4]]
        );
    }

    #[test]
    fn all_header_words_and_any_other_word_are_required() {
        let met = |present: &[WordId]| is_met(&[0, 1, 5, 6], 2, |word| present.contains(&word));
        assert!(met(&[0, 1, 5]) && met(&[0, 1, 6, 7]));
        assert!(!met(&[0, 5]) && !met(&[0, 1]) && !met(&[5, 6]));
    }
}
