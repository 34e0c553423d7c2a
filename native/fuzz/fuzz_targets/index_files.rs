//! Opens index files that were changed and given a valid checksum: each must be refused or give an index
//! that can match, be searched and be saved again, whatever it then finds.
//!
//! The first byte chooses one of the valid files; the rest is a list of changes, [`CHANGE_BYTES`] each. Files
//! are made by the code under test, so seeds do not depend on the format.

#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use penstock_fuzz::matching_input::namespaces;
use penstock_native::dispatch::document_source::DocumentSource;
use penstock_native::dispatch::event_source::EventSource;
use penstock_native::dispatch::DocumentMatcher;
use penstock_native::engine_selection::{
    KeywordEngineKind, KeywordPools, PathEngineKind, PathPools,
};
use penstock_native::keywords::store::KeywordIndex;
use penstock_native::matching::segment_run::RunLimits;
use penstock_native::matching::worker::MatcherOptions;
use penstock_native::path_index::subscription_index::PathIndex;
use penstock_native::reader::ReaderOptions;
use penstock_native::subscription_store::file_format::{open, write};
use xxhash_rust::xxh3::xxh3_128;

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

const KEYWORDS: [&str; 12] = [
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
];

const DOCUMENT: &[u8] = "<a><b k='1'><c>one</c></b><b k='2' x=''>two <c>on three</c><c>5</c></b>\
    <p:b xmlns:p='urn:p'><c xmlns='urn:q'>two</c></p:b>zwölf<d><b><b/></b></d></a>"
    .as_bytes();

struct Files {
    paths: Vec<u8>,
    keywords: Vec<u8>,
    /// Holds the changed file, in memory where the system offers that.
    folder: tempfile::TempDir,
}

static FILES: LazyLock<Files> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    let folder = folder.expect("a temporary folder");
    let file = folder.path().join("valid");
    let mut index = PathIndex::default();
    for (number, query) in QUERIES.iter().enumerate() {
        index
            .add(&number.to_string(), query, &namespaces())
            .expect("a valid query");
    }
    // Two ids of one query class.
    index
        .add("again", QUERIES[0], &namespaces())
        .expect("a valid query");
    write(&*index.compacted(), &file).expect("can be written");
    let paths = fs::read(&file).expect("was written");
    let mut index = KeywordIndex::default();
    for (number, query) in KEYWORDS.iter().enumerate() {
        index
            .add(&number.to_string(), query)
            .expect("a valid query");
    }
    write(&*index.compacted(), &file).expect("can be written");
    let keywords = fs::read(&file).expect("was written");
    Files {
        paths,
        keywords,
        folder,
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
    let mut file = [fixed, &body].concat();
    let checksum = xxh3_128(&file).to_le_bytes();
    file.extend_from_slice(&checksum);
    file
}

fn try_matching(matcher: &dyn DocumentMatcher) {
    // With a cold cache, then with a warm one.
    for _ in 0..2 {
        let source = &mut DocumentSource::Bytes(DOCUMENT);
        if let Ok(matched) = matcher.match_document(&mut EventSource::unmapped(source)) {
            for handle in matched.handles {
                matcher.id(handle);
                matcher.added_before(handle);
            }
        }
    }
}

fn try_paths(file: &Path, copy: &Path) {
    let Ok(segment) = open(file) else { return };
    let mut index = PathIndex::from_segment(segment);
    let run = RunLimits {
        cache_bytes_max: 1 << 20,
        undecided_max: 1 << 16,
    };
    let options = MatcherOptions {
        reader: ReaderOptions::default(),
        run,
    };
    let pools = PathPools::default();
    try_matching(
        &*pools
            .matcher(index.snapshot(), PathEngineKind::Automaton, options)
            .document_matcher(),
    );
    for id in ["0", "again", "missing"] {
        index.contains(id);
        index.query(id);
    }
    index.remove("1");
    let _ = write(&*index.compacted(), copy);
}

fn try_keywords(file: &Path, copy: &Path) {
    let Ok(segment) = open(file) else { return };
    let mut index = KeywordIndex::from_segment(segment);
    let pools = KeywordPools::default();
    let matcher = pools.matcher(
        index.snapshot(),
        KeywordEngineKind::Postings,
        ReaderOptions::default(),
    );
    try_matching(&*matcher.document_matcher());
    for id in ["0", "missing"] {
        index.contains(id);
        index.query(id);
    }
    index.remove("1");
    let _ = write(&*index.compacted(), copy);
}

fuzz_target!(|input: &[u8]| {
    let [choice, changes @ ..] = input else {
        return;
    };
    let is_paths = choice % 2 == 0;
    let file: PathBuf = FILES
        .folder
        .path()
        .join(format!("changed-{}", std::process::id()));
    let copy = file.with_extension("copy");
    let valid = if is_paths {
        &FILES.paths
    } else {
        &FILES.keywords
    };
    fs::write(&file, changed(valid, changes)).expect("can be written");
    if is_paths {
        try_paths(&file, &copy);
    } else {
        try_keywords(&file, &copy);
    }
});
