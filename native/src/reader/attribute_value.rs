//! Attribute values: references expanded, white space normalised.

use super::doctype::Doctype;
use super::entities::ReferenceMeaning;
use super::parse_error::{refuse, ParseResult};
use super::{error_codes, ReaderOptions};

/// Normalises values in the light of a document's declarations.
pub(super) struct ValueNormaliser<'d> {
    pub doctype: &'d mut Doctype,
    pub options: &'d ReaderOptions,
    /// How far into the document the value is.
    pub read: u64,
}

impl ValueNormaliser<'_> {
    /// Appends the value that `raw` stands for. Line ends are folded in what a document holds
    /// itself; in an entity's text they are already, and others are meant.
    pub(super) fn append(
        &mut self,
        raw: &str,
        fold_line_ends: bool,
        value: &mut String,
    ) -> ParseResult<()> {
        let begin = value.len();
        self.append_from(raw, fold_line_ends, value, begin)
    }

    fn append_from(
        &mut self,
        raw: &str,
        fold_line_ends: bool,
        value: &mut String,
        begin: usize,
    ) -> ParseResult<()> {
        let mut at = 0;
        while let Some(found) = raw.as_bytes()[at..]
            .iter()
            .position(|&byte| is_special(byte))
        {
            let special = at + found;
            value.push_str(&raw[at..special]);
            at = special + 1;
            match raw.as_bytes()[special] {
                b'<' => {
                    return refuse(
                        error_codes::ATTRIBUTE,
                        special,
                        "an attribute's value may not have \"<\"",
                    )
                }
                b'&' => {
                    let Some(len) = memchr::memchr(b';', &raw.as_bytes()[at..]) else {
                        return refuse(error_codes::REFERENCE, special, "a reference has no end");
                    };
                    self.reference(&raw[at..at + len], value, begin)
                        .map_err(|fail| fail.placed(special))?;
                    at += len + 1;
                }
                b'\r' if fold_line_ends && raw.as_bytes().get(at) == Some(&b'\n') => {}
                _ => value.push(' '),
            }
        }
        value.push_str(&raw[at..]);
        self.check_len(value.len() - begin)
    }

    fn reference(&mut self, body: &str, value: &mut String, begin: usize) -> ParseResult<()> {
        match self.doctype.resolve(body, self.read, self.options)? {
            ReferenceMeaning::Character(character) => value.push(character),
            ReferenceMeaning::Plain(text) => value.push_str(&text),
            ReferenceMeaning::Markup(id, text) => {
                self.append_from(&text, false, value, begin)?;
                self.doctype.close(id);
            }
        }
        // Here too: an entity may be referred to many times in one value.
        self.check_len(value.len() - begin)
    }

    fn check_len(&self, len: usize) -> ParseResult<()> {
        let max = self.options.limits.value_bytes;
        if len > max {
            let message = format!("an attribute's value is longer than {max} bytes");
            return refuse(error_codes::LIMIT_VALUE_BYTES, 0, message);
        }
        Ok(())
    }
}

/// Whether a value with `byte` in it is not simply what is written.
#[inline]
pub(super) fn is_special(byte: u8) -> bool {
    matches!(byte, b'<' | b'&' | b'\t' | b'\n' | b'\r')
}

/// Takes the spaces at the ends of `text[from..]` away, and makes those inside single.
pub(super) fn collapse(text: &mut String, from: usize) {
    let tail = text.split_off(from);
    for (i, word) in tail.split(' ').filter(|word| !word.is_empty()).enumerate() {
        if i > 0 {
            text.push(' ');
        }
        text.push_str(word);
    }
}

#[cfg(test)]
mod tests {
    use super::collapse;

    #[test]
    fn collapsing_leaves_single_spaces_inside_alone() {
        let mut text = String::from("kept   a  b\tc ");
        collapse(&mut text, 4);
        assert_eq!(text, "kepta b\tc");
    }
}
