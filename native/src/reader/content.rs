//! What stands inside the root element.

use memchr::memmem;

use crate::events::{Handler, Span};

use super::char_classes::is_name_char;
use super::document_parser::{DocumentParser, Open};
use super::entities::ReferenceMeaning;
use super::error_codes;
use super::input_window::{InputWindow, OffsetMapping};
use super::markup_tokenizer::{Incomplete, MarkupTokenizer, Token};
use super::parse_error::{refuse, shown, ParseError, ParseResult};
use super::partial_token::{held_back, PartialToken};
use super::processing_instruction::check_target;

impl DocumentParser {
    /// Reads content up to the root's end or, inside an entity, up to the entity's. `floor` is how
    /// many elements were open where it began.
    pub(super) fn content<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        at: &mut usize,
        floor: usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        if self.inside.is_some() {
            self.continue_inside(window, at, handler)?;
        }
        let mut tokens = MarkupTokenizer::new(window.text, *at);
        loop {
            let start = tokens.at();
            *at = start;
            if self.stack.len() > floor {
                let open = self.stack[self.stack.len() - 1];
                if tokens.pass_end_tag(self.name_table.text(open.name)) {
                    self.close(window, open, start, tokens.at(), handler)?;
                    if self.stack.is_empty() {
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
                        *at = end - held_back(text);
                        self.text(window, start, *at, handler)?;
                        return Err(ParseError::More);
                    }
                    self.text(window, start, end, handler)?;
                }
                Token::Start => self.start_tag(window, start, tokens.at(), false, handler)?,
                Token::End(name) => {
                    self.end_tag(window, start, tokens.at(), name, floor, handler)?;
                    if self.stack.is_empty() {
                        *at = tokens.at();
                        return Ok(());
                    }
                }
                Token::Empty => {
                    self.start_tag(window, start, tokens.at(), true, handler)?;
                    if self.stack.is_empty() {
                        *at = tokens.at();
                        return Ok(());
                    }
                }
                Token::Reference(body) => self.reference(window, start, body, handler)?,
                Token::CData("") => {}
                Token::CData(text) => {
                    let span = window.span_for::<H>(start, tokens.at());
                    self.piece(window, text, span, start, handler)?;
                }
                Token::Comment(text) => {
                    check_comment(text).map_err(|fail| fail.shifted(start + 4))?;
                    handler
                        .text_break()
                        .map_err(|stop| ParseError::stop(stop, start))?;
                }
                Token::Instruction(text) => {
                    let max = self.options.limits.name_bytes;
                    check_target(text, max).map_err(|fail| fail.shifted(start + 2))?;
                    handler
                        .text_break()
                        .map_err(|stop| ParseError::stop(stop, start))?;
                }
                Token::Incomplete(cut) => {
                    self.cut(window, at, cut)?;
                    return self.content(window, at, floor, handler);
                }
                Token::Ended => return self.content_ended(window, start, floor),
            }
        }
    }

    fn content_ended(&self, window: &InputWindow<'_>, at: usize, floor: usize) -> ParseResult<()> {
        if !window.complete {
            return Err(ParseError::More);
        }
        match self.stack.last() {
            Some(open) if self.stack.len() > floor => {
                let name = self.name_table.text(open.name);
                match window.origin {
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

    /// No token ends where `at` is: begins a piecemeal one, asks for more, or refuses.
    fn cut(
        &mut self,
        window: &InputWindow<'_>,
        at: &mut usize,
        cut: Incomplete,
    ) -> ParseResult<()> {
        let rest = &window.text[*at..];
        match cut {
            Incomplete::Comment => {
                self.inside = Some(PartialToken::Comment);
                *at += "<!--".len();
                Ok(())
            }
            Incomplete::CData => {
                self.inside = Some(PartialToken::CData(Some(window.original(*at))));
                *at += "<![CDATA[".len();
                Ok(())
            }
            Incomplete::Instruction => {
                *at += "<?".len();
                self.begin_instruction(window, at)
            }
            Incomplete::Reference => {
                self.check_reference(&rest[1..], *at)?;
                if window.complete {
                    return refuse(error_codes::REFERENCE, *at, "a reference has no end");
                }
                Err(ParseError::More)
            }
            Incomplete::Tag => {
                self.check_tag_len(rest.len(), *at)?;
                Err(ParseError::ended(window.complete, *at, "a tag"))
            }
            Incomplete::Prefix => Err(ParseError::ended(window.complete, *at, "markup")),
            Incomplete::Declaration => refuse(
                error_codes::TAG,
                *at,
                "an element may not hold declarations",
            ),
        }
    }

    /// Passes on the text at `start..end`.
    #[inline(always)]
    fn text<H: Handler>(
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
        if window.has_brackets {
            if let Some(at) = memmem::find(text.as_bytes(), b"]]>") {
                return refuse(error_codes::TEXT, start + at, "text may not have \"]]>\"");
            }
        }
        let span = window.span_for::<H>(start, end);
        self.piece(window, text, span, start, handler)
    }

    /// Passes on a piece of text, line ends folded.
    #[inline(always)]
    pub(super) fn piece<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        text: &str,
        span: Span,
        at: usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        let result = if window.fold_line_ends && memchr::memchr(b'\r', text.as_bytes()).is_some() {
            fold_line_ends(text, &mut self.folded);
            handler.text(&self.folded, span)
        } else {
            handler.text(text, span)
        };
        result.map_err(|stop| ParseError::stop(stop, at))
    }

    /// Reads an end tag that is not simply the one expected.
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
        if self.stack.len() == floor {
            let message = "an entity closes an element that it did not open";
            return refuse(error_codes::ENTITY_UNBALANCED, start, message);
        }
        let open = self.stack[self.stack.len() - 1];
        let expected = self.name_table.text(open.name);
        if name.trim_end_matches([' ', '\t', '\n', '\r']) != expected {
            let found = shown(&window.text[start..end]);
            let message = format!("</{expected}> was expected, not {found}");
            return refuse(error_codes::END_TAG, start, message);
        }
        self.close(window, open, start, end, handler)
    }

    /// Closes `open`, whose end tag is at `start..end`.
    #[inline(always)]
    fn close<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        open: Open,
        start: usize,
        end: usize,
        handler: &mut H,
    ) -> ParseResult<()> {
        self.stack.pop();
        self.name_table.leave(open.mark);
        let whole = if H::SPANS {
            window.span_from(open.start, end)
        } else {
            Span::default()
        };
        handler
            .end_element(whole, window.span_for::<H>(start, end))
            .map_err(|stop| ParseError::stop(stop, start))
    }

    /// Checks the characters and the length of what follows an ampersand.
    fn check_reference(&self, body: &str, at: usize) -> ParseResult<()> {
        if let Some(bad) = body.find(|c: char| c != '#' && !is_name_char(c)) {
            let message = format!(
                "{} is not a reference",
                shown(&format!("&{}", &body[..bad]))
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

    /// Passes on what `&body;` at `start` stands for.
    fn reference<H: Handler>(
        &mut self,
        window: &InputWindow<'_>,
        start: usize,
        body: &str,
        handler: &mut H,
    ) -> ParseResult<()> {
        let end = start + body.len() + 2;
        self.check_reference(body, start)?;
        let read = window.original(start);
        let meaning = self
            .doctype
            .resolve(body, read, &self.options)
            .map_err(|fail| fail.placed(start))?;
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
                let origin = OffsetMapping::Entity(from_entity(window.span(start, end)));
                let inside = InputWindow::new(&text, true, origin);
                let floor = self.stack.len();
                self.content(&inside, &mut 0, floor, handler)
                    .map_err(|fail| fail.placed(start))?;
                self.doctype.close(id);
                Ok(())
            }
        }
    }
}

fn check_comment(text: &str) -> ParseResult<()> {
    let bad = memmem::find(text.as_bytes(), b"--")
        .or_else(|| text.ends_with('-').then(|| text.len() - 1));
    match bad {
        Some(at) => refuse(error_codes::COMMENT, at, "a comment may not have \"--\""),
        None => Ok(()),
    }
}

fn fold_line_ends(text: &str, folded: &mut String) {
    folded.clear();
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\r', rest.as_bytes()) {
        folded.push_str(&rest[..at]);
        folded.push('\n');
        let after = &rest[at + 1..];
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    folded.push_str(rest);
}
