//! Reads on, and hands out records.

use std::io::{self, Chain, Cursor, Read};

use crate::events::{Refusal, Span};
use crate::reader::{DocumentStream, Limits, ReadError, Reader, ReaderOptions};

use super::record_locator::{LocatedRecord, NameTest, RecordLocator};
use super::retaining_reader::RetainingReader;
use super::standalone_record::StandaloneRecordWriter;

/// So much of a stream is looked at before it is read: where its XML declaration ends, and what to
/// show of it where it cannot be read at all.
const HEAD_BYTES: u64 = 4096;

/// So much is shown of a record that is too long.
const SHOWN_BYTES: u64 = 64 << 10;

/// A range of the original bytes.
pub type Range = (u64, u64);

type Source<R> = RetainingReader<Chain<Cursor<Vec<u8>>, R>>;

/// How to cut.
#[derive(Clone, Debug)]
pub struct SplitOptions {
    /// The path: a name test for each level from the root on.
    pub steps: Vec<NameTest>,
    /// How to read. A stream of records may be as long as it likes: the limits on a document's
    /// bytes and on its expansions in all do not apply to it.
    pub reader: ReaderOptions,
    /// Bytes of a record; a longer one is cut off and marked as faulty.
    pub record_bytes: u64,
    /// Whether contents are wanted, or only where records are.
    pub contents: bool,
    /// Where the stream begins in the original: these ranges, then everything from `position` on.
    pub prefix: Vec<Range>,
    /// See `prefix`.
    pub position: u64,
}

/// Some records, in document order.
#[derive(Debug, Default)]
pub struct RecordBatch {
    /// The contents, one after the other.
    pub contents: Vec<u8>,
    /// Where each content ends.
    pub content_ends: Vec<u64>,
    /// Where each record is in the original bytes.
    pub ranges: Vec<Range>,
    /// Start tags around the record of this number and those after it, up to the next entry.
    pub ancestors: Vec<(usize, Vec<Range>)>,
    /// Records that are no good: number, code, message.
    pub faults: Vec<(usize, &'static str, String)>,
}

/// How it ended.
#[derive(Debug, Default)]
pub struct SplitEnd {
    /// Why the rest could not be read.
    pub refusal: Option<Refusal>,
    /// What is refused: a document that fails in the same way, from the end of the last good record
    /// to the fault.
    pub rest: Vec<u8>,
    /// Where that begins in the original.
    pub rest_start: u64,
}

/// Cuts a stream into records.
pub struct RecordSplitter<R> {
    reader: Reader,
    stream: Option<DocumentStream<Source<R>>>,
    locator: RecordLocator,
    standalone: StandaloneRecordWriter,
    options: SplitOptions,
    /// The XML declaration as written, and the document type declaration once there is one.
    prolog: Vec<(Range, Vec<u8>)>,
    /// Up to where all is dealt with, and the start tags open there.
    anchor: u64,
    open: Vec<(Span, Vec<u8>)>,
    /// The beginning of an open record that is too long.
    shown: Option<Vec<u8>>,
    /// How it ended.
    pub end: Option<SplitEnd>,
}

impl<R: Read> RecordSplitter<R> {
    /// Begins to cut `source`.
    pub fn new(mut source: R, options: SplitOptions) -> io::Result<Self> {
        let mut head = Vec::new();
        (&mut source).take(HEAD_BYTES).read_to_end(&mut head)?;
        let declaration = head[..declaration_len(&head)].to_vec();
        let limits = Limits {
            document_bytes: u64::MAX,
            entity_bytes: u64::MAX,
            ..options.reader.limits.clone()
        };
        let reader = ReaderOptions {
            limits,
            ..options.reader.clone()
        };
        let mut made = Self {
            reader: Reader::new(reader),
            stream: None,
            locator: RecordLocator::new(options.steps.clone()),
            standalone: StandaloneRecordWriter::new(&options.reader.entities),
            prolog: vec![((0, declaration.len() as u64), declaration)],
            anchor: 0,
            open: Vec::new(),
            shown: None,
            end: None,
            options,
        };
        let retained = RetainingReader::new(
            Cursor::new(head.clone()).chain(source),
            made.options.contents,
        );
        match made.reader.open_stream(retained) {
            Ok(stream) => made.stream = Some(stream),
            Err(ReadError::Io(error)) => return Err(error),
            Err(ReadError::Refusal(refusal)) => {
                made.end = Some(SplitEnd {
                    refusal: Some(made.placed(refusal)),
                    rest: head,
                    rest_start: 0,
                });
            }
        }
        made.standalone.set_encoding(made.reader.summary().encoding);
        Ok(made)
    }

