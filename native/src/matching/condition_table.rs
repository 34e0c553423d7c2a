//! The condition table: by label path, depth and operand, the conditions on the elements of the
//! path.
//!
//! The matches that end at a path depend on conditions on the elements above. For one path, the
//! table has an *entry* for each operand of each element that some condition uses. An entry is a
//! list of *probes*, which a value of the operand is compared with. Most matches depend on one last
//! condition: a probe holds those as a [`Mask`] of the [`MatchBitmap`], which knows the literal of
//! each class, so that the many paths at which a class can match share all but a bit. Paths with
//! common beginnings or ends have many entries in common, so equal entries are stored once.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use hashbrown::HashMap;

use crate::matching::alignment::PathAlignment;
use crate::matching::automaton::Automaton;
use crate::matching::bit_set::BitSet;
use crate::matching::condition_lookup::{equal_runs, LiteralRange};
use crate::matching::digest::digest_of;
use crate::matching::match_bitmap::{masks, Mask, MatchBitmap};
use crate::matching::operand_value::OperandValue;
use crate::matching::work_meter::WorkMeter;
use crate::path_index::segment::{Comparison, Condition, Segment, DIRECT_CLASS};
use crate::subscription_store::flat_layout::prefetch;

type HashTable<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Stands for every depth, on paths too deep to align.
const ANY_DEPTH: u32 = u8::MAX as u32;

/// A range of an arena.
#[derive(Clone, Copy, Debug)]
struct ArenaRange {
    start: u32,
    end: u32,
}

impl ArenaRange {
    /// The items that were appended since `start`.
    fn since<T>(start: usize, arena: &[T]) -> ArenaRange {
        ArenaRange {
            start: start as u32,
            end: arena.len() as u32,
        }
    }

    #[inline]
    fn of<T>(self, arena: &[T]) -> &[T] {
        &arena[self.start as usize..self.end as usize]
    }
}

/// A comparison with some of the conditions of an entry.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Probe {
    /// The kind in the upper bits, then [`Probe::LAST`], then the word of a mask.
    head: u32,
    /// The bits of a mask, or an index into `node_probes`.
    body: u32,
}

impl Probe {
    /// Equality of texts, the most frequent kind. Kinds below [`Probe::NODES`] are comparisons
    /// whose conditions are a mask.
    const EQUAL: u32 = Comparison::EqText as u32;
    /// Conditions that are not a mask.
    const NODES: u32 = Comparison::COUNT as u32;
    /// Set in the last probe of an entry. The first probe of an entry is a header: its body is the
    /// number of steps to probe the entry.
    const LAST: u32 = 1 << (u32::BITS - MatchBitmap::SPARE_BITS);
    const KIND_SHIFT: u32 = u32::BITS - MatchBitmap::SPARE_BITS + 1;

    fn new(kind: u32, mask: Mask) -> Probe {
        Probe {
            head: kind << Probe::KIND_SHIFT | mask.word,
            body: mask.bits,
        }
    }

    #[inline]
    fn kind(self) -> u32 {
        self.head >> Probe::KIND_SHIFT
    }

    #[inline]
    fn mask(self) -> Mask {
        Mask {
            word: self.head & (Probe::LAST - 1),
            bits: self.body,
        }
    }
}

/// Conditions that lead to trie nodes.
#[derive(Clone, Copy, Debug)]
struct NodeProbe {
    /// In `literal_runs`.
    merged: ArenaRange,
    /// In `large`.
    large: ArenaRange,
}

/// Literals with their trie nodes, in `literal_nodes`, sorted, for one comparison.
#[derive(Clone, Copy, Debug)]
struct LiteralRun {
    comparison: u32,
    nodes: ArenaRange,
}

/// The conditions of the automaton's paths. A path has levels, one for each depth; a level has
/// entries, one for each operand; an entry has probes. The table is a cache; paths refer to it by
/// [`PathConditions`].
#[derive(Default)]
pub(super) struct ConditionTable {
    /// By path and depth: where the level begins in `levels`.
    path_levels: Vec<u32>,
    /// A level is a bit for each operand, by number modulo 64, in two words, and the positions of
    /// its entries in `probes`, by operand. If the segment has more operands than bits, the number
    /// of entries and their operands precede the positions.
    levels: Vec<u32>,
    probes: Vec<Probe>,
    node_probes: Vec<NodeProbe>,
    literal_runs: Vec<LiteralRun>,
    literal_nodes: Vec<(u32, u32)>,
    /// Ranges of the segment's conditions.
    large: Vec<ArenaRange>,
    known_levels: HashTable<u128, u32>,
    known_entries: HashTable<u128, u32>,
    /// By path: the steps to compute its conditions.
    path_steps: Vec<u32>,
    /// The paths whose steps were counted in the current document.
    counted_paths: BitSet,
    /// By the index of a first condition: the conditions of the run that the current document
    /// satisfied and whose classes therefore match.
    covered: HashTable<u32, Range<usize>>,
    buffers: BuildBuffers,
}

