//! Rewrites arbitrary documents by arbitrary valid mappings: matching while rewriting finds the same
//! subscriptions as matching the rewritten documents, and memoizing repeated subtrees changes nothing.
//!
//! Lines up to the first empty one are queries. Then bytes up to the first NUL choose the local schema and
//! its operators, and the rest is the document. Python validates mappings before the core sees them, so
//! [`MappingMaker`] makes only operators that can be applied.

#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_fuzz::matching_input::{namespaces, queries_and_document};
use penstock_native::dispatch::document_source::DocumentSource;
use penstock_native::dispatch::event_reader::EventReader;
use penstock_native::dispatch::event_source::EventSource;
use penstock_native::dispatch::outcome::MatchError;
use penstock_native::dispatch::worker_pool::WorkerState;
use penstock_native::engine_selection::{PathEngineKind, PathPools};
use penstock_native::matching::segment_run::RunLimits;
use penstock_native::matching::worker::MatcherOptions;
use penstock_native::path_index::subscription_index::PathIndex;
use penstock_native::reader::{Reader, ReaderOptions};
use penstock_native::rewriting::tree_writer::TreeWriter;
use penstock_native::rewriting::{Limits, LocalNode, Mapping, Operator};
use penstock_native::select::{Selection, SelectionOptions, Selector};
use penstock_native::xpath::parse;

const NODES_MAX: usize = 10;
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const LIMITS: Limits = Limits {
    copies_max: 2_000,
    held_bytes_max: 1 << 20,
};

type Name = (String, String);

fn name(number: u8) -> Name {
    let uri = if number >= 0xc0 { "urn:p" } else { "" };
    (
        uri.to_owned(),
        NAMES[usize::from(number) % NAMES.len()].to_owned(),
    )
}

/// Makes a mapping from bytes; missing bytes count as zero.
struct MappingMaker<'b> {
    bytes: std::slice::Iter<'b, u8>,
    nodes: Vec<LocalNode>,
    /// The current parent of each node and of each element that was an attribute.
    parents: Vec<u32>,
    /// Their current children.
    children: Vec<Vec<u32>>,
}

