//! Validates the structure of a keyword segment that was read from a file.
//!
//! The searches follow offsets without checks of their own. Everything they rely on is checked here, in
//! time linear in the size of the segment.

use crate::keywords::query::KEYWORDS_MAX;
use crate::keywords::segment::{ClassWords, KeywordSegment};
use crate::keywords::token_sink::QuerySet;
use crate::subscription_store::file_format::is_partition;
use crate::subscription_store::header_tests::HEADER_TESTS_MAX;

/// Checks a segment; the error says which part is invalid.
pub(super) fn validate(segment: &KeywordSegment) -> Result<(), &'static str> {
    let require = |is_valid: bool, problem| is_valid.then_some(()).ok_or(problem);
    let queries = &segment.queries;
    require(segment.vocabulary.is_valid(), "its vocabulary is invalid")?;
    require(are_queries_valid(queries), "its queries are invalid")?;
    require(
        segment.subscriptions.class_count() == queries.count(),
        "its parts do not fit together",
    )?;
    require(
        segment.conjunctions.is_valid(queries),
        "its index of AND queries is invalid",
    )?;
    require(
        segment.disjunctions.is_valid(queries),
        "its index of OR queries is invalid",
    )
}

fn are_queries_valid(queries: &ClassWords) -> bool {
    let (starts, count) = (&queries.starts, queries.words.len());
    starts.len() == queries.modes.len() + 1
        && count < u32::MAX as usize
        && is_partition(starts.iter().copied(), count as u32)
        && queries.modes.iter().all(|&mode| mode <= 1)
        && starts.windows(2).all(|ends| {
            let words = &queries.words[ends[0] as usize..ends[1] as usize];
            let header_words = words.partition_point(|&word| word < queries.header_words);
            header_words <= HEADER_TESTS_MAX
                && (1..=KEYWORDS_MAX).contains(&(words.len() - header_words))
                && words.is_sorted_by(|a, b| a < b)
                && words
                    .last()
                    .is_some_and(|&word| (word as usize) < queries.word_count)
        })
}