/// The conditions of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathConditions {
    /// Where its levels begin in `path_levels`.
    start: u32,
    /// The depth of the first level.
    depth: u8,
    /// Number of levels, of consecutive depths.
    count: u8,
    /// Whether another level follows, for conditions whose depth is unknown.
    pub has_any_depth: bool,
}

impl PathConditions {
    /// Not computed yet.
    pub const UNKNOWN: PathConditions = PathConditions {
        start: u32::MAX,
        depth: 0,
        count: 0,
        has_any_depth: false,
    };

    /// Whether they are computed.
    #[inline]
    fn is_known(self) -> bool {
        self.start != PathConditions::UNKNOWN.start
    }
}

/// An entry: where its probes begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryId(u32);

/// Runs of satisfied conditions longer than this are found once in a document.
const COVERED_PAST: usize = 32;

/// Trie nodes whose parents are prefetched while a path is aligned with others.
const NODES_PREFETCHED: usize = 8;

/// Conditions of each trie node whose classes are prefetched.
const BITS_PREFETCHED: u32 = 4;

/// Steps to compute a condition of a path.
const STEPS_PER_CONDITION: usize = 24;

/// Steps to find out whether a condition belongs to a class that takes part.
const STEPS_PER_LOOK: usize = 8;

/// Steps to find an entry and compare a value with the conditions of one comparison.
const STEPS_PER_PROBE: usize = 8;

/// Conditions that are compared with a value in one step.
const CONDITIONS_PER_STEP: usize = 2;

/// Steps to search a list of literals.
const STEPS_PER_RUN: usize = 16;

/// Steps for each node that is found in a long list.
const STEPS_PER_NODE: usize = 4;

impl ConditionTable {
    /// The conditions of one trie node are merged with those of others up to this number; more are
    /// searched in the segment, since a node may have a million.
    pub const MERGED_MAX: usize = 32;

    /// Approximate memory in use.
    pub fn bytes(&self) -> usize {
        (self.path_levels.len() + self.levels.len()) * 4
            + self.probes.len() * size_of::<Probe>()
            + self.node_probes.len() * size_of::<NodeProbe>()
            + self.literal_runs.len() * size_of::<LiteralRun>()
            + (self.literal_nodes.len() + self.large.len()) * 8
            + (self.known_levels.len() + self.known_entries.len()) * 40
            + self.path_steps.len() * 4
    }

    /// Begins a document.
    pub fn begin(&mut self) {
        self.counted_paths.clear();
        self.covered.clear();
    }

    /// Computes the conditions of a path, if they are unknown. Counts the steps once per document,
    /// whether they were known or not. Returns false if the budget is spent: the conditions may then
    /// be unknown, and the document is about to be stopped.
    #[inline(always)]
    #[must_use]
    pub fn prepare(
        &mut self,
        segment: &Segment,
        automaton: &mut Automaton,
        path: u32,
        work: &mut WorkMeter,
    ) -> bool {
        let is_known = automaton.paths[path as usize].conditions.is_known();
        is_known && self.counted_paths.contains_growing(path)
            || self.prepare_first(segment, automaton, path, work)
    }

