//! Line and column numbers, computed only for consumed text and for refusals.

/// A position in the text of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextPosition {
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    /// The last character was a carriage return: a line feed after it belongs to the same line end.
    after_return: bool,
}

impl Default for TextPosition {
    fn default() -> Self {
        Self {
            line: 1,
            column: 1,
            after_return: false,
        }
    }
}

impl TextPosition {
    /// The position after `text`.
    pub(super) fn after(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut line_start = None;
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            let second_half = bytes[at] == b'\n'
                && if at == 0 {
                    self.after_return
                } else {
                    bytes[at - 1] == b'\r'
                };
            self.line += u64::from(!second_half);
            line_start = Some(at + 1);
        }
        if let Some(start) = line_start {
            self.column = 1 + count_chars(&bytes[start..]);
        } else {
            self.column += count_chars(bytes);
        }
        if let Some(&last) = bytes.last() {
            self.after_return = last == b'\r';
        }
        self
    }
}

/// The number of characters in UTF-8 `bytes`.
fn count_chars(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_end_counts_once_wherever_the_text_is_split() {
        let text = "a\r\nbé\rc\n\n\rdü";
        for cut in (0..=text.len()).filter(|&i| text.is_char_boundary(i)) {
            let position = TextPosition::default()
                .after(&text[..cut])
                .after(&text[cut..]);
            assert_eq!((position.line, position.column), (6, 3), "split at {cut}");
        }
    }
}
