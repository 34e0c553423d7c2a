//! Reads a document and returns its records in batches.

use std::io::{self, Chain, Cursor, Read};

use crate::events::{Refusal, Span};
use crate::reader::{DocumentStream, Limits, ReadError, Reader, ReaderOptions};

use super::record_locator::{LocatedRecord, PathStep, RecordLocator};
use super::retaining_reader::RetainingReader;
use super::standalone_record::StandaloneRecordWriter;

/// The number of bytes buffered at the start of a stream, to find the end of its XML declaration, and as
/// the rejected part if it cannot be read at all.
const HEAD_BYTES: u64 = 4096;

/// The size of the excerpt of a record that is too long.
const EXCERPT_BYTES: u64 = 64 << 10;

/// Start and end of a range of the original bytes.
pub type Range = (u64, u64);

type Source<R> = RetainingReader<Chain<Cursor<Vec<u8>>, R>>;

/// Options of a record splitter.
#[derive(Clone, Debug)]
pub struct SplitOptions {
    /// The path of the records, from the root on.
    pub steps: Vec<PathStep>,
    /// Options of the reader. The limits on a document's size and on the total size of expansions are
    /// ignored, because a stream of records may have any length.
    pub reader: ReaderOptions,
    /// Maximum size of a record; a longer one is truncated and reported as faulty.
    pub record_bytes: u64,
    /// Whether to return the contents of records, or only their positions.
    pub contents: bool,
    /// The parts of the original that the stream starts with, before the part from `position` on.
    pub prefix: Vec<Range>,
    /// Offset in the original of the stream's remainder, after `prefix`.
    pub position: u64,
}

/// Consecutive records, in document order.
#[derive(Debug, Default)]
pub struct RecordBatch {
    /// The concatenated contents.
    pub contents: Vec<u8>,
    /// The end of each content.
    pub content_ends: Vec<u64>,
    /// The position of each record in the original.
    pub ranges: Vec<Range>,
    /// The start tags around the record with this index and the ones after it, up to the next entry.
    pub ancestors: Vec<(usize, Vec<Range>)>,
    /// Faulty records: index, code, message.
    pub faults: Vec<(usize, &'static str, String)>,
}

/// The state after the last batch.
#[derive(Debug, Default)]
pub struct SplitEnd {
    /// Why the rest of the document was refused, if it was.
    pub refusal: Option<Refusal>,
    /// The refused part, from the end of the last valid record to the fault, as a document that fails in
    /// the same way.
    pub rest: Vec<u8>,
    /// Offset of that part in the original.
    pub rest_start: u64,
}

/// Splits a stream into records.
pub struct RecordSplitter<R> {
    reader: Reader,
    stream: Option<DocumentStream<Source<R>>>,
    locator: RecordLocator,
    standalone: StandaloneRecordWriter,
    options: SplitOptions,
    /// The XML declaration and, once it was read, the document type declaration, with their bytes.
    prolog: Vec<(Range, Vec<u8>)>,
    /// Offset up to which everything is processed.
    processed: u64,
    /// The start tags that are open there, with their bytes.
    open: Vec<(Span, Vec<u8>)>,
    /// The start of an open record that is too long.
    excerpt: Option<Vec<u8>>,
    /// Set after the last batch.
    pub end: Option<SplitEnd>,
    /// Index of the first located record that was not returned yet.
    next_record: usize,
    /// How reading the last window ended, until its records are returned.
    last_window: Option<WindowEnd>,
}

/// How reading a window ended.
enum WindowEnd {
    /// The document continues.
    More,
    Complete,
    Refused(Refusal),
}

impl<R: Read> RecordSplitter<R> {
    /// Splits `source`.
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
        let mut splitter = Self {
            reader: Reader::new(reader),
            stream: None,
            locator: RecordLocator::new(options.steps.clone()),
            standalone: StandaloneRecordWriter::new(&options.reader),
            prolog: vec![((0, declaration.len() as u64), declaration)],
            processed: 0,
            open: Vec::new(),
            excerpt: None,
            end: None,
            next_record: 0,
            last_window: None,
            options,
        };
        let retained = RetainingReader::new(
            Cursor::new(head.clone()).chain(source),
            splitter.options.contents,
        );
        match splitter.reader.open_stream(retained) {
            Ok(stream) => splitter.stream = Some(stream),
            Err(ReadError::Io(error)) => return Err(error),
            Err(ReadError::Refusal(refusal)) => {
                splitter.end = Some(SplitEnd {
                    refusal: Some(splitter.in_original(refusal)),
                    rest: head,
                    rest_start: 0,
                });
            }
        }
        splitter
            .standalone
            .set_encoding(splitter.reader.summary().encoding);
        Ok(splitter)
    }

