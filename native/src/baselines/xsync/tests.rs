use std::collections::BTreeSet;

use super::containment_index::{ContainmentIndex, Pseudocode, SearchPolicy};
use super::document_type::{Cycles, DocumentType};
use super::path_tokens::{PathExpression, StepToken};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const DEPTH_MAX: usize = 5;

fn expression(text: &str) -> PathExpression {
    let number = |name: &str| {
        let position = NAMES.iter().position(|each| *each == name)?;
        Some(position as u32)
    };
    PathExpression::tokenize(text, number).expect("an expression")
}

fn document_type(children: &[&[u32]], cycles: Cycles) -> DocumentType {
    let children = children.iter().map(|each| each.to_vec()).collect();
    DocumentType::new(vec![0], children, (DEPTH_MAX, 10_000), cycles).expect("valid")
}

/// a contains b, c and d; b contains d; c contains e and a; d contains e.
const CHILDREN: [&[u32]; 5] = [&[1, 2, 3], &[3], &[4, 0], &[4], &[]];

fn index(queries: &[&str], pseudocode: Pseudocode) -> ContainmentIndex {
    let cycles = match pseudocode {
        Pseudocode::Mended => Cycles::Unrolled,
        Pseudocode::Printed => Cycles::FirstOccurrence,
    };
    let mut index = ContainmentIndex::new(document_type(&CHILDREN, cycles), pseudocode);
    let clients = (0..).zip(queries.iter().map(|query| expression(query)));
    index.insert_all(clients.collect());
    index
}

fn found(index: &ContainmentIndex, cid: u32, update: &str, policy: SearchPolicy) -> Vec<u32> {
    let (mut cids, _) = index
        .search(cid, &expression(update), policy)
        .expect("known");
    cids.sort_unstable();
    cids
}

#[test]
fn expressions_are_sorted_by_length_and_kind_of_token() {
    let mut sorted = ["/a/b", "/a/*", "//a", "/", "/a", "/*", "/a//b"];
    sorted.sort_by(|one, two| {
        let (one, two) = (expression(one), expression(two));
        one.sort_key().cmp(&two.sort_key())
    });
    assert_eq!(sorted, ["/", "/*", "/a", "//a", "/a/*", "/a/b", "/a//b"]);
    let number = |_: &str| None;
    assert_eq!(PathExpression::tokenize("/x", number), None);
    assert_eq!(PathExpression::tokenize("a", |_: &str| Some(0)), None);
    assert_eq!(PathExpression::tokenize("", number), None);
}

#[test]
fn descendant_operators_are_expanded_by_the_document_type() {
    let steps = |text| expression(text).steps().collect::<Vec<_>>();
    let texts = |cycles, text| {
        let found = document_type(&CHILDREN, cycles).expand(&[], &steps(text));
        let found = found.expect("within the limit");
        let text = |path: &Vec<StepToken>| {
            let names = path.iter().map(|step| match step {
                StepToken::Wildcard => "*",
                StepToken::Literal(name) => NAMES[*name as usize],
            });
            names.collect::<String>()
        };
        found.iter().map(text).collect::<BTreeSet<String>>()
    };
    let expected = |names: &[&str]| names.iter().map(|each| (*each).to_owned()).collect();
    assert_eq!(texts(Cycles::FirstOccurrence, "//a"), expected(&["a"]));
    assert_eq!(
        texts(Cycles::Unrolled, "//a"),
        expected(&["a", "aca", "acaca"])
    );
    let d = ["abd", "ad", "acad", "acabd"];
    assert_eq!(texts(Cycles::Unrolled, "//d"), expected(&d));
    assert_eq!(texts(Cycles::Unrolled, "/a/b"), expected(&["ab"]));
    assert_eq!(
        texts(Cycles::FirstOccurrence, "/a/*//e"),
        expected(&["a*e", "a*de"])
    );
    let cut = DocumentType::new(vec![0], vec![vec![0]], (5, 2), Cycles::Unrolled);
    assert_eq!(cut.expect("valid").expand(&[], &steps("//a")), None);
    assert!(DocumentType::new(vec![1], vec![vec![]], (5, 2), Cycles::Unrolled).is_none());
}