impl MappingMaker<'_> {
    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    fn make(mut self) -> Mapping {
        self.make_schema();
        for node in 1..self.nodes.len() as u32 {
            if self.byte() % 8 == 1 {
                self.exchange(node);
            }
        }
        let attributes = self.choose_attributes();
        // From the root down, in the order of the current tree; an Upgrade adds siblings after its node.
        let mut waiting = vec![(0u32, 0usize)];
        self.operate(0);
        while let Some((parent, index)) = waiting.pop() {
            let Some(&node) = self.children[parent as usize].get(index) else {
                continue;
            };
            waiting.push((parent, index + 1));
            if (node as usize) < self.nodes.len() {
                self.operate(node);
            }
            waiting.push((node, 0));
        }
        Mapping::new(&self.nodes, attributes, LIMITS)
    }

    fn make_schema(&mut self) {
        let count = 1 + usize::from(self.byte()) % NODES_MAX;
        for number in 0..=count as u32 {
            let parent = match number {
                0 | 1 => 0,
                _ => 1 + u32::from(self.byte()) % (number - 1),
            };
            let mut own = if number == 0 {
                (String::new(), String::new())
            } else {
                name(self.byte())
            };
            let is_sibling = |node: &u32, own: &Name| self.nodes[*node as usize].name == *own;
            while number > 0
                && self.children[parent as usize]
                    .iter()
                    .any(|node| is_sibling(node, &own))
            {
                own.1.push('a');
            }
            let text = number > 0 && self.byte() % 2 == 1;
            self.nodes.push(LocalNode {
                parent,
                name: own,
                text,
                operators: Vec::new(),
            });
            self.parents.push(parent);
            self.children.push(Vec::new());
            if number > 0 {
                self.children[parent as usize].push(number);
            }
        }
    }

    fn exchange(&mut self, node: u32) {
        let own = &self.children[node as usize];
        if own.is_empty() {
            return;
        }
        let at = usize::from(self.byte()) % self.children[node as usize].len();
        let child = self.children[node as usize].remove(at);
        let parent = self.parents[node as usize];
        let place = self.children[parent as usize]
            .iter()
            .position(|each| *each == node);
        self.children[parent as usize][place.expect("a child of its parent")] = child;
        self.parents[child as usize] = parent;
        self.parents[node as usize] = child;
        self.children[child as usize].push(node);
        self.nodes[node as usize]
            .operators
            .push(Operator::Exchange(child));
    }

    /// Adds ToElement operators; returns their number.
    fn choose_attributes(&mut self) -> usize {
        let count = self.nodes.len();
        for node in 1..count {
            if self.byte() % 4 == 1 {
                let number = self.children.len() as u32;
                let operator = Operator::ToElement(name(self.byte()), name(self.byte()), number);
                self.nodes[node].operators.push(operator);
                self.children.push(Vec::new());
                self.parents.push(node as u32);
                self.children[node].insert(0, number);
            }
        }
        self.children.len() - count
    }

    /// Takes some children of a node, or all.
    fn take(&mut self, node: u32, spared: Option<u32>) -> Vec<u32> {
        let chosen = self.byte();
        let own = std::mem::take(&mut self.children[node as usize]);
        let is_taken = |at: usize, child: u32| spared != Some(child) && chosen >> (at % 8) & 1 == 1;
        let (taken, left): (Vec<_>, Vec<_>) = own
            .into_iter()
            .enumerate()
            .partition(|&(at, child)| is_taken(at, child));
        let numbers =
            |list: Vec<(usize, u32)>| list.into_iter().map(|(_, child)| child).collect::<Vec<_>>();
        self.children[node as usize] = numbers(left);
        numbers(taken)
    }

    fn operate(&mut self, node: u32) {
        let choice = self.byte();
        if choice & 1 == 1 && node > 0 {
            self.downgrade(node);
        }
        if choice & 2 == 2 {
            self.insert(node);
        }
        if choice & 4 == 4 && node > 0 && self.parents[node as usize] != 0 {
            self.upgrade(node);
        }
        if choice & 8 == 8 && node > 0 {
            let new = name(self.byte());
            self.nodes[node as usize]
                .operators
                .push(Operator::Rename(new));
        }
        if choice & 16 == 16 && node > 0 {
            // A name that no attribute has, since two attributes must not get the same name.
            let attribute = name(self.byte());
            let is_element = |operator: &Operator| matches!(operator, Operator::ToElement(old, ..) if *old == attribute);
            if !self.nodes[node as usize].operators.iter().any(is_element) {
                let new = (String::new(), "renamed".to_owned());
                let operator = Operator::RenameAttribute(attribute, new);
                self.nodes[node as usize].operators.push(operator);
            }
        }
    }

    fn downgrade(&mut self, node: u32) {
        let own = &self.children[node as usize];
        if own.len() < 2 {
            return;
        }
        let at = usize::from(self.byte());
        let target = self.children[node as usize][at % self.children[node as usize].len()];
        let moved = self.take(node, Some(target));
        if moved.is_empty() {
            return;
        }
        self.move_to(&moved, target);
        self.nodes[node as usize]
            .operators
            .push(Operator::Downgrade(moved, target));
    }

    fn insert(&mut self, node: u32) {
        let path = vec![name(self.byte()); 1 + usize::from(self.byte()) % 2];
        let shared = usize::from(self.byte()) % (path.len() + 1);
        let takes_all = node == 0 || self.byte() % 2 == 1;
        let moved = match takes_all {
            true => std::mem::take(&mut self.children[node as usize]),
            false => self.take(node, None),
        };
        if moved.is_empty() {
            return;
        }
        // The new elements have no operators, so their children are visited as the node's.
        self.children[node as usize].extend(&moved);
        let children = (!takes_all).then_some(moved);
        self.nodes[node as usize]
            .operators
            .push(Operator::Insert(path, shared, children));
    }

    fn upgrade(&mut self, node: u32) {
        let is_inserted = |operator: &Operator| matches!(operator, Operator::Insert(..));
        // Children that an Insert moved are no longer children.
        if self.nodes[node as usize].operators.iter().any(is_inserted) {
            return;
        }
        let moved = self.take(node, None);
        if moved.is_empty() {
            return;
        }
        let parent = self.parents[node as usize];
        let place = self.children[parent as usize]
            .iter()
            .position(|each| *each == node);
        let place = place.expect("a child of its parent") + 1;
        self.children[parent as usize].splice(place..place, moved.iter().copied());
        for &child in &moved {
            self.parents[child as usize] = parent;
        }
        self.nodes[node as usize]
            .operators
            .push(Operator::Upgrade(Some(moved)));
    }

    fn move_to(&mut self, moved: &[u32], target: u32) {
        for &child in moved {
            self.parents[child as usize] = target;
        }
        self.children[target as usize].extend(moved);
    }
}