    #[inline(never)]
    fn prepare_first(
        &mut self,
        segment: &Segment,
        automaton: &mut Automaton,
        path: u32,
        work: &mut WorkMeter,
    ) -> bool {
        if work.is_spent() {
            return false;
        }
        let is_known = automaton.paths[path as usize].conditions.is_known();
        let is_uncounted = self.counted_paths.insert_growing(path);
        let is_attributed = is_uncounted && work.attribution().is_some();
        if !is_known || is_attributed {
            self.buffers.collect(segment, automaton, path);
        }
        let is_restricted = automaton.restriction.is_some();
        if !is_known {
            let slices = self.buffers.slices.iter();
            let steps = slices.map(|slice| slice.build_steps(is_restricted));
            let steps = steps.sum::<usize>() + self.buffers.looked_at * STEPS_PER_LOOK;
            if self.path_steps.len() <= path as usize {
                self.path_steps.resize(path as usize + 1, 0);
            }
            self.path_steps[path as usize] = u32::try_from(steps).unwrap_or(u32::MAX);
        }
        if is_uncounted {
            work.spend(self.path_steps[path as usize] as usize);
            if let Some(attribution) = work.attribution() {
                for slice in &self.buffers.slices {
                    attribution.add_to_operand(slice.operand, slice.build_steps(is_restricted));
                }
            }
            if work.is_spent() {
                return false;
            }
        }
        if !is_known {
            automaton.paths[path as usize].conditions = self.add_path(segment, automaton);
        }
        true
    }

    /// The entry for an operand of the element at `depth`.
    #[inline(always)]
    pub fn find(
        &self,
        segment: &Segment,
        of_path: PathConditions,
        depth: u32,
        operand: u32,
    ) -> Option<EntryId> {
        let at = depth.wrapping_sub(u32::from(of_path.depth));
        if at >= u32::from(of_path.count) {
            return None;
        }
        let level = self.path_levels[(of_path.start + at) as usize];
        self.entry(segment, level, operand)
    }

    /// The entry for an operand of an element at an unknown depth; the path has a level for those.
    pub fn find_at_any_depth(
        &self,
        segment: &Segment,
        of_path: PathConditions,
        operand: u32,
    ) -> Option<EntryId> {
        let last = of_path.start + u32::from(of_path.count);
        self.entry(segment, self.path_levels[last as usize], operand)
    }

    /// Compares a value with the conditions of an entry: adds the classes that match to the bitmap,
    /// and appends the satisfied trie nodes that need more. Returns the steps it took.
    #[inline]
    pub fn probe(
        &mut self,
        segment: &Segment,
        entry: EntryId,
        value: &OperandValue,
        matches: &mut MatchBitmap,
        nodes: &mut Vec<u32>,
    ) -> usize {
        let probes = &self.probes[entry.0 as usize..];
        let steps = probes[0].body as usize;
        for (at, &probe) in probes.iter().enumerate().skip(1) {
            if probe.kind() != Probe::EQUAL {
                let first = entry.0 as usize + at;
                return steps + self.probe_others(segment, first, value, matches, nodes);
            }
            matches.set_equal(probe.mask(), value.literal);
            if probe.head & Probe::LAST != 0 {
                break;
            }
        }
        steps
    }

    /// The probes after those for equality of texts, which come first.
    #[inline(never)]
    fn probe_others(
        &mut self,
        segment: &Segment,
        first: usize,
        value: &OperandValue,
        matches: &mut MatchBitmap,
        nodes: &mut Vec<u32>,
    ) -> usize {
        let mut compared = (Probe::EQUAL, LiteralRange::only(value.literal));
        let mut steps = 0;
        for at in first.. {
            let probe = self.probes[at];
            match probe.kind() {
                Probe::NODES => steps += self.probe_nodes(segment, probe.body, value, nodes),
                comparison => {
                    if compared.0 != comparison {
                        let range = LiteralRange::satisfying(segment, comparison, value);
                        compared = (comparison, range);
                    }
                    matches.set_in_range(probe.mask(), compared.1);
                }
            }
            if probe.head & Probe::LAST != 0 {
                break;
            }
        }
        steps
    }

    #[inline(never)]
    fn probe_nodes(
        &mut self,
        segment: &Segment,
        node_probe: u32,
        value: &OperandValue,
        nodes: &mut Vec<u32>,
    ) -> usize {
        let probe = self.node_probes[node_probe as usize];
        let mut steps = 0;
        for run in probe.merged.of(&self.literal_runs) {
            let pairs = run.nodes.of(&self.literal_nodes);
            let range = LiteralRange::satisfying(segment, run.comparison, value);
            for positions in range.positions_in(pairs, |pair| pair.0) {
                nodes.extend(pairs[positions].iter().map(|pair| pair.1));
            }
        }
        for at in probe.large.start..probe.large.end {
            let range = self.large[at as usize];
            steps += self.probe_large(segment, range, value, nodes);
        }
        steps
    }