    /// The records in about so many bytes more, perhaps none; nothing after the end.
    pub fn next(&mut self, bytes_wanted: u64) -> io::Result<Option<RecordBatch>> {
        let Some(mut stream) = self.stream.take() else {
            return Ok(None);
        };
        let mut batch = RecordBatch::default();
        let begun = stream.position();
        self.locator.forget();
        loop {
            let first = self.locator.found.len();
            let result = self.reader.read_on(&mut stream, &mut self.locator);
            self.note_doctype(&mut stream);
            for at in first..self.locator.found.len() {
                self.take(at, stream.source_mut(), &mut batch);
            }
            match result {
                Ok(false) => self.leave_behind(&mut stream),
                Ok(true) => {
                    self.end = Some(SplitEnd::default());
                    return Ok(Some(batch));
                }
                Err(ReadError::Refusal(refusal)) => {
                    self.end = Some(self.refused(refusal, stream.source_mut()));
                    return Ok(Some(batch));
                }
                Err(ReadError::Io(error)) => return Err(error),
            }
            let read = stream.position() - begun;
            if read >= bytes_wanted || batch.contents.len() as u64 >= bytes_wanted {
                self.stream = Some(stream);
                return Ok(Some(batch));
            }
        }
    }

    /// The ranges of the XML declaration and the document type declaration.
    pub fn prolog(&self) -> Vec<Range> {
        self.prolog
            .iter()
            .map(|(range, _)| self.original_range(*range))
            .collect()
    }

    fn note_doctype(&mut self, stream: &mut DocumentStream<Source<R>>) {
        if let (Some(span), 1) = (self.reader.summary().doctype, self.prolog.len()) {
            let written = stream.source_mut().slice(span.start..span.end).to_vec();
            if self.options.contents {
                self.standalone.set_doctype(&written);
            }
            self.prolog.push(((span.start, span.end), written));
        }
    }

    /// Adds the found record number `at` to the batch.
    fn take(&mut self, at: usize, retained: &mut Source<R>, batch: &mut RecordBatch) {
        let found = &self.locator.found[at];
        let number = batch.ranges.len();
        let is_new = at == 0 || self.locator.found[at - 1].ancestors != found.ancestors;
        if is_new {
            let around = &self.locator.ancestors[found.ancestors];
            let ranges = around
                .iter()
                .map(|span| self.original_range((span.start, span.end)));
            batch.ancestors.push((number, ranges.collect()));
        }
        let range = self.original_range((found.start, found.end));
        batch.ranges.push(range);
        let shown = self.shown.take();
        if found.end - found.start > self.options.record_bytes {
            let max = self.options.record_bytes;
            let message = format!("the record is longer than {max} bytes");
            batch.faults.push((number, "limit.record-bytes", message));
            let shown_end = found.start + max.min(SHOWN_BYTES);
            let shown = shown.unwrap_or_else(|| retained.slice(found.start..shown_end).to_vec());
            batch.contents.extend(shown);
        } else if self.options.contents {
            let raw = retained.slice(found.start..found.end);
            if let Err(refusal) = self.standalone.lend(raw, &found.scope, &mut batch.contents) {
                batch.faults.push((number, refusal.code, refusal.message));
                batch.contents.extend_from_slice(raw);
            }
        }
        batch.content_ends.push(batch.contents.len() as u64);
    }

