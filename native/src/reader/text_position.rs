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
        if !self.after_return && memchr::memchr(b'\r', bytes).is_none() {
            return self.after_line_feeds(bytes);
        }
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

    /// The same for a text without carriage returns, in which all line ends can be counted at once.
    fn after_line_feeds(mut self, bytes: &[u8]) -> Self {
        if let Some(last) = memchr::memrchr(b'\n', bytes) {
            self.line += memchr::memchr_iter(b'\n', &bytes[..=last]).count() as u64;
            self.column = 1 + count_chars(&bytes[last + 1..]);
        } else {
            self.column += count_chars(bytes);
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
        let line_feeds = TextPosition::default().after("a\nbé\n\ndü");
        assert_eq!((line_feeds.line, line_feeds.column), (4, 3));
        for cut in (0..=text.len()).filter(|&i| text.is_char_boundary(i)) {
            let position = TextPosition::default()
                .after(&text[..cut])
                .after(&text[cut..]);
            assert_eq!((position.line, position.column), (6, 3), "split at {cut}");
        }
    }
}