    /// Probes many conditions of one trie node. Where the classes of a run of literals already
    /// match, they are not found again: a document with many values above thresholds would find the
    /// same classes for each of them.
    fn probe_large(
        &mut self,
        segment: &Segment,
        range: ArenaRange,
        value: &OperandValue,
        nodes: &mut Vec<u32>,
    ) -> usize {
        let (mut steps, before) = (0, nodes.len());
        let mut first = range.start;
        for run in equal_runs(range.of(&segment.conditions), |one| one.comparison) {
            let found = LiteralRange::satisfying(segment, run[0].comparison, value);
            for positions in found.positions_in(run, |condition| condition.literal) {
                if positions.len() <= COVERED_PAST {
                    nodes.extend(run[positions].iter().map(|condition| condition.node));
                    continue;
                }
                let covered = self.covered.entry(first).or_default();
                let (rest, again) = uncovered(&positions, covered);
                for part in rest {
                    nodes.extend(run[part].iter().map(|condition| condition.node));
                }
                steps += again.len();
                let conditional = run[again].iter().map(|condition| condition.node);
                nodes.extend(conditional.filter(|node| node & DIRECT_CLASS == 0));
            }
            first += run.len() as u32;
            steps += STEPS_PER_RUN;
        }
        steps + (nodes.len() - before) * STEPS_PER_NODE
    }

    /// The entry for an operand in a level.
    #[inline(always)]
    fn entry(&self, segment: &Segment, level: u32, operand: u32) -> Option<EntryId> {
        let level = &self.levels[level as usize..];
        let bits = u64::from(level[0]) | u64::from(level[1]) << 32;
        let bit = 1 << (operand % u64::BITS);
        if bits & bit == 0 {
            return None;
        }
        if has_few_operands(segment) {
            let before = (bits & (bit - 1)).count_ones() as usize;
            return Some(EntryId(level[2 + before]));
        }
        entry_among_many(level, operand)
    }

    /// Adds the conditions of a path.
    #[cold]
    fn add_path(&mut self, segment: &Segment, automaton: &mut Automaton) -> PathConditions {
        let mut buffers = std::mem::take(&mut self.buffers);
        let slices = std::mem::take(&mut buffers.slices);
        for slice in &slices {
            slice.prefetch_bits(segment, &automaton.matches);
        }
        let start = self.path_levels.len();
        let first = slices.first().map_or(0, |slice| slice.depth);
        let mut next = first;
        for same_depth in slices.chunk_by(|a, b| a.depth == b.depth) {
            let depth = same_depth[0].depth;
            if depth != ANY_DEPTH {
                buffers.entries.clear();
                for _ in next..depth {
                    let empty = self.add_level(segment, &mut buffers);
                    self.path_levels.push(empty);
                }
                next = depth + 1;
            }
            buffers.entries.clear();
            for same_operand in same_depth.chunk_by(|a, b| a.operand == b.operand) {
                let entry = self.add_entry(segment, same_operand, &mut buffers, automaton);
                let operand = same_operand[0].operand;
                buffers.entries.extend(entry.map(|entry| (operand, entry)));
            }
            let level = self.add_level(segment, &mut buffers);
            self.path_levels.push(level);
        }
        let has_any_depth = slices.last().is_some_and(|slice| slice.depth == ANY_DEPTH);
        buffers.slices = slices;
        self.buffers = buffers;
        PathConditions {
            start: start as u32,
            depth: first as u8,
            count: (self.path_levels.len() - start - usize::from(has_any_depth)) as u8,
            has_any_depth,
        }
    }

    /// Adds the level of `buffers.entries`, unless it is known.
    fn add_level(&mut self, segment: &Segment, buffers: &mut BuildBuffers) -> u32 {
        let few = has_few_operands(segment);
        let (entries, level) = (&mut buffers.entries, &mut buffers.level);
        if few {
            entries.sort_unstable_by_key(|(operand, _)| operand % u64::BITS);
        }
        let bits = entries
            .iter()
            .fold(0, |bits, (operand, _)| bits | 1u64 << (operand % u64::BITS));
        level.clear();
        level.extend([bits as u32, (bits >> 32) as u32]);
        if !few {
            level.push(entries.len() as u32);
            level.extend(entries.iter().map(|(operand, _)| operand));
        }
        level.extend(entries.iter().map(|(_, entry)| entry));
        let levels = &mut self.levels;
        let digest = digest_of(bytemuck::cast_slice(level));
        *self.known_levels.entry(digest).or_insert_with(|| {
            let start = levels.len() as u32;
            levels.extend_from_slice(level);
            start
        })
    }

