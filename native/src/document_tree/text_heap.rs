//! The values of text, attributes, comments and instructions, in one allocation.

use super::tree_error::{TreeError, TreeResult};

/// A value in a [`TextHeap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextRef {
    start: u32,
    len: u32,
}

impl TextRef {
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    pub fn len(self) -> usize {
        self.len as usize
    }
}

/// Values, one after the other. Values that are replaced stay until [`TextHeap::begin_compaction`].
#[derive(Clone, Debug, Default)]
pub(super) struct TextHeap {
    text: String,
}

impl TextHeap {
    pub fn add(&mut self, value: &str) -> TreeResult<TextRef> {
        if value.is_empty() {
            return Ok(TextRef::default());
        }
        let full = TreeError::Limit("the text of the tree exceeds 4 GiB");
        let start = u32::try_from(self.text.len()).map_err(|_| full.clone())?;
        let end = self.text.len() + value.len();
        if u32::try_from(end).is_err() {
            return Err(full);
        }
        self.text.push_str(value);
        let len = end as u32 - start;
        Ok(TextRef { start, len })
    }

    pub fn get(&self, value: TextRef) -> &str {
        &self.text[value.start as usize..][..value.len as usize]
    }

    /// The size of all values, replaced ones included.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Empties the heap and returns the old one, whose live values are then added again.
    pub fn begin_compaction(&mut self) -> TextHeap {
        std::mem::take(self)
    }
}