#[test]
fn updates_find_those_above_beside_and_below() {
    let queries = [
        "/", "/a", "/a/*", "/a/b", "/a/c", "/a/b/d", "/a/*/d", "/a/c/e", "//e",
    ];
    let index = index(&queries, Pseudocode::Mended);
    assert_eq!(
        found(&index, 1, "/", SearchPolicy::Down),
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
    );
    assert_eq!(
        found(&index, 1, "/b", SearchPolicy::Down),
        [0, 1, 2, 3, 5, 6, 8]
    );
    assert_eq!(
        found(&index, 3, "/d", SearchPolicy::Down),
        [0, 1, 2, 3, 5, 6, 8]
    );
    assert_eq!(
        found(&index, 4, "/e", SearchPolicy::Down),
        [0, 1, 2, 4, 7, 8]
    );
    assert_eq!(
        found(&index, 4, "/e", SearchPolicy::DownAll),
        [0, 1, 2, 4, 6, 7, 8]
    );
    let busy = |process| SearchPolicy::ByLoad {
        process,
        bandwidth: 0.5,
    };
    assert_eq!(
        found(&index, 4, "/e", busy(0.6)),
        found(&index, 4, "/e", SearchPolicy::DownAll)
    );
    assert_eq!(
        found(&index, 4, "/e", busy(0.5)),
        found(&index, 4, "/e", SearchPolicy::Down)
    );
    assert_eq!(
        found(&index, 2, "/e", SearchPolicy::Down),
        [0, 1, 2, 3, 4, 7, 8]
    );
    let (mut moved, _) = index.search_path(&expression("/a/b"));
    moved.sort_unstable();
    assert_eq!(moved, [0, 1, 2, 3, 5, 6, 8]);
    assert_eq!(
        index.search(99, &expression("/a"), SearchPolicy::Down),
        None
    );
}

#[test]
fn operations_are_nodes_cids_and_comparisons() {
    let mut queries = vec!["/a"; 45];
    queries.extend(["/a/b", "/a/c", "/a/b/d"]);
    let index = index(&queries, Pseudocode::Mended);
    let (_, cost) = index
        .search(45, &expression("/d"), SearchPolicy::Down)
        .expect("known");
    // Its own node, two above, one below; their clients; the token of the node below.
    assert_eq!(
        (cost.nodes, cost.cids, cost.comparisons),
        (4, 1 + 45 + 1, 1)
    );
    assert_eq!(cost.operations(), 52);
    assert_eq!((index.node_count(), index.dummy_count()), (5, 1));
}

#[test]
fn clients_leave_and_return() {
    let queries: Vec<&str> = ["/a/*/d", "/a/b", "//d", "/a"].repeat(30);
    let mut index = index(&queries, Pseudocode::Mended);
    let before = found(&index, 3, "/b/d", SearchPolicy::Down);
    assert_eq!(before.len(), 120);
    for cid in (0..120).filter(|cid| cid % 4 != 3) {
        assert!(index.remove(cid));
    }
    assert!(!index.remove(0));
    assert_eq!(index.node_count(), 2);
    assert_eq!(found(&index, 3, "/b/d", SearchPolicy::Down).len(), 30);
    for cid in (0..120).filter(|cid| cid % 4 != 3) {
        index.insert(cid, &expression(queries[cid as usize]));
    }
    assert_eq!(found(&index, 3, "/b/d", SearchPolicy::Down), before);
    assert_eq!(index.client_count(), 120);
}

#[test]
fn a_client_with_too_many_expansions_is_always_found() {
    let document_type = DocumentType::new(
        vec![0],
        vec![vec![0, 1], vec![]],
        (DEPTH_MAX, 2),
        Cycles::Unrolled,
    );
    let mut index = ContainmentIndex::new(document_type.expect("valid"), Pseudocode::Mended);
    index.insert(0, &expression("//b"));
    index.insert(1, &expression("/a/a/a/a"));
    assert_eq!(index.unexpanded_count(), 1);
    assert_eq!(found(&index, 1, "/", SearchPolicy::Down), [0, 1]);
    assert_eq!(found(&index, 0, "/", SearchPolicy::Down), [0, 1]);
    assert!(index.remove(0));
    assert_eq!(index.unexpanded_count(), 0);
}