    /// Adds the entry of some conditions on one operand, unless it is known; `None` if no class
    /// that takes part has one of them.
    fn add_entry(
        &mut self,
        segment: &Segment,
        slices: &[ConditionSlice],
        buffers: &mut BuildBuffers,
        automaton: &mut Automaton,
    ) -> Option<u32> {
        let matches = &mut automaton.matches;
        let restriction = automaton.restriction.as_ref();
        // Conditions at an unknown depth only give candidates.
        let is_exact = slices[0].depth != ANY_DEPTH;
        let (first_run, first_large) = (self.literal_runs.len(), self.large.len());
        buffers.bits.clear();
        buffers.nodes.clear();
        buffers.probes.clear();
        let mut merged = 0;
        for &ConditionSlice { start, end, .. } in slices {
            // Only merged conditions can be left out.
            if (end - start) as usize > ConditionTable::MERGED_MAX && restriction.is_none() {
                self.large.push(ArenaRange { start, end });
                continue;
            }
            for at in start..end {
                let one = segment.conditions[at as usize];
                if restriction.is_some_and(|restriction| !restriction.has_node(one.node)) {
                    continue;
                }
                merged += 1;
                let bit = (is_exact && one.node & DIRECT_CLASS != 0)
                    .then(|| matches.conditional_bit(one.node & !DIRECT_CLASS, at, one.literal))
                    .flatten();
                match bit {
                    Some(bit) => buffers.bits.push((one.comparison, bit)),
                    None => buffers.nodes.push((one.comparison, one.literal, one.node)),
                }
            }
        }
        // Whether a class has a bit depends on earlier documents. The steps do not.
        buffers.probes.push(Probe {
            head: 0,
            body: (STEPS_PER_PROBE + merged / CONDITIONS_PER_STEP) as u32,
        });
        buffers.bits.sort_unstable();
        for same_comparison in buffers.bits.chunk_by(|a, b| a.0 == b.0) {
            let masks = masks(same_comparison, |bit| bit.1);
            let probes = masks.map(|mask| Probe::new(same_comparison[0].0, mask));
            buffers.probes.extend(probes);
        }
        buffers.nodes.sort_unstable();
        for same_comparison in buffers.nodes.chunk_by(|a, b| a.0 == b.0) {
            let start = self.literal_nodes.len();
            let pairs = same_comparison.iter();
            let pairs = pairs.map(|&(_, literal, node)| (literal, node));
            self.literal_nodes.extend(pairs);
            self.literal_runs.push(LiteralRun {
                comparison: same_comparison[0].0,
                nodes: ArenaRange::since(start, &self.literal_nodes),
            });
        }
        if first_run < self.literal_runs.len() || first_large < self.large.len() {
            let index = Mask {
                word: 0,
                bits: self.node_probes.len() as u32,
            };
            buffers.probes.push(Probe::new(Probe::NODES, index));
            self.node_probes.push(NodeProbe {
                merged: ArenaRange::since(first_run, &self.literal_runs),
                large: ArenaRange::since(first_large, &self.large),
            });
        }
        if buffers.probes.len() == 1 {
            return None;
        }
        buffers.probes.last_mut()?.head |= Probe::LAST;
        let probes = &mut self.probes;
        let digest = digest_of(bytemuck::cast_slice(&buffers.probes));
        Some(*self.known_entries.entry(digest).or_insert_with(|| {
            let start = probes.len() as u32;
            probes.extend_from_slice(&buffers.probes);
            start
        }))
    }
}

/// Splits positions into those outside the covered ones, in two parts, and those inside. Extends the
/// covered positions if they remain contiguous, or replaces them if there are fewer of them.
fn uncovered(
    positions: &Range<usize>,
    covered: &mut Range<usize>,
) -> ([Range<usize>; 2], Range<usize>) {
    if covered.end < positions.start || positions.end < covered.start {
        if covered.len() < positions.len() {
            *covered = positions.clone();
        }
        return ([positions.clone(), 0..0], 0..0);
    }
    let inside = positions.start.max(covered.start)..positions.end.min(covered.end);
    let rest = [positions.start..inside.start, inside.end..positions.end];
    *covered = covered.start.min(positions.start)..covered.end.max(positions.end);
    (rest, inside)
}