    /// The records in about the next `bytes_wanted` bytes, possibly none; `None` after the end.
    pub fn next(&mut self, bytes_wanted: u64) -> io::Result<Option<RecordBatch>> {
        let Some(mut stream) = self.stream.take() else {
            return Ok(None);
        };
        let mut batch = RecordBatch::default();
        let start = stream.offset();
        loop {
            // Records may be much longer than in the document, so a batch may end within a window.
            while self.next_record < self.locator.located.len() {
                if batch.contents.len() as u64 >= bytes_wanted {
                    self.stream = Some(stream);
                    return Ok(Some(batch));
                }
                self.add_record(self.next_record, stream.source_mut(), &mut batch);
                self.next_record += 1;
            }
            match self.last_window.take() {
                None => {}
                Some(WindowEnd::More) => self.discard_processed(&mut stream),
                Some(WindowEnd::Complete) => {
                    self.end = Some(SplitEnd::default());
                    return Ok(Some(batch));
                }
                Some(WindowEnd::Refused(refusal)) => {
                    self.end = Some(self.refused(refusal, stream.source_mut()));
                    return Ok(Some(batch));
                }
            }
            let read = stream.offset() - start;
            if read >= bytes_wanted || batch.contents.len() as u64 >= bytes_wanted {
                self.stream = Some(stream);
                return Ok(Some(batch));
            }
            self.locator.clear_located();
            self.next_record = 0;
            let result = self.reader.read_window(&mut stream, &mut self.locator);
            self.record_doctype(&mut stream);
            self.last_window = Some(match result {
                Ok(false) => WindowEnd::More,
                Ok(true) => WindowEnd::Complete,
                Err(ReadError::Refusal(refusal)) => WindowEnd::Refused(refusal),
                Err(ReadError::Io(error)) => return Err(error),
            });
        }
    }

    /// The ranges of the XML declaration and the document type declaration.
    pub fn prolog(&self) -> Vec<Range> {
        self.prolog
            .iter()
            .map(|(range, _)| self.original_range(*range))
            .collect()
    }

    fn record_doctype(&mut self, stream: &mut DocumentStream<Source<R>>) {
        if let (Some(span), 1) = (self.reader.summary().doctype, self.prolog.len()) {
            let written = stream.source_mut().slice(span.start..span.end).to_vec();
            if self.options.contents {
                self.standalone.set_doctype(&written);
            }
            self.prolog.push(((span.start, span.end), written));
        }
    }

    /// Adds the located record with index `at` to the batch.
    fn add_record(&mut self, at: usize, retained: &mut Source<R>, batch: &mut RecordBatch) {
        let record = &self.locator.located[at];
        let number = batch.ranges.len();
        let is_new =
            number == 0 || at == 0 || self.locator.located[at - 1].ancestors != record.ancestors;
        if is_new {
            let around = &self.locator.ancestors[record.ancestors];
            let ranges = around
                .iter()
                .map(|span| self.original_range((span.start, span.end)));
            batch.ancestors.push((number, ranges.collect()));
        }
        let range = self.original_range((record.start, record.end));
        batch.ranges.push(range);
        let excerpt = self.excerpt.take();
        if record.end - record.start > self.options.record_bytes {
            let max = self.options.record_bytes;
            let message = format!("the record is longer than {max} bytes");
            batch.faults.push((number, "limit.record-bytes", message));
            let excerpt_end = record.start + max.min(EXCERPT_BYTES);
            let excerpt =
                excerpt.unwrap_or_else(|| retained.slice(record.start..excerpt_end).to_vec());
            batch.contents.extend(excerpt);
        } else if self.options.contents {
            let raw = retained.slice(record.start..record.end);
            if let Err(refusal) =
                self.standalone
                    .write(raw, &record.scope, record.end, &mut batch.contents)
            {
                batch.faults.push((number, refusal.code, refusal.message));
                // Without its last byte it is refused wherever it is read.
                let excerpt_end = (raw.len() - 1).min(EXCERPT_BYTES as usize);
                batch.contents.extend_from_slice(&raw[..excerpt_end]);
            }
        }
        batch.content_ends.push(batch.contents.len() as u64);
    }

    /// Discards the bytes that are no longer needed.
    fn discard_processed(&mut self, stream: &mut DocumentStream<Source<R>>) {
        self.processed = stream.offset();
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
            if self.processed - record.start <= max {
                self.processed = record.start;
            } else if self.excerpt.is_none() {
                let excerpt = retained.slice(record.start..record.start + max.min(EXCERPT_BYTES));
                self.excerpt = Some(excerpt.to_vec());
            }
        }
        retained.discard_before(self.processed);
    }

    /// The state after the document was refused.
    fn refused(&self, refusal: Refusal, retained: &Source<R>) -> SplitEnd {
        let around = |found: &LocatedRecord| self.locator.ancestors[found.ancestors].clone();
        let last = self.locator.located.last();
        let (start, open) = if let Some(record) = &self.locator.record {
            (record.start, around(record))
        } else if let Some(last) = last.filter(|last| last.end > self.processed) {
            (last.end, around(last))
        } else {
            (
                self.processed,
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
        match &self.excerpt {
            Some(excerpt) => rest.extend_from_slice(excerpt),
            None => rest.extend_from_slice(retained.slice_from(start)),
        }
        SplitEnd {
            refusal: Some(self.in_original(refusal)),
            rest,
            rest_start: self.original(start),
        }
    }

    fn in_original(&self, refusal: Refusal) -> Refusal {
        Refusal {
            offset: self.original(refusal.offset),
            ..refusal
        }
    }

    /// The offset in the original of the byte at offset `at` of the stream.
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

/// The length of the byte order mark and the XML declaration at the start of a document.
fn declaration_len(head: &[u8]) -> usize {
    let mark = match head {
        [0xef, 0xbb, 0xbf, ..] => 3,
        [0xfe, 0xff, ..] | [0xff, 0xfe, ..] => 2,
        _ => 0,
    };
    // In UTF-16, every other byte of a declaration is zero; in other encodings, none is.
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
        Some(at) => {
            let end = text[at + 1].0 + 1 + usize::from(head.get(mark + 1) == Some(&0));
            // The second byte of the last character may be missing.
            end.min(head.len())
        }
        None => mark,
    }
}