#[test]
fn the_printed_pseudocode_finds_too_few_and_too_many() {
    let queries = ["/a", "/a/b", "/a/c", "/a/b/d", "/a/b/d/e", "/a/c/a/b"];
    let printed = index(&queries, Pseudocode::Printed);
    let mended = index(&queries, Pseudocode::Mended);
    let (down, all) = (SearchPolicy::Down, SearchPolicy::DownAll);
    // `/a/c` is added before it is compared, and nothing is found below `/a/b`: `a` differs from `b`.
    assert_eq!(found(&printed, 0, "/b", down), [0, 1, 2]);
    assert_eq!(found(&mended, 0, "/b", down), [0, 1, 3, 4]);
    // DOWN-ALL continues with DOWN, which stops.
    assert_eq!(found(&printed, 0, "/b", all), [0, 1, 2, 3]);
    assert_eq!(found(&mended, 0, "/b", all), [0, 1, 2, 3, 4, 5]);
}

/// A small generator of pseudorandom numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }
}

/// All label paths of the document type.
fn label_paths() -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![vec![], vec![0]];
    let mut at = 1;
    while at < all.len() {
        let path = all[at].clone();
        if path.len() < DEPTH_MAX {
            for &child in CHILDREN[path[path.len() - 1] as usize] {
                all.push([&path[..], &[child]].concat());
            }
        }
        at += 1;
    }
    all
}

/// The text of a label path from a position, with one wildcard or descendant operator at most.
fn generalised(path: &[u32], from: usize, chance: &mut Chance) -> String {
    let kind = chance.below(3);
    let at = from + chance.below(path.len() - from + 1);
    let mut text = String::new();
    let mut position = from;
    while position < path.len() {
        let mut operator = "/";
        if kind == 1 && position == at {
            operator = "//";
            position += chance.below(path.len() - position);
        }
        let is_wildcard = kind == 2 && position == at;
        let name = NAMES[path[position] as usize];
        text += operator;
        text += if is_wildcard { "*" } else { name };
        position += 1;
    }
    if text.is_empty() {
        text.push('/');
    }
    text
}

fn selects(steps: &[(bool, StepToken)], path: &[u32]) -> bool {
    let Some((&(is_descendant, step), rest)) = steps.split_first() else {
        return path.is_empty();
    };
    let Some((&first, below)) = path.split_first() else {
        return false;
    };
    let accepts = step.is_equivalent(StepToken::Literal(first));
    accepts && selects(rest, below) || is_descendant && selects(steps, below)
}

/// The generated clients that overlap with an update are all found, in whatever order they came.
#[test]
fn nobody_who_overlaps_is_missed() {
    let chance = &mut Chance(7);
    let all = label_paths();
    for _ in 0..150 {
        let mut queries = Vec::new();
        for _ in 0..12 {
            let path = &all[chance.below(all.len())];
            queries.push(generalised(path, 0, chance));
        }
        let mut index = ContainmentIndex::new(
            document_type(&CHILDREN, Cycles::Unrolled),
            Pseudocode::Mended,
        );
        let clients: Vec<_> = (0..)
            .zip(queries.iter().map(|query| expression(query)))
            .collect();
        let steps: Vec<Vec<_>> = clients
            .iter()
            .map(|(_, each)| each.steps().collect())
            .collect();
        if chance.below(2) == 0 {
            index.insert_all(clients);
        } else {
            for (cid, each) in clients {
                index.insert(cid, &each);
            }
        }
        let longest = &all[chance.below(all.len())];
        for (cid, query) in steps.iter().enumerate() {
            let Some(end) = (0..=longest.len()).find(|&end| selects(query, &longest[..end])) else {
                continue;
            };
            let update = generalised(longest, end, chance);
            let updated: Vec<_> = expression(&update).steps().collect();
            let whole = [&query[..], &updated[..]].concat();
            let changed: Vec<&Vec<u32>> = all.iter().filter(|path| selects(&whole, path)).collect();
            let found = found(&index, cid as u32, &update, SearchPolicy::Down);
            let broadcast = self::found(&index, cid as u32, &update, SearchPolicy::DownAll);
            for (other, others) in steps.iter().enumerate() {
                let overlaps = all.iter().filter(|path| selects(others, path)).any(|path| {
                    let mut changed = changed.iter();
                    changed.any(|each| each.starts_with(path) || path.starts_with(each))
                });
                let is_found = found.contains(&(other as u32));
                assert!(is_found || !overlaps, "{queries:?} {cid} {update} {other}");
                assert!(!is_found || broadcast.contains(&(other as u32)));
            }
        }
    }
}