/// The entry for an operand, in a level of a segment with many operands.
fn entry_among_many(level: &[u32], operand: u32) -> Option<EntryId> {
    let (operands, entries) = level[3..].split_at(level[2] as usize);
    let at = operands.binary_search(&operand).ok()?;
    Some(EntryId(entries[at]))
}

/// Whether each operand has a bit to itself in a level.
#[inline]
pub(super) fn has_few_operands(segment: &Segment) -> bool {
    segment.operands.len() <= u64::BITS as usize
}

/// A range of the segment's conditions, all of one trie node, step and operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ConditionSlice {
    depth: u32,
    operand: u32,
    start: u32,
    end: u32,
}

impl ConditionSlice {
    /// Steps to build its part of an entry. If classes are set aside, all conditions are looked at.
    fn build_steps(&self, is_restricted: bool) -> usize {
        let count = (self.end - self.start) as usize;
        let looked_at = if is_restricted {
            count * STEPS_PER_LOOK
        } else {
            0
        };
        (count.min(ConditionTable::MERGED_MAX) + 1) * STEPS_PER_CONDITION + looked_at
    }

    /// Prefetches the bits of the classes that match if its first conditions hold.
    fn prefetch_bits(&self, segment: &Segment, matches: &MatchBitmap) {
        let end = self.end.min(self.start + BITS_PREFETCHED);
        for condition in &segment.conditions[self.start as usize..end as usize] {
            if condition.node & DIRECT_CLASS != 0 {
                matches.prefetch_bit(condition.node & !DIRECT_CLASS);
            }
        }
    }
}

/// Buffers for building an entry, reused to avoid allocations.
#[derive(Default)]
struct BuildBuffers {
    alignment: PathAlignment,
    slices: Vec<ConditionSlice>,
    /// Conditions that were looked at because classes are set aside.
    looked_at: usize,
    /// Comparison and bit of a class.
    bits: Vec<(u32, u32)>,
    /// Comparison, literal and node.
    nodes: Vec<(u32, u32, u32)>,
    /// Of one entry.
    probes: Vec<Probe>,
    /// Operand and entry, of one level.
    entries: Vec<(u32, u32)>,
    level: Vec<u32>,
}

impl BuildBuffers {
    /// Finds the conditions of the path's trie nodes and the depths they apply to, in `slices`,
    /// sorted.
    fn collect(&mut self, segment: &Segment, automaton: &Automaton, path: u32) {
        self.slices.clear();
        self.looked_at = 0;
        let state = automaton.states[automaton.paths[path as usize].state as usize];
        if state.conditional.is_empty() {
            return;
        }
        let is_aligned = self.alignment.set_path(automaton, path);
        let restriction = automaton.restriction.as_deref();
        let takes_part = |condition: &Condition| {
            restriction.is_none_or(|restriction| restriction.has_node(condition.node))
        };
        let conditional = automaton.list(state.conditional);
        for (at, &node) in conditional.iter().enumerate() {
            if let Some(&next) = conditional.get(at + NODES_PREFETCHED) {
                prefetch(&segment.parent_links, next as usize);
            }
            let is_ambiguous = segment.is_ambiguous(node);
            if is_ambiguous && is_aligned {
                self.alignment.set_node(segment, node);
            }
            let mut start = segment.nodes[node as usize].condition;
            for same_step in equal_runs(segment.conditions_of(node), |condition| condition.step) {
                let step = same_step[0].step;
                let depths = match (is_ambiguous, is_aligned) {
                    (false, _) if step < ANY_DEPTH => None,
                    (false, _) => Some(0),
                    (true, true) => Some(self.alignment.depths_of_step(step)),
                    (true, false) => Some(0),
                };
                for same_operand in equal_runs(same_step, |condition| condition.operand) {
                    let end = start + same_operand.len() as u32;
                    if restriction.is_some() {
                        self.looked_at += same_operand.len();
                    }
                    if !same_operand.iter().any(takes_part) {
                        start = end;
                        continue;
                    }
                    let mut add = |depth: u32| {
                        self.slices.push(ConditionSlice {
                            depth,
                            operand: same_operand[0].operand,
                            start,
                            end,
                        })
                    };
                    match depths {
                        None => add(step),
                        Some(0) => add(ANY_DEPTH),
                        Some(mut depths) => {
                            while depths != 0 {
                                add(depths.trailing_zeros());
                                depths &= depths - 1;
                            }
                        }
                    }
                    start = end;
                }
            }
        }
        self.slices.sort_unstable();
    }
}
