//! The content of the root element.

use memchr::memmem;

use crate::events::{Handler, MarkupKind, Span};

use super::char_classes::is_name_char;
use super::document_parser::{DocumentParser, OpenElement};
use super::entities::ReferenceMeaning;
use super::error_codes;
use super::input_window::{InputWindow, OffsetMapping};
use super::markup_tokenizer::{Incomplete, MarkupTokenizer, Token};
use super::parse_error::{quote, refuse, ParseError, ParseResult};
use super::partial_token::{withheld_bytes, PartialToken};
use super::processing_instruction::check_target;

impl DocumentParser {
    /// Parses content up to the end of the root element, or of an entity. `floor` is the number of
    /// elements that are open outside the entity.
    pub(super) fn content<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        at: &mut usize,
        floor: usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        if self.partial_token.is_some() {
            self.continue_partial_token(window, at, handler)?;
        }
        let mut tokens = MarkupTokenizer::new(window.text, *at);
        loop {
            let start = tokens.at();
            *at = start;
            if self.open.len() > floor {
                let open = self.open[self.open.len() - 1];
                if tokens.consume_end_tag(self.name_table.text(open.name)) {
                    self.close(window, open, start, tokens.at(), handler)?;
                    if self.open.is_empty() {
                        *at = tokens.at();
                        return Ok(());
                    }
                    continue;
                }
            }
            match tokens.next() {
                Token::Text(text) => {
                    let end = start + text.len();
                    if end == window.text.len() && !window.complete {
                        *at = end - withheld_bytes(text);
                        self.text_token(window, start, *at, handler)?;
                        return Err(ParseError::NeedMore);
                    }
                    self.text_token(window, start, end, handler)?;
                }
                Token::Start => self.start_tag(window, start, tokens.at(), false, handler)?,
                Token::End(name) => {
                    self.end_tag(window, start, tokens.at(), name, floor, handler)?;
                    if self.open.is_empty() {
                        *at = tokens.at();
                        return Ok(());
                    }
                }
                Token::Empty => {
                    self.start_tag(window, start, tokens.at(), true, handler)?;
                    if self.open.is_empty() {
                        *at = tokens.at();
                        return Ok(());
                    }
                }
                Token::Reference(body) => self.reference(window, start, body, handler)?,
                Token::CData("") => {}
                Token::CData(text) => {
                    let span = window.span_for::<H>(start, tokens.at());
                    self.send_text(window, text, span, start, handler)?;
                }
                Token::Comment(text) => {
                    check_comment(text).map_err(|error| error.shifted(start + 4))?;
                    send_markup(handler, MarkupKind::Comment, text, true, start)?;
                    handler
                        .text_break()
                        .map_err(|stop| ParseError::stop(stop, start))?;
                }
                Token::Instruction(text) => {
                    let max = self.options.limits.name_bytes;
                    check_target(text, max).map_err(|error| error.shifted(start + 2))?;
                    send_markup(handler, MarkupKind::Instruction, text, true, start)?;
                    handler
                        .text_break()
                        .map_err(|stop| ParseError::stop(stop, start))?;
                }
                Token::Incomplete(incomplete) => {
                    self.incomplete_token(window, at, incomplete, handler)?;
                    return self.content(window, at, floor, handler);
                }
                Token::Ended => return self.content_ended(window, start, floor),
            }
        }
    }

    fn content_ended(&self, window: &InputWindow<'_>, at: usize, floor: usize) -> ParseResult<()> {
        if !window.complete {
            return Err(ParseError::NeedMore);
        }
        match self.open.last() {
            Some(open) if self.open.len() > floor => {
                let name = self.name_table.text(open.name);
                match window.offsets {
                    OffsetMapping::Entity(_) => {
                        let message = format!("the entity leaves the element {name} open");
                        refuse(error_codes::ENTITY_UNBALANCED, at, message)
                    }
                    _ => refuse(
                        error_codes::UNCLOSED,
                        at,
                        format!("the element {name} has no end tag"),
                    ),
                }
            }
            _ => Ok(()),
        }
    }

    /// Handles a token that does not end in the window: starts a partial token, requests more text, or
    /// refuses the document.
    fn incomplete_token<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        at: &mut usize,
        incomplete: Incomplete,
        handler: &mut H,
    ) -> ParseResult<()> {
        let rest = &window.text[*at..];
        match incomplete {
            Incomplete::Comment => {
                self.partial_token = Some(PartialToken::Comment);
                *at += "<!--".len();
                Ok(())
            }
            Incomplete::CData => {
                self.partial_token = Some(PartialToken::CData(Some(window.original(*at))));
                *at += "<![CDATA[".len();
                Ok(())
            }
            Incomplete::Instruction => {
                *at += "<?".len();
                self.begin_instruction(window, at, handler)
            }
            Incomplete::Reference => {
                self.check_reference(&rest[1..], *at)?;
                if window.complete {
                    return refuse(error_codes::REFERENCE, *at, "a reference is not terminated");
                }
                Err(ParseError::NeedMore)
            }
            Incomplete::Tag => {
                self.check_tag_len(rest.len(), *at)?;
                Err(ParseError::ended(window.complete, *at, "a tag"))
            }
            Incomplete::Prefix => Err(ParseError::ended(window.complete, *at, "markup")),
            Incomplete::Declaration => refuse(
                error_codes::TAG,
                *at,
                "declarations are not allowed inside an element",
            ),
        }
    }

    /// Sends the text at `start..end` to the handler.
    #[inline(always)]
    fn text_token<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        start: usize,
        end: usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        let text = &window.text[start..end];
        if text.is_empty() {
            return Ok(());
        }
        if window.has_cdata_end {
            if let Some(at) = memmem::find(text.as_bytes(), b"]]>") {
                return refuse(
                    error_codes::TEXT,
                    start + at,
                    "text must not contain \"]]>\"",
                );
            }
        }
        let span = window.span_for::<H>(start, end);
        self.send_text(window, text, span, start, handler)
    }

    /// Sends a chunk of text with normalised line ends to the handler.
    #[inline(always)]
    pub(super) fn send_text<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        text: &str,
        span: Span,
        at: usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        let result =
            if window.has_carriage_returns && memchr::memchr(b'\r', text.as_bytes()).is_some() {
                normalise_line_ends(text, &mut self.normalised);
                handler.text(&self.normalised, span)
            } else {
                handler.text(text, span)
            };
        result.map_err(|stop| ParseError::stop(stop, at))
    }

    /// Parses an end tag that does not literally match the open element.
    fn end_tag<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        start: usize,
        end: usize,
        name: &str,
        floor: usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        self.check_tag_len(end - start, start)?;
        if self.open.len() == floor {
            let message = "an entity closes an element that it did not open";
            return refuse(error_codes::ENTITY_UNBALANCED, start, message);
        }
        let open = self.open[self.open.len() - 1];
        let expected = self.name_table.text(open.name);
        if name.trim_end_matches([' ', '\t', '\n', '\r']) != expected {
            let found = quote(&window.text[start..end]);
            let message = format!("expected </{expected}>, found {found}");
            return refuse(error_codes::END_TAG, start, message);
        }
        self.close(window, open, start, end, handler)
    }

    /// Closes the innermost element `open`, whose end tag is at `start..end`.
    #[inline(always)]
    fn close<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        open: OpenElement,
        start: usize,
        end: usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        self.open.pop();
        self.name_table.leave(open.mark);
        let span = window.element_span_for::<H>(open.start, end);
        handler
            .end_element(span, window.span_for::<H>(start, end))
            .map_err(|stop| ParseError::stop(stop, start))
    }

    /// Checks the characters and the length of the text after an ampersand.
    fn check_reference(&self, body: &str, at: usize) -> ParseResult<()> {
        if let Some(bad) = body.find(|c: char| c != '#' && !is_name_char(c)) {
            let message = format!(
                "{} is not a reference",
                quote(&format!("&{}", &body[..bad]))
            );
            return refuse(error_codes::REFERENCE, at, message);
        }
        let max = self.options.limits.name_bytes;
        if body.len() > max {
            let message = format!("a name is longer than {max} bytes");
            return refuse(error_codes::LIMIT_NAME_BYTES, at, message);
        }
        Ok(())
    }

    /// Sends what the reference `&body;` at `start` stands for to the handler.
    fn reference<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        start: usize,
        body: &str,
        handler: &mut H,
    ) -> ParseResult<()> {
        let end = start + body.len() + 2;
        self.check_reference(body, start)?;
        let document_offset = window.original(start);
        let meaning = self
            .doctype
            .resolve(body, document_offset, &self.options)
            .map_err(|error| error.at(start))?;
        let from_entity = |span: Span| Span {
            from_entity: true,
            ..span
        };
        match meaning {
            ReferenceMeaning::Character(character) => {
                let span = window.span(start, end);
                let mut buffer = [0; 4];
                let text = character.encode_utf8(&mut buffer);
                handler
                    .text(text, span)
                    .map_err(|stop| ParseError::stop(stop, start))
            }
            ReferenceMeaning::Plain(text) if text.is_empty() => Ok(()),
            ReferenceMeaning::Plain(text) => {
                let span = from_entity(window.span(start, end));
                handler
                    .text(&text, span)
                    .map_err(|stop| ParseError::stop(stop, start))
            }
            ReferenceMeaning::Markup(id, text) => {
                let offsets = OffsetMapping::Entity(from_entity(window.span(start, end)));
                let entity = InputWindow::new(&text, true, offsets);
                let floor = self.open.len();
                self.content(&entity, &mut 0, floor, handler)
                    .map_err(|error| error.at(start))?;
                self.doctype.close(id);
                Ok(())
            }
        }
    }
}

/// Sends a chunk of a comment or instruction to a handler that uses it.
#[inline(always)]
pub(super) fn send_markup<H: Handler>(
    handler: &mut H,
    kind: MarkupKind,
    chunk: &str,
    is_last: bool,
    at: usize,
) -> ParseResult<()> {
    if H::LEXICAL {
        handler
            .markup(kind, chunk, is_last)
            .map_err(|stop| ParseError::stop(stop, at))?;
    }
    Ok(())
}

fn check_comment(text: &str) -> ParseResult<()> {
    let bad = memmem::find(text.as_bytes(), b"--")
        .or_else(|| text.ends_with('-').then(|| text.len() - 1));
    match bad {
        Some(at) => refuse(
            error_codes::COMMENT,
            at,
            "a comment must not contain \"--\"",
        ),
        None => Ok(()),
    }
}

fn normalise_line_ends(text: &str, normalised: &mut String) {
    normalised.clear();
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\r', rest.as_bytes()) {
        normalised.push_str(&rest[..at]);
        normalised.push('\n');
        let after = &rest[at + 1..];
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    normalised.push_str(rest);
}
