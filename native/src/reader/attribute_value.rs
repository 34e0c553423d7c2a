//! Expands references and normalises white space in attribute values.

use super::doctype::Doctype;
use super::entities::ReferenceMeaning;
use super::parse_error::{refuse, ParseResult};
use super::{error_codes, ReaderOptions};

/// Normalises attribute values, using the entities of a document.
pub(super) struct ValueNormaliser<'d> {
    pub doctype: &'d mut Doctype,
    pub options: &'d ReaderOptions,
    /// Offset of the value in the document.
    pub document_offset: u64,
}

impl ValueNormaliser<'_> {
    /// Appends the value of the source text `raw`. Line ends are normalised in the document's own text;
    /// those in an entity's text already are, and other carriage returns are meant.
    pub(super) fn append(
        &mut self,
        raw: &str,
        normalise_line_ends: bool,
        value: &mut String,
    ) -> ParseResult<()> {
        let begin = value.len();
        self.append_from(raw, normalise_line_ends, value, begin)
    }

    fn append_from(
        &mut self,
        raw: &str,
        normalise_line_ends: bool,
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
                        "an attribute value must not contain \"<\"",
                    )
                }
                b'&' => {
                    let Some(len) = memchr::memchr(b';', &raw.as_bytes()[at..]) else {
                        return refuse(
                            error_codes::REFERENCE,
                            special,
                            "a reference is not terminated",
                        );
                    };
                    self.reference(&raw[at..at + len], value, begin)
                        .map_err(|error| error.at(special))?;
                    at += len + 1;
                }
                b'\r' if normalise_line_ends && raw.as_bytes().get(at) == Some(&b'\n') => {}
                _ => value.push(' '),
            }
        }
        value.push_str(&raw[at..]);
        self.check_len(value.len() - begin)
    }

    fn reference(&mut self, body: &str, value: &mut String, begin: usize) -> ParseResult<()> {
        match self
            .doctype
            .resolve(body, self.document_offset, self.options)?
        {
            ReferenceMeaning::Character(character) => value.push(character),
            ReferenceMeaning::Plain(text) => value.push_str(&text),
            ReferenceMeaning::Markup(id, text) => {
                self.append_from(&text, false, value, begin)?;
                self.doctype.close(id);
            }
        }
        // Checked after each reference too, since a value may have many references to one entity.
        self.check_len(value.len() - begin)
    }

    fn check_len(&self, len: usize) -> ParseResult<()> {
        let max = self.options.limits.value_bytes;
        if len > max {
            let message = format!("an attribute value is longer than {max} bytes");
            return refuse(error_codes::LIMIT_VALUE_BYTES, 0, message);
        }
        Ok(())
    }
}

/// Whether a value with `byte` in it differs from its source text.
#[inline]
pub(super) fn is_special(byte: u8) -> bool {
    matches!(byte, b'<' | b'&' | b'\t' | b'\n' | b'\r')
}

/// Trims `text[from..]` and collapses runs of spaces inside it.
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
    fn collapsing_keeps_single_spaces_and_other_white_space() {
        let mut text = String::from("kept   a  b\tc ");
        collapse(&mut text, 4);
        assert_eq!(text, "kepta b\tc");
    }
}
