//! A stream whose last bytes stay at hand.

use std::io::{self, Read};
use std::ops::Range;

/// Passes bytes on, and keeps those from some place on.
pub(super) struct RetainingReader<R> {
    source: R,
    kept: Vec<u8>,
    /// The offset of the first byte kept.
    base: u64,
    keeps: bool,
}

impl<R: Read> RetainingReader<R> {
    /// Keeps what passes, unless nobody will ask.
    pub(super) fn new(source: R, keeps: bool) -> Self {
        Self {
            source,
            kept: Vec::new(),
            base: 0,
            keeps,
        }
    }

    /// The bytes of `range`, as far as they have passed and are kept.
    pub(super) fn slice(&self, range: Range<u64>) -> &[u8] {
        let place = |offset: u64| (offset.saturating_sub(self.base) as usize).min(self.kept.len());
        &self.kept[place(range.start)..place(range.end)]
    }

    /// What is kept from `start` on.
    pub(super) fn slice_from(&self, start: u64) -> &[u8] {
        self.slice(start..u64::MAX)
    }

    /// Forgets what is before `offset`.
    pub(super) fn forget_before(&mut self, offset: u64) {
        let gone = (offset.saturating_sub(self.base) as usize).min(self.kept.len());
        self.kept.drain(..gone);
        self.base += gone as u64;
    }
}

impl<R: Read> Read for RetainingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        if self.keeps {
            self.kept.extend_from_slice(&buffer[..read]);
        }
        Ok(read)
    }
}
