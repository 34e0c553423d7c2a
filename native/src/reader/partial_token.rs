//! Tokens that may be long and are parsed across windows: comments, processing instructions, CDATA.

use memchr::memmem;

use crate::events::{Handler, MarkupKind};

use super::char_classes::is_space;
use super::content::send_markup;
use super::document_parser::DocumentParser;
use super::error_codes;
use super::input_window::InputWindow;
use super::parse_error::{refuse, ParseError, ParseResult};
use super::processing_instruction::check_target;

/// A token whose start has been consumed and whose end is in a later window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartialToken {
    Comment,
    Instruction,
    /// With the original offset of its start, until a chunk of it has been sent.
    CData(Option<u64>),
}

impl DocumentParser {
    /// Starts a processing instruction after `<?`: consumes its target.
    pub(super) fn begin_instruction<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        at: &mut usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        let rest = &window.text.as_bytes()[*at..];
        let max = self.options.limits.name_bytes;
        let space = rest.iter().position(|&b| is_space(b));
        let close = memmem::find(&rest[..space.unwrap_or(rest.len())], b"?>");
        let Some(len) = close.or(space) else {
            if rest.len() > max + 1 {
                let message = format!("a name is longer than {max} bytes");
                return refuse(error_codes::LIMIT_NAME_BYTES, *at, message);
            }
            *at -= "<?".len();
            return Err(ParseError::ended(
                window.complete,
                *at,
                "a processing instruction",
            ));
        };
        let target = &window.text[*at..*at + len];
        check_target(target, max).map_err(|error| error.shifted(*at))?;
        send_markup(handler, MarkupKind::Instruction, target, false, *at)?;
        *at += len;
        self.partial_token = Some(PartialToken::Instruction);
        Ok(())
    }

    /// Continues the token that an earlier window ended in.
    pub(super) fn continue_partial_token<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        at: &mut usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        let rest = &window.text.as_bytes()[*at..];
        let end = window.text.len();
        match self.partial_token {
            None => return Ok(()),
            Some(PartialToken::Comment) => match memmem::find(rest, b"--") {
                Some(len) if len + 2 < rest.len() => {
                    if rest[len + 2] != b'>' {
                        return refuse(
                            error_codes::COMMENT,
                            *at + len,
                            "a comment must not contain \"--\"",
                        );
                    }
                    let chunk = &window.text[*at..*at + len];
                    send_markup(handler, MarkupKind::Comment, chunk, true, *at)?;
                    *at += len + 3;
                }
                _ => {
                    let resume = end - trailing(rest, b'-', 2);
                    let chunk = &window.text[*at..resume];
                    send_markup(handler, MarkupKind::Comment, chunk, false, *at)?;
                    *at = resume;
                    return Err(ParseError::ended(window.complete, end, "a comment"));
                }
            },
            Some(PartialToken::Instruction) => match memmem::find(rest, b"?>") {
                Some(len) => {
                    let chunk = &window.text[*at..*at + len];
                    send_markup(handler, MarkupKind::Instruction, chunk, true, *at)?;
                    *at += len + 2;
                }
                None => {
                    let resume = end - trailing(rest, b'?', 1);
                    let chunk = &window.text[*at..resume];
                    send_markup(handler, MarkupKind::Instruction, chunk, false, *at)?;
                    *at = resume;
                    return Err(ParseError::ended(
                        window.complete,
                        end,
                        "a processing instruction",
                    ));
                }
            },
            Some(PartialToken::CData(first)) => {
                return self.continue_cdata(window, at, first, handler)
            }
        }
        self.partial_token = None;
        if !self.open.is_empty() {
            handler
                .text_break()
                .map_err(|stop| ParseError::stop(stop, *at))?;
        }
        Ok(())
    }

    fn continue_cdata<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        at: &mut usize,
        first: Option<u64>,
        handler: &mut H,
    ) -> ParseResult<()> {
        let rest = &window.text[*at..];
        let close = memmem::find(rest.as_bytes(), b"]]>");
        let text = match close {
            Some(len) => &rest[..len],
            None => &rest[..rest.len() - withheld_cdata_bytes(rest)],
        };
        let text_end = *at + text.len();
        let span_end = text_end + if close.is_some() { 3 } else { 0 };
        if !text.is_empty() {
            let start = first.unwrap_or_else(|| window.original(*at));
            let span = window.span_from(start, span_end);
            self.send_text(window, text, span, *at, handler)?;
            self.partial_token = Some(PartialToken::CData(None));
        }
        *at = span_end;
        if close.is_none() {
            return Err(ParseError::ended(
                window.complete,
                window.text.len(),
                "a CDATA section",
            ));
        }
        self.partial_token = None;
        Ok(())
    }
}

/// How many bytes at the end of an incomplete text must wait for more: `]]` may become `]]>`, and a
/// carriage return may be half of a line end.
pub(super) fn withheld_bytes(text: &str) -> usize {
    if text.ends_with('\r') {
        return 1;
    }
    trailing(text.as_bytes(), b']', 2)
}

/// The same in a CDATA section. Here the last character waits too, so that the chunk that contains it
/// has the end of the section in its span.
fn withheld_cdata_bytes(text: &str) -> usize {
    let brackets = trailing(text.as_bytes(), b']', 2);
    let before = &text[..text.len() - brackets];
    match before.chars().next_back() {
        Some('\n') if before.ends_with("\r\n") => brackets + 2,
        Some(last) => brackets + last.len_utf8(),
        None => brackets,
    }
}

/// How many of the last `max` bytes are `byte`, counted from the end.
fn trailing(bytes: &[u8], byte: u8, max: usize) -> usize {
    bytes
        .iter()
        .rev()
        .take(max)
        .take_while(|&&b| b == byte)
        .count()
}
