//! A stream that retains the bytes read from it.

use std::io::{self, Read};
use std::ops::Range;

/// Reads from a source and retains the bytes since [`RetainingReader::discard_before`].
pub(super) struct RetainingReader<R> {
    source: R,
    retained: Vec<u8>,
    /// Offset of the first retained byte.
    base: u64,
    retains: bool,
}

impl<R: Read> RetainingReader<R> {
    /// Retains bytes only if `retains` is set.
    pub(super) fn new(source: R, retains: bool) -> Self {
        Self {
            source,
            retained: Vec::new(),
            base: 0,
            retains,
        }
    }

    /// The bytes of `range`, as far as they have been read and are retained.
    pub(super) fn slice(&self, range: Range<u64>) -> &[u8] {
        let index =
            |offset: u64| (offset.saturating_sub(self.base) as usize).min(self.retained.len());
        &self.retained[index(range.start)..index(range.end)]
    }

    /// The retained bytes from `start` on.
    pub(super) fn slice_from(&self, start: u64) -> &[u8] {
        self.slice(start..u64::MAX)
    }

    /// Drops the bytes before `offset`.
    pub(super) fn discard_before(&mut self, offset: u64) {
        let count = (offset.saturating_sub(self.base) as usize).min(self.retained.len());
        self.retained.drain(..count);
        self.base += count as u64;
    }
}

impl<R: Read> Read for RetainingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        if self.retains {
            self.retained.extend_from_slice(&buffer[..read]);
        }
        Ok(read)
    }
}
