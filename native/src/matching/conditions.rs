//! Which conditions a value meets: by hashing for equality, by sorted search for ranges.

use std::ops::Range;

use super::alignment::PathTests;
use super::automaton::Automaton;
use super::gather::Value;
use super::letters::NONE;
use crate::index::segment::{Comparison, Condition, Segment};

/// Adds the nodes behind those of `conditions` (of one trie node and step, sorted) that `values` meet.
pub fn met(segment: &Segment, conditions: &[Condition], values: &[Value], nodes: &mut Vec<u32>) {
    for of_slot in groups(conditions, |condition| condition.slot) {
        for value in values.iter().filter(|value| value.slot == of_slot[0].slot) {
            met_by(segment, of_slot, value, nodes);
        }
    }
}

/// The same for conditions on one slot, and one value of it.
fn met_by(segment: &Segment, of_slot: &[Condition], value: &Value, nodes: &mut Vec<u32>) {
    for alike in groups(of_slot, |condition| condition.comparison) {
        let literal = |at: usize| alike[at].literal;
        for range in met_of(segment, alike[0].comparison, alike.len(), literal, value) {
            nodes.extend(alike[range].iter().map(|condition| condition.node));
        }
    }
}

/// Runs of equal keys in a sorted slice, each found by search: a run may be a million long.
pub fn groups<T, K: PartialOrd>(sorted: &[T], key: impl Fn(&T) -> K) -> impl Iterator<Item = &[T]> {
    let mut rest = sorted;
    std::iter::from_fn(move || {
        let first = key(rest.first()?);
        let (group, others) = rest.split_at(rest.partition_point(|item| key(item) <= first));
        rest = others;
        Some(group)
    })
}

