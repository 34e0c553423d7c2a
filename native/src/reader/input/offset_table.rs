//! Maps offsets in decoded text to offsets in the original bytes.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Runs after the one found last that are compared one by one, before a binary search.
const RUNS_PROBED: usize = 32;

/// Consecutive characters of the same width, both decoded and in the original.
#[derive(Clone, Copy, Debug)]
struct Run {
    decoded: u64,
    original: u64,
    decoded_width: u32,
    original_width: u32,
}

/// The original offset of each character of the decoded text in memory.
///
/// The characters are stored as runs of equal widths, so a text in one script takes few entries. Offsets
/// must be character boundaries.
#[derive(Debug, Default)]
pub(in crate::reader) struct OffsetTable {
    runs: Vec<Run>,
    /// Offset of the text in memory in the decoded document.
    base: u64,
    decoded_end: u64,
    original_end: u64,
    /// The run found last: offsets are mostly requested in ascending order.
    last_found: AtomicUsize,
}

impl OffsetTable {
    /// Starts a document whose text starts at `original`.
    pub(super) fn begin(&mut self, original: u64) {
        self.runs.clear();
        *self.last_found.get_mut() = 0;
        self.base = 0;
        self.decoded_end = 0;
        self.original_end = original;
    }

    /// Adds `count` characters of the given widths.
    #[inline]
    pub(super) fn push(&mut self, count: usize, decoded_width: usize, original_width: usize) {
        let continues = self.runs.last().is_some_and(|run| {
            run.decoded_width as usize == decoded_width
                && run.original_width as usize == original_width
        });
        if !continues {
            self.runs.push(Run {
                decoded: self.decoded_end,
                original: self.original_end,
                decoded_width: decoded_width as u32,
                original_width: original_width as u32,
            });
        }
        self.decoded_end += (count * decoded_width) as u64;
        self.original_end += (count * original_width) as u64;
    }

    /// Drops the first `bytes` of the text in memory.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.base += bytes as u64;
        let consumed = self
            .runs
            .partition_point(|run| run.decoded <= self.base)
            .saturating_sub(1);
        self.runs.drain(..consumed);
        *self.last_found.get_mut() = 0;
    }

    /// The original offset of offset `at` of the text in memory.
    pub(in crate::reader) fn original(&self, at: usize) -> u64 {
        let decoded = self.base + at as u64;
        if decoded >= self.decoded_end {
            return self.original_end;
        }
        let run = self.runs[self.run_at(decoded)];
        let characters = (decoded - run.decoded) / u64::from(run.decoded_width);
        run.original + characters * u64::from(run.original_width)
    }

    /// The run that contains the character at `decoded`: one of those after the run found last, or
    /// any other.
    #[inline]
    fn run_at(&self, decoded: u64) -> usize {
        let starts_after = |run: usize| self.runs.get(run).is_none_or(|run| run.decoded > decoded);
        let last = self.last_found.load(Relaxed);
        let near = (last..last + RUNS_PROBED).find(|&run| starts_after(run + 1));
        let found = match near {
            Some(run) if !starts_after(run) => run,
            _ => self.runs.partition_point(|run| run.decoded <= decoded) - 1,
        };
        self.last_found.store(found, Relaxed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_exact_through_runs_and_consumption() {
        // Decoded "abéc日" from two bytes a character, the last with three bytes of shift before it.
        let mut table = OffsetTable::default();
        table.begin(2);
        table.push(2, 1, 2);
        table.push(1, 2, 2);
        table.push(1, 1, 2);
        table.push(1, 3, 5);
        let expected = [(0, 2), (1, 4), (2, 6), (4, 8), (5, 10), (8, 15)];
        for (decoded, original) in expected {
            assert_eq!(table.original(decoded), original, "at {decoded}");
        }
        table.consume(4);
        assert_eq!(table.original(0), 8);
        assert_eq!(table.original(1), 10);
        assert_eq!(table.original(4), 15);
    }

    #[test]
    fn offsets_are_exact_in_any_order() {
        let mut table = OffsetTable::default();
        table.begin(0);
        let (mut decoded, mut expected) = (0, Vec::new());
        for original in 0..100 {
            expected.push((decoded, original));
            let width = 1 + usize::from(original % 3 == 0);
            table.push(1, width, 1);
            decoded += width;
        }
        for step in [1, 2, 7, 40, 63, 99] {
            let mut at = 0;
            for _ in 0..expected.len() {
                assert_eq!(table.original(expected[at].0), expected[at].1);
                at = (at + step) % expected.len();
            }
        }
    }
}