/// The documents that the rewriter writes, or the code of the refusal.
fn written(mapping: &Mapping, document: &[u8]) -> Result<Vec<String>, &'static str> {
    let mut reader = EventReader::new(&ReaderOptions::default());
    let source = &mut DocumentSource::Bytes(document);
    let (rewritten, _) = reader
        .rewrite(source, mapping, TreeWriter::<true>::default())
        .map_err(code)?;
    let trees = rewritten.handler.finish(&rewritten.provenance);
    let bytes = document.len() as u64;
    for row in trees.iter().flat_map(|tree| &tree.rows) {
        assert!(
            !row.spans.is_empty()
                && row
                    .spans
                    .iter()
                    .all(|span| span.start < span.end && span.end <= bytes)
        );
    }
    Ok(trees.into_iter().map(|tree| tree.xml).collect())
}

fn code(error: MatchError) -> &'static str {
    match error {
        MatchError::Refused(refusal) => refusal.code,
        MatchError::Io(_) | MatchError::Index(_) => unreachable!("all of it is in memory"),
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((queries, rest)) = queries_and_document(input) else {
        return;
    };
    let mut parts = rest.splitn(2, |&byte| byte == 0);
    let (Some(bytes), Some(document)) = (parts.next(), parts.next()) else {
        return;
    };
    let maker = MappingMaker {
        bytes: bytes.iter(),
        nodes: Vec::new(),
        parents: Vec::new(),
        children: Vec::new(),
    };
    let mapping = maker.make();
    let namespaces = namespaces();
    let mut index = PathIndex::default();
    let mut selectors = Vec::new();
    for (id, text) in queries {
        if let Ok(query) = parse(text, &namespaces) {
            assert!(index.add(&id, text, &namespaces).is_ok());
            selectors.push((id, Selector::compile(&query)));
        }
    }
    let expected = written(&mapping, document).map(|trees| {
        let mut matched = vec![false; selectors.len()];
        for xml in trees {
            let borrowed: Vec<&Selector> = selectors.iter().map(|named| &named.1).collect();
            let mut selection = Selection::new(&borrowed, SelectionOptions::default());
            let read =
                Reader::new(ReaderOptions::default()).read_slice(xml.as_bytes(), &mut selection);
            read.expect("a rewritten document is well-formed");
            for (own, outcome) in matched.iter_mut().zip(selection.finish()) {
                *own |= outcome.matched;
            }
        }
        let matched = selectors
            .iter()
            .zip(matched)
            .filter(|(_, matched)| *matched);
        matched.map(|((id, _), _)| id.as_str()).collect::<Vec<_>>()
    });
    let run = RunLimits {
        cache_bytes_max: 1 << 20,
        undecided_max: 1 << 20,
    };
    let options = MatcherOptions {
        reader: ReaderOptions::default(),
        run,
    };
    let matcher = PathPools::default()
        .matcher(index.snapshot(), PathEngineKind::Automaton, options)
        .document_matcher();
    for memoize_repeated in [false, true] {
        let document = &mut DocumentSource::Bytes(document);
        let source = &mut EventSource {
            mapping: Some(&mapping),
            memoize_repeated,
            ..EventSource::unmapped(document)
        };
        let found = matcher.match_document(source).map_err(code);
        let found = found.map(|matched| matcher.ids_in_order_added(&matched.handles));
        assert_eq!(found, expected, "memoize: {memoize_repeated}");
    }
});
