//! Manipulated index files, with the checksum recomputed: opening and using them never panics, aborts or
//! hangs. A file that is not refused gives the same answers, or other answers of another valid index.

use super::*;
use crate::subscription_store::file_format::{recompute_checksum, to_bytes};

/// Mutations of each kind of file; `PENSTOCK_INDEX_MUTATIONS` sets another number.
const MUTATIONS: u64 = 400;

const DOCUMENTS: [&[u8]; 5] = [
    b"<a k='1' l='xyz'><b>storm warning</b><b k='7'><c>coast 12</c></b></a>",
    b"<a><b><a><b k='v2'><c>7</c><d>7.5</d></b></a></b><e>gale and storm</e></a>",
    b"<news xmlns='urn:n'><item n='3'>Storm<p>on the coast</p></item><item/></news>",
    b"<r><a/><a k='v1'>text<b/>more</a><c><b k='v3'>warning internationalization</b></c></r>",
    b"<a><b></a>",
];

const QUERIES: [&str; 26] = [
    "/a",
    "/a/b",
    "//b",
    "/a//b/c",
    "//a/b[@k = 'v2']",
    "//a[@k]",
    "//b[@k > 3]/c",
    "//b[c = 'coast 12']",
    "/a[b[@k = '7']/c][e]",
    "/a[b[@k = '7'][c]]",
    "//b[contains(., 'storm')]",
    "//b[contains(., 'warn')]",
    "//b[starts-with(., 'st')]",
    "//b[starts-with(., 'storm w')]",
    "//a[.//c = 7]",
    "//a[not(b)]",
    "//a[b or @k]",
    "//a[b[2]]",
    "/a/b[c != 'x']/d",
    "/a/b/c | //e",
    "//*[@k = 'v1' or @k = 'v3']",
    "//n:item[@n < 4]",
    "//n:*/@n",
    "//c[. >= 7]",
    "/a | /a | //c[k]",
    "//a[b][b] | //a[b]",
];

const KEYWORD_QUERIES: [&str; 13] = [
    "storm",
    "storm warning",
    "storm OR gale",
    "coast storm warning",
    "gale OR coast OR internationalization",
    "internationalization warning",
    "item news storm",
    "a b c coast 12 storm warning",
    "text more warning",
    "absent OR missing",
    "\"storm warning\" coast",
    "\"gale storm warning\" OR \"warning coast\"",
    "\"a b\"",
];

fn path_file() -> Vec<u8> {
    let namespaces = Namespaces::new([("n", "urn:n")], "").expect("sound");
    let mut index = PathIndex::default();
    for (number, query) in QUERIES.iter().chain(&QUERIES[..5]).enumerate() {
        index
            .add(&format!("s{number}"), query, &namespaces)
            .expect("a query");
    }
    to_bytes(&*index.compacted().expect("undamaged"))
}

fn keyword_file() -> Vec<u8> {
    let mut index = KeywordIndex::default();
    let queries = KEYWORD_QUERIES.iter().chain(&KEYWORD_QUERIES[..3]);
    for (number, query) in queries.enumerate() {
        index.add(&format!("s{number}"), query).expect("a query");
    }
    to_bytes(&*index.compacted().expect("undamaged"))
}

/// A sequence of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % end as u64) as usize
    }
}

/// Changes some numbers or bytes of a file, its table of sections included.
fn mutate(content: &mut [u8], random: &mut Random) {
    for _ in 0..=random.below(2) {
        let at = 20 + random.below((content.len() - 40) / 4) * 4;
        let number = u32::from_le_bytes(content[at..at + 4].try_into().expect("four bytes"));
        let changed = match random.below(8) {
            0 => number ^ 1 << random.below(32),
            1 => number.wrapping_add(1),
            2 => number.wrapping_sub(1),
            3 => 0,
            4 => u32::MAX,
            5 => random.below(64) as u32,
            6 => number ^ 1 << 31,
            _ => {
                let other = 20 + random.below((content.len() - 40) / 4) * 4;
                content.copy_within(other..other + 4, at);
                continue;
            }
        };
        content[at..at + 4].copy_from_slice(&changed.to_le_bytes());
    }
    recompute_checksum(content);
}

type Exercise = fn(&[u8], &[&[u8]]) -> Result<MatchedIds, OpenError>;

fn use_mutated(original: &[u8], exercise: Exercise) {
    let expected = exercise(original, &DOCUMENTS).expect("undamaged");
    assert!(expected[0].is_some() && expected[4].is_none());
    let (mut refused, mut same) = (0, 0);
    let wanted = std::env::var("PENSTOCK_INDEX_MUTATIONS").ok();
    let count = wanted.map_or(MUTATIONS, |count| count.parse().expect("a number"));
    for seed in 0..count {
        let mut content = original.to_vec();
        mutate(&mut content, &mut Random(seed));
        match exercise(&content, &DOCUMENTS) {
            Ok(matched) => same += u64::from(matched == expected),
            Err(OpenError::Refused(code, _)) => {
                assert_eq!(code, "index.damaged", "seed {seed}");
                refused += 1;
            }
            Err(OpenError::Io(error)) => panic!("seed {seed}: {error}"),
        }
    }
    // What remains are changed ids, names and literals.
    let different = count - refused - same;
    println!("{count} mutations: {refused} refused, {same} without effect, {different} differ");
    assert!(refused > count / 2 && different < count / 10);
}

#[test]
fn manipulated_files_of_paths_are_refused_or_harmless() {
    use_mutated(&path_file(), exercise_paths);
}

#[test]
fn manipulated_files_of_keywords_are_refused_or_harmless() {
    use_mutated(&keyword_file(), exercise_keywords);
}

#[test]
fn files_that_end_anywhere_are_refused() {
    let (paths, keywords) = (path_file(), keyword_file());
    for end in 0..paths.len().min(keywords.len()) {
        let [mut paths, mut keywords] = [&paths[..end], &keywords[..end]].map(<[u8]>::to_vec);
        recompute_checksum(&mut paths);
        recompute_checksum(&mut keywords);
        assert!(exercise_paths(&paths, &[]).is_err(), "{end}");
        assert!(exercise_keywords(&keywords, &[]).is_err(), "{end}");
    }
}