    /// Forgets what is dealt with.
    fn leave_behind(&mut self, stream: &mut DocumentStream<Source<R>>) {
        self.anchor = stream.position();
        if !self.options.contents {
            return;
        }
        let known = std::iter::zip(&self.open, &self.locator.open)
            .take_while(|((known, _), open)| known == *open)
            .count();
        self.open.truncate(known);
        let retained = stream.source_mut();
        for span in &self.locator.open[known..] {
            let written = retained.slice(span.start..span.end).to_vec();
            self.open.push((*span, written));
        }
        if let Some(record) = &self.locator.record {
            let max = self.options.record_bytes;
            if self.anchor - record.start <= max {
                self.anchor = record.start;
            } else if self.shown.is_none() {
                let shown = retained.slice(record.start..record.start + max.min(SHOWN_BYTES));
                self.shown = Some(shown.to_vec());
            }
        }
        retained.forget_before(self.anchor);
    }

    /// What is left where the document is refused.
    fn refused(&self, refusal: Refusal, retained: &Source<R>) -> SplitEnd {
        let around = |found: &LocatedRecord| self.locator.ancestors[found.ancestors].clone();
        let last = self.locator.found.last();
        let (start, open) = if let Some(record) = &self.locator.record {
            (record.start, around(record))
        } else if let Some(last) = last.filter(|last| last.end > self.anchor) {
            (last.end, around(last))
        } else {
            (
                self.anchor,
                self.open.iter().map(|(span, _)| *span).collect(),
            )
        };
        let mut rest = Vec::new();
        if start > 0 {
            for (_, written) in &self.prolog {
                rest.extend_from_slice(written);
            }
            for span in open {
                match self.open.iter().find(|(known, _)| *known == span) {
                    Some((_, written)) => rest.extend_from_slice(written),
                    None => rest.extend_from_slice(retained.slice(span.start..span.end)),
                }
            }
        }
        match &self.shown {
            Some(shown) => rest.extend_from_slice(shown),
            None => rest.extend_from_slice(retained.slice_from(start)),
        }
        SplitEnd {
            refusal: Some(self.placed(refusal)),
            rest,
            rest_start: self.original(start),
        }
    }

    fn placed(&self, refusal: Refusal) -> Refusal {
        Refusal {
            offset: self.original(refusal.offset),
            ..refusal
        }
    }

    /// Where the byte at `at` of the stream is in the original.
    fn original(&self, at: u64) -> u64 {
        let mut before = 0;
        for &(start, end) in &self.options.prefix {
            let len = end - start;
            if at < before + len {
                return start + (at - before);
            }
            before += len;
        }
        self.options.position + (at - before)
    }

    fn original_range(&self, (start, end): Range) -> Range {
        let start_at = self.original(start);
        (start_at, start_at + (end - start))
    }
}

/// The length of the byte order mark and XML declaration at the beginning of a document.
fn declaration_len(head: &[u8]) -> usize {
    let mark = match head {
        [0xef, 0xbb, 0xbf, ..] => 3,
        [0xfe, 0xff, ..] | [0xff, 0xfe, ..] => 2,
        _ => 0,
    };
    // In UTF-16 every other byte of a declaration is zero, and of other encodings none.
    let text: Vec<(usize, u8)> = std::iter::zip(mark.., head[mark..].iter().copied())
        .filter(|&(_, byte)| byte != 0)
        .collect();
    let is = |at: usize, wanted: &[u8]| {
        let found = text.iter().skip(at).map(|&(_, byte)| byte);
        found.take(wanted.len()).eq(wanted.iter().copied())
    };
    if !is(0, b"<?xml") {
        return mark;
    }
    match (0..text.len()).find(|&at| is(at, b"?>")) {
        Some(at) => text[at + 1].0 + 1 + usize::from(head.get(mark + 1) == Some(&0)),
        None => mark,
    }
}
