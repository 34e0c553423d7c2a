//! Lines and columns, counted only where text is left behind or a document is refused.

/// A place in the text read so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    /// The last character was a carriage return: a line feed next belongs to the same line end.
    after_return: bool,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            line: 1,
            column: 1,
            after_return: false,
        }
    }
}

impl Place {
    /// The place after `text`.
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
            self.column = 1 + chars(&bytes[start..]);
        } else {
            self.column += chars(bytes);
        }
        if let Some(&last) = bytes.last() {
            self.after_return = last == b'\r';
        }
        self
    }
}

/// How many characters `bytes` of UTF-8 hold.
fn chars(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_end_counts_once_however_the_text_is_cut() {
        let text = "a\r\nbé\rc\n\n\rdü";
        for cut in (0..=text.len()).filter(|&i| text.is_char_boundary(i)) {
            let place = Place::default().after(&text[..cut]).after(&text[cut..]);
            assert_eq!((place.line, place.column), (6, 3), "cut at {cut}");
        }
    }
}
