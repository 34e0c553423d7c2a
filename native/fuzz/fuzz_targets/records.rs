//! Splits arbitrary documents into records: the result must not depend on chunk and window sizes, and
//! each record must be a document with the events that its element has in the original.
//!
//! The first three bytes choose these sizes and the record path; the rest is the document.

#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_fuzz::event_recorder::{Event, EventRecorder};
use penstock_fuzz::reading_checks::SmallReads;
use penstock_native::events::Refusal;
use penstock_native::reader::{Limits, Reader, ReaderOptions};
use penstock_native::records::{PathStep, RecordSplitter, SplitOptions};

const RECORD_BYTES: u64 = 200;

/// All records of a document, and why the rest was refused.
#[derive(Clone, Debug, Default, PartialEq)]
struct Records {
    contents: Vec<Vec<u8>>,
    ranges: Vec<(u64, u64)>,
    faults: Vec<(usize, &'static str)>,
    refusal: Option<Refusal>,
    rest: Vec<u8>,
}

fn reader_options(window_bytes: usize) -> ReaderOptions {
    let limits = Limits {
        depth: 40,
        attributes: 20,
        window_bytes,
        ..Limits::default()
    };
    ReaderOptions {
        limits,
        ..ReaderOptions::default()
    }
}

fn split(
    document: &[u8],
    steps: &[PathStep],
    chunk: usize,
    window: usize,
    contents: bool,
) -> Records {
    let options = SplitOptions {
        steps: steps.to_vec(),
        reader: reader_options(window),
        record_bytes: RECORD_BYTES,
        contents,
        prefix: Vec::new(),
        position: 0,
    };
    let mut splitter =
        RecordSplitter::new(SmallReads(document, chunk), options).expect("memory can be read");
    let mut records = Records::default();
    while let Some(batch) = splitter.next(1).expect("memory can be read") {
        let before = records.ranges.len();
        let mut start = 0;
        for &end in &batch.content_ends {
            records
                .contents
                .push(batch.contents[start..end as usize].to_vec());
            start = end as usize;
        }
        assert_eq!(start, batch.contents.len());
        records.ranges.extend(batch.ranges);
        let faults = batch
            .faults
            .into_iter()
            .map(|(number, code, _)| (before + number, code));
        records.faults.extend(faults);
    }
    let end = splitter.end.expect("it ended");
    (records.refusal, records.rest) = (end.refusal, end.rest);
    records
}

/// Reads a document; its events, or none if it is refused.
fn events_of(document: &[u8]) -> Option<Vec<Event>> {
    let mut recorder = EventRecorder::new(document.len());
    let mut reader = Reader::new(reader_options(1 << 16));
    reader.read_slice(document, &mut recorder).ok()?;
    Some(recorder.events)
}

/// The events of the element whose start tag begins at this offset.
fn subtree(events: &[Event], start: u64) -> Vec<Event> {
    let is_start = |event: &Event| matches!(event, Event::Start(_, _, tag) if tag.start == start && !tag.from_entity);
    let first = events
        .iter()
        .position(is_start)
        .expect("a record is an element");
    let mut depth = 0;
    let length = events[first..].iter().position(|event| {
        depth += match event {
            Event::Start(..) => 1,
            Event::End(_) => -1,
            _ => 0,
        };
        depth == 0
    });
    let last = first + length.expect("elements end");
    events[first..=last]
        .iter()
        .map(Event::without_spans)
        .collect()
}

fn path(choice: u8) -> Vec<PathStep> {
    let step = |local: &str| PathStep {
        uri: None,
        local: (local != "*").then(|| local.into()),
    };
    let paths = [&["r", "e"][..], &["*", "*"], &["r"], &["*", "e", "*"]];
    paths[usize::from(choice) % paths.len()]
        .iter()
        .copied()
        .map(step)
        .collect()
}

fuzz_target!(|input: &[u8]| {
    let [chunk, window, choice, document @ ..] = input else {
        return;
    };
    let steps = path(*choice);
    let whole = split(document, &steps, usize::MAX, 1 << 16, true);
    let (chunk, window) = (usize::from(*chunk) + 1, usize::from(*window) + 1);
    let in_chunks = split(document, &steps, chunk, window, true);
    // The refused part starts after the last window that was read completely, so it depends on windows.
    assert_eq!(
        Records {
            rest: Vec::new(),
            ..in_chunks
        },
        Records {
            rest: Vec::new(),
            ..whole.clone()
        }
    );
    let positions = split(document, &steps, chunk, window, false);
    assert_eq!(positions.ranges, whole.ranges);
    assert!(whole
        .ranges
        .iter()
        .all(|&(start, end)| start < end && end <= document.len() as u64));
    assert!(whole.ranges.windows(2).all(|two| two[0].1 <= two[1].0));
    let Some(events) = events_of(document) else {
        return;
    };
    for (number, (content, range)) in whole.contents.iter().zip(&whole.ranges).enumerate() {
        if whole.faults.iter().any(|fault| fault.0 == number) {
            continue;
        }
        let found = events_of(content).expect("a record is a document");
        let found: Vec<Event> = found.iter().map(Event::without_spans).collect();
        assert_eq!(found, subtree(&events, range.0));
    }
});
