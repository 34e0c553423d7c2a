//! Examples. Property tests in Python compare generated documents with the reference.

use super::record_splitter::SplitEnd;
use super::*;
use crate::reader::{Limits, ReaderOptions};

fn options(path: &[&str], window_bytes: usize) -> SplitOptions {
    let test = |name: &&str| PathStep {
        uri: None,
        local: (*name != "*").then(|| (*name).into()),
    };
    SplitOptions {
        steps: path.iter().map(test).collect(),
        reader: ReaderOptions {
            limits: Limits {
                window_bytes,
                ..Limits::default()
            },
            ..ReaderOptions::default()
        },
        record_bytes: 100,
        contents: true,
        prefix: Vec::new(),
        position: 0,
    }
}

fn split(document: &[u8], options: SplitOptions) -> (Vec<String>, Vec<(u64, u64)>, SplitEnd) {
    let mut splitter = RecordSplitter::new(document, options).expect("memory can be read");
    let (mut contents, mut ranges) = (Vec::new(), Vec::new());
    while let Some(batch) = splitter.next(1).expect("memory can be read") {
        let mut start = 0;
        for &end in &batch.content_ends {
            let content = batch.contents[start..end as usize].to_vec();
            contents.push(String::from_utf8(content).expect("contents are UTF-8"));
            start = end as usize;
        }
        ranges.extend(batch.ranges);
    }
    (contents, ranges, splitter.end.expect("it ended"))
}

#[test]
fn records_are_the_elements_on_the_path_at_any_window_size() {
    let document = b"<a><!-- <b/> --><b x='>'>1<b/></b><c><b/></c><b/></a>";
    for window in 1..60 {
        let (contents, ranges, end) = split(document, options(&["a", "b"], window));
        assert_eq!(contents, ["<b x='>'>1<b/></b>", "<b/>"], "{window}");
        assert_eq!(ranges, [(16, 34), (45, 49)]);
        assert!(end.refusal.is_none());
    }
}

#[test]
fn records_get_the_namespaces_they_inherit() {
    let document = b"<a xmlns='u\"' xmlns:p='v'><p:b xmlns=''/><p:b/></a>";
    let (contents, _, _) = split(document, options(&["a", "b"], 7));
    assert_eq!(
        contents,
        [
            "<p:b xmlns:p=\"v\" xmlns=''/>",
            "<p:b xmlns='u\"' xmlns:p=\"v\"/>"
        ]
    );
}

#[test]
fn a_utf_16_declaration_cut_in_the_middle_of_a_character_is_refused() {
    for document in [&b"\xff\xfe<\0?xml?>"[..], b"<\0?\0x\0m\0l\0?\0>"] {
        let (contents, _, end) = split(document, options(&["a"], 7));
        assert!(contents.is_empty() && end.refusal.is_some());
    }
}

#[test]
fn the_rest_of_an_ill_formed_document_fails_like_the_document() {
    let document = b"<?xml version='1.0'?><!DOCTYPE a><a x='1'><b/><b/><c><d></c></a>";
    for window in 1..70 {
        let (contents, _, end) = split(document, options(&["a", "b"], window));
        assert_eq!(contents.len(), 2);
        let refusal = end.refusal.expect("refused");
        assert_eq!((refusal.code, refusal.offset), ("xml.end-tag", 56));
        let mut splitter = RecordSplitter::new(&end.rest[..], options(&["z"], 64)).expect("memory");
        while splitter.next(1).expect("memory").is_some() {}
        let again = splitter.end.and_then(|end| end.refusal).expect("refused");
        assert_eq!(again.code, refusal.code, "{window}");
        assert_eq!(again.message, refusal.message, "{window}");
    }
}

#[test]
fn a_record_that_is_too_long_is_faulty_and_the_next_is_complete() {
    let long = format!("<a><b>{}</b><b>short</b></a>", "x".repeat(300));
    for window in [1, 50, 90, 1000] {
        let options = options(&["a", "b"], window);
        let mut splitter = RecordSplitter::new(long.as_bytes(), options).expect("memory");
        let (mut faults, mut contents) = (Vec::new(), Vec::new());
        while let Some(batch) = splitter.next(u64::MAX).expect("memory") {
            faults.extend(batch.faults);
            contents.extend(batch.contents);
        }
        assert_eq!(faults.len(), 1);
        assert_eq!((faults[0].0, faults[0].1), (0, "limit.record-bytes"));
        let expected = format!("<b>{}<b>short</b>", "x".repeat(97));
        assert_eq!(
            String::from_utf8(contents).expect("text"),
            expected,
            "{window}"
        );
    }
}

#[test]
fn separate_text_nodes_stay_separate_in_a_rewritten_record() {
    let document = b"<!DOCTYPE a [<!ENTITY e '1'>]><a><b>&e;<!-- -->2<c/><?p?>3<?p?></b></a>";
    let (contents, _, _) = split(document, options(&["a", "b"], 64));
    assert_eq!(contents, ["<b>1<!---->2<c></c>3</b>"]);
}

#[test]
fn a_record_from_an_entity_is_refused() {
    let document = b"<!DOCTYPE a [<!ENTITY e '<b/>'>]><a><b/>&e;</a>";
    let (contents, _, end) = split(document, options(&["a", "b"], 64));
    assert_eq!(contents, ["<b/>"]);
    assert_eq!(end.refusal.expect("refused").code, "records.from-entity");
}

#[test]
fn a_part_read_with_its_prefix_reports_positions_in_the_original() {
    let document = b"<?xml version='1.0'?> <a p='1'>\n<b/><b>2</b><b>3</b></a>";
    let (_, all, _) = split(document, options(&["a", "b"], 5));
    let mut splitter = RecordSplitter::new(&document[..], options(&["a", "b"], 5)).expect("memory");
    let batch = std::iter::from_fn(|| splitter.next(1).expect("memory"))
        .find(|batch| !batch.ranges.is_empty())
        .expect("a record");
    let mut prefix = splitter.prolog();
    prefix.extend(&batch.ancestors[0].1);
    let mut part = Vec::new();
    for &(start, end) in &prefix {
        part.extend_from_slice(&document[start as usize..end as usize]);
    }
    part.extend_from_slice(&document[all[0].1 as usize..]);
    let options = SplitOptions {
        prefix,
        position: all[0].1,
        ..options(&["a", "b"], 5)
    };
    let (contents, ranges, end) = split(&part, options);
    assert_eq!(contents, ["<b>2</b>", "<b>3</b>"]);
    assert_eq!(ranges, all[1..]);
    assert!(end.refusal.is_none());
}
