//! Opens index files that were changed and given a valid checksum: each must be refused or give an index
//! that can match, be searched and be saved again, whatever it then finds.
//!
//! The first byte chooses one of the valid files; the rest is a list of changes, [`CHANGE_BYTES`] each. Files
//! are made by the code under test, so seeds do not depend on the format.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use penstock_fuzz::matching_input::namespaces;
use penstock_native::index_file_exercise::{exercise_keywords, exercise_paths};
use penstock_native::keywords::store::KeywordIndex;
use penstock_native::path_index::subscription_index::PathIndex;
use penstock_native::subscription_store::file_format::{recompute_checksum, to_bytes, OpenError};

/// Kind, position (32 bits), value (32 bits).
const CHANGE_BYTES: usize = 9;

const CHECKSUM_BYTES: usize = 16;

/// The magic bytes and the version, whose changes the ordinary tests cover.
const FIXED_BYTES: usize = 20;

const QUERIES: [&str; 24] = [
    "/a/b",
    "//b",
    "/a//c/@k",
    "//*[@k]",
    "//b[@k='1']",
    "//b[@k=2]/c",
    "//b[c>1][c<9]",
    "/a[b][not(c)]",
    "/a[b or c]//text()",
    "//c[contains(., 'on')]",
    "//c[starts-with(., 'on')]",
    "//c[.='one']",
    "//p:b[.//q:c]",
    "/a/b[2]",
    "/a/b[last()]",
    "//b[position()>1]",
    "/a/*/c | //d",
    "//b[@k!='1' and c='one']",
    "//*[.//c[.='two'] or @x]",
    "/a/b/c/d/e/f",
    "//b[not(@k=3)]",
    "//a[.//b]",
    "//c[text()='one']",
    "//b[@k>=1.5]",
];

const KEYWORDS: [&str; 15] = [
    "one",
    "two one",
    "one OR two",
    "storm coast",
    "three OR one OR zwölf",
    "a b",
    "b c k",
    "one two three",
    "two OR storm",
    "x",
    "zwölf",
    "1 2",
    "\"two on\" b",
    "\"on three\" OR storm",
    "\"one two one\"",
];

const DOCUMENT: &[u8] =
    "<a><b k='1'><c>one</c></b><b k='2' x=''>two on three <c>on three</c><c>5</c></b>\
    <p:b xmlns:p='urn:p'><c xmlns='urn:q'>two</c></p:b>zwölf<d><b><b/></b></d></a>"
        .as_bytes();

struct Files {
    paths: Vec<u8>,
    keywords: Vec<u8>,
}

static FILES: LazyLock<Files> = LazyLock::new(|| {
    let mut paths = PathIndex::default();
    for (number, query) in QUERIES.iter().enumerate() {
        paths
            .add(&number.to_string(), query, &namespaces())
            .expect("a valid query");
    }
    // Two ids of one query class.
    paths
        .add("again", QUERIES[0], &namespaces())
        .expect("a valid query");
    let mut keywords = KeywordIndex::default();
    for (number, query) in KEYWORDS.iter().enumerate() {
        keywords
            .add(&number.to_string(), query)
            .expect("a valid query");
    }
    Files {
        paths: to_bytes(&*paths.compacted().expect("undamaged")),
        keywords: to_bytes(&*keywords.compacted().expect("undamaged")),
    }
});

/// Applies a change to the bytes between the version and the checksum.
fn apply(change: &[u8], body: &mut Vec<u8>) {
    let number = |at: usize| u32::from_le_bytes(change[at..at + 4].try_into().expect("four bytes"));
    let (position, value) = (number(1) as usize % body.len(), number(5));
    let rest = &mut body[position..];
    let width = rest.len().min(4);
    match change[0] % 6 {
        0 => rest[0] = value as u8,
        // Numbers in a file are aligned and have 32 or 64 bits.
        1 | 2 => {
            let aligned = position & !3;
            let width = (body.len() - aligned).min(4);
            let old = body[aligned..aligned + width].to_vec();
            let mut bytes = [0; 4];
            bytes[..width].copy_from_slice(&old);
            let old = u32::from_le_bytes(bytes);
            let new = if change[0] % 6 == 1 {
                value
            } else {
                old.wrapping_add(value % 16).wrapping_sub(8)
            };
            body[aligned..aligned + width].copy_from_slice(&new.to_le_bytes()[..width]);
        }
        3 => rest[..width].fill(0xff),
        4 => {
            let source = value as usize % body.len();
            let len = (body.len() - source.max(position)).min(8);
            body.copy_within(source..source + len, position);
        }
        _ => body.truncate(position.max(FIXED_BYTES + 4)),
    }
}

fn changed(valid: &[u8], changes: &[u8]) -> Vec<u8> {
    let (fixed, rest) = valid[..valid.len() - CHECKSUM_BYTES].split_at(FIXED_BYTES);
    let mut body = rest.to_vec();
    for change in changes.chunks_exact(CHANGE_BYTES) {
        apply(change, &mut body);
    }
    let mut file = [fixed, &body, &[0; CHECKSUM_BYTES]].concat();
    recompute_checksum(&mut file);
    file
}

fuzz_target!(|input: &[u8]| {
    let [choice, changes @ ..] = input else {
        return;
    };
    let used = if choice % 2 == 0 {
        exercise_paths(&changed(&FILES.paths, changes), &[DOCUMENT])
    } else {
        exercise_keywords(&changed(&FILES.keywords, changes), &[DOCUMENT])
    };
    if let Err(OpenError::Io(error)) = used {
        panic!("reading memory does no I/O: {error}");
    }
});