/// The places in a sorted run of literals, all compared the same way, that a value meets.
fn met_of(
    segment: &Segment,
    comparison: u32,
    len: usize,
    literal: impl Fn(usize) -> u32,
    value: &Value,
) -> [Range<usize>; 2] {
    // The first place whose literal holds, in a run where those that hold come last.
    let first = |holds: &dyn Fn(u32) -> bool| {
        let (mut low, mut high) = (0, len);
        while low < high {
            let middle = usize::midpoint(low, high);
            if holds(literal(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    };
    let equal = |wanted: Option<u32>| match wanted {
        Some(wanted) => first(&|other| other >= wanted)..first(&|other| other > wanted),
        None => 0..0,
    };
    let but = |equal: Range<usize>| [0..equal.start, equal.end..len];
    let text = (value.literal != NONE).then_some(value.literal);
    let (known, number) = (value.number, |rank: u32| segment.numbers[rank as usize]);
    match Comparison::from_number(comparison) {
        Comparison::Exists => [0..len, 0..0],
        Comparison::EqText => [equal(text), 0..0],
        Comparison::NeText => but(equal(text)),
        Comparison::EqNumber => [equal(segment.find_number(known)), 0..0],
        Comparison::NeNumber => but(equal(segment.find_number(known))),
        // Nothing is less or greater than what is no number.
        _ if known.is_nan() => [0..0, 0..0],
        Comparison::Lt => [first(&|rank| number(rank) > known)..len, 0..0],
        Comparison::Le => [first(&|rank| number(rank) >= known)..len, 0..0],
        Comparison::Gt => [0..first(&|rank| number(rank) >= known), 0..0],
        Comparison::Ge => [0..first(&|rank| number(rank) > known), 0..0],
    }
}

/// Conditions of one trie node this few are merged with those of others.
const MERGED_MAX: usize = 16;

/// The conditions that matches at one path put on one slot of the element at one depth.
#[derive(Clone, Copy, Debug)]
struct Site {
    /// In `pairs`: equalities of many trie nodes together, by far the commonest.
    equal: (u32, u32),
    /// In `runs`: other comparisons of many trie nodes together.
    runs: (u32, u32),
    /// In `large`: of single trie nodes that have many.
    large: (u32, u32),
}

/// Sorted pairs of literal and node that are compared the same way.
#[derive(Clone, Copy, Debug)]
struct Run {
    comparison: u32,
    pairs: (u32, u32),
}

/// The conditions of the automaton's paths, by the depth and slot they look at. A cache: a path points
/// at its own part of it.
#[derive(Default)]
pub struct Sites {
    /// Depth and slot of each site, ascending for each path; apart, so that they are searched fast.
    keys: Vec<u32>,
    sites: Vec<Site>,
    runs: Vec<Run>,
    pairs: Vec<(u32, u32)>,
    /// Ranges of the segment's conditions.
    large: Vec<(u32, u32)>,
    tests: PathTests,
    slices: Vec<(u32, u32, u32)>,
    merged: Vec<(u32, u32, u32)>,
}

/// The sites of one path.
#[derive(Clone, Copy, Debug)]
pub struct PathSites {
    start: u32,
    len: u32,
    /// A bit for each depth and slot, so that most values that meet nothing cost nothing; all bits
    /// where some depth is not known.
    bits: u64,
}

impl PathSites {
    /// Not looked for yet.
    pub const UNKNOWN: PathSites = PathSites {
        start: u32::MAX,
        len: 0,
        bits: 0,
    };
}

/// What a value met.
#[derive(Default)]
pub struct Met {
    /// Nodes whose condition holds.
    pub nodes: Vec<u32>,
    /// Nodes whose condition would hold, if the path could be aligned so.
    pub suspected: Vec<u32>,
}

impl Sites {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.sites.clear();
        self.runs.clear();
        self.pairs.clear();
        self.large.clear();
    }

    /// The memory in use, about.
    pub fn bytes(&self) -> usize {
        self.keys.len() * 4
            + self.sites.len() * size_of::<Site>()
            + self.runs.len() * size_of::<Run>()
            + (self.pairs.len() + self.large.len()) * 8
    }

    /// Finds the sites of a path, where that was not done before.
    #[inline]
    pub fn prepare(&mut self, segment: &Segment, automaton: &mut Automaton, path: u32) {
        if automaton.paths[path as usize].sites.start == PathSites::UNKNOWN.start {
            automaton.paths[path as usize].sites = self.build(segment, automaton, path);
        }
    }

    /// Adds what matches at a path gain when the element at `depth` has `value`.
    #[inline]
    pub fn meet(
        &self,
        segment: &Segment,
        of_path: PathSites,
        depth: usize,
        value: &Value,
        met: &mut Met,
    ) {
        if of_path.bits & bit(depth as u32, value.slot) == 0 {
            return;
        }
        let range = of_path.start as usize..(of_path.start + of_path.len) as usize;
        let keys = &self.keys[range.clone()];
        if depth < ANY_DEPTH as usize {
            let key = key(depth as u32, value.slot);
            if let Some(at) = keys.iter().position(|&other| other == key) {
                self.meet_at(
                    segment,
                    &self.sites[range.start + at],
                    value,
                    &mut met.nodes,
                );
            }
        }
        if of_path.bits == u64::MAX {
            let anywhere = key(ANY_DEPTH, value.slot);
            if let Some(at) = keys.iter().position(|&other| other == anywhere) {
                self.meet_at(
                    segment,
                    &self.sites[range.start + at],
                    value,
                    &mut met.suspected,
                );
            }
        }
    }

    #[inline]
    fn meet_at(&self, segment: &Segment, site: &Site, value: &Value, nodes: &mut Vec<u32>) {
        // A value that equals no literal is above all of them.
        let pairs = &self.pairs[site.equal.0 as usize..site.equal.1 as usize];
        let start = pairs.partition_point(|pair| pair.0 < value.literal);
        for pair in &pairs[start..] {
            if pair.0 != value.literal {
                break;
            }
            nodes.push(pair.1);
        }
        if site.runs.0 < site.runs.1 || site.large.0 < site.large.1 {
            self.meet_others(segment, site, value, nodes);
        }
    }

    fn meet_others(&self, segment: &Segment, site: &Site, value: &Value, nodes: &mut Vec<u32>) {
        for run in &self.runs[site.runs.0 as usize..site.runs.1 as usize] {
            let pairs = &self.pairs[run.pairs.0 as usize..run.pairs.1 as usize];
            let literal = |at: usize| pairs[at].0;
            for range in met_of(segment, run.comparison, pairs.len(), literal, value) {
                nodes.extend(pairs[range].iter().map(|pair| pair.1));
            }
        }
        for &(start, end) in &self.large[site.large.0 as usize..site.large.1 as usize] {
            met_by(
                segment,
                &segment.conditions[start as usize..end as usize],
                value,
                nodes,
            );
        }
    }

    #[cold]
    fn build(&mut self, segment: &Segment, automaton: &Automaton, path: u32) -> PathSites {
        self.gather(segment, automaton, path);
        let mut slices = std::mem::take(&mut self.slices);
        slices.sort_unstable();
        let start = self.sites.len() as u32;
        for of_key in slices.chunk_by(|a, b| a.0 == b.0) {
            self.add_site(segment, of_key);
        }
        self.slices = slices;
        let bits =
            self.keys[start as usize..]
                .iter()
                .fold(0, |bits, key| match key >> DEPTH_SHIFT {
                    ANY_DEPTH => u64::MAX,
                    depth => bits | bit(depth, key & ((1 << DEPTH_SHIFT) - 1)),
                });
        PathSites {
            start,
            len: self.sites.len() as u32 - start,
            bits,
        }
    }

    /// Finds, for each conditional node of the path, at which depths its conditions look.
    fn gather(&mut self, segment: &Segment, automaton: &Automaton, path: u32) {
        self.slices.clear();
        let state = automaton.states[automaton.paths[path as usize].state as usize];
        if state.conditional.is_empty() {
            return;
        }
        let aligned = self.tests.of_path(automaton, path);
        for &node in automaton.list(state.conditional) {
            let mut start = segment.nodes[node as usize].condition;
            for of_step in groups(segment.conditions_of(node), |condition| condition.step) {
                let step = of_step[0].step;
                let depths = match (segment.is_loose(node), aligned) {
                    (false, _) if step < ANY_DEPTH => None,
                    (false, _) => Some(0),
                    (true, true) => Some(self.tests.standing(segment, node, step)),
                    (true, false) => Some(0),
                };
                for of_slot in groups(of_step, |condition| condition.slot) {
                    let end = start + of_slot.len() as u32;
                    let slot = of_slot[0].slot;
                    match depths {
                        None => self.slices.push((key(step, slot), start, end)),
                        Some(0) => self.slices.push((key(ANY_DEPTH, slot), start, end)),
                        Some(mut depths) => {
                            while depths != 0 {
                                self.slices
                                    .push((key(depths.trailing_zeros(), slot), start, end));
                                depths &= depths - 1;
                            }
                        }
                    }
                    start = end;
                }
            }
        }
    }

    fn add_site(&mut self, segment: &Segment, slices: &[(u32, u32, u32)]) {
        let (first_run, first_large) = (self.runs.len() as u32, self.large.len() as u32);
        self.merged.clear();
        for &(_, start, end) in slices {
            if (end - start) as usize > MERGED_MAX {
                self.large.push((start, end));
            } else {
                let conditions = &segment.conditions[start as usize..end as usize];
                self.merged.extend(
                    conditions
                        .iter()
                        .map(|one| (one.comparison, one.literal, one.node)),
                );
            }
        }
        self.merged.sort_unstable();
        let mut equal = (0, 0);
        for alike in self.merged.chunk_by(|a, b| a.0 == b.0) {
            let start = self.pairs.len() as u32;
            self.pairs
                .extend(alike.iter().map(|&(_, literal, node)| (literal, node)));
            let pairs = (start, self.pairs.len() as u32);
            match alike[0].0 {
                comparison if comparison == Comparison::EqText as u32 => equal = pairs,
                comparison => self.runs.push(Run { comparison, pairs }),
            }
        }
        let runs = (first_run, self.runs.len() as u32);
        let large = (first_large, self.large.len() as u32);
        self.keys.push(slices[0].0);
        self.sites.push(Site { equal, runs, large });
    }
}

/// The depth in the upper bits, the slot in the lower.
fn key(depth: u32, slot: u32) -> u32 {
    debug_assert!(depth <= ANY_DEPTH && slot < 1 << DEPTH_SHIFT);
    depth << DEPTH_SHIFT | slot
}

/// The bit of a depth and slot in [`PathSites`].
fn bit(depth: u32, slot: u32) -> u64 {
    1 << (depth.wrapping_mul(7).wrapping_add(slot) % 64)
}

const DEPTH_SHIFT: u32 = 24;

/// Stands for every depth, on paths too deep to align.
const ANY_DEPTH: u32 = (1 << (32 - DEPTH_SHIFT)) - 1;
