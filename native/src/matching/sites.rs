//! What matches at each path ask of the elements above, by depth and slot.
//!
//! A *site* is what the matches at one path ask of one slot of the element at one depth. Most lack only
//! that condition and then match: those are held as [`Mask`]s of [`Told`], which knows the literal that
//! each class asks for, so that the many paths at which a class can match share all but a bit. Paths
//! that end alike, or begin alike, have many sites in common, so each is kept once.

use bytemuck::{Pod, Zeroable};
use hashbrown::HashMap;
use xxhash_rust::xxh3::xxh3_128;

use super::alignment::PathTests;
use super::automaton::Automaton;
use super::conditions::{groups, met_by, Wanted};
use super::gather::Value;
use super::told::{masks, Mask, Told};
use crate::index::segment::{Comparison, Segment, DIRECT};

type Table<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Conditions of one trie node this few are merged with those of others; more are searched where they
/// stand, since a million may stand there.
const MERGED_MAX: usize = 32;

/// A run of items in one of the arenas.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn since<T>(start: usize, arena: &[T]) -> Span {
        Span {
            start: start as u32,
            end: arena.len() as u32,
        }
    }

    #[inline]
    fn of<T>(self, arena: &[T]) -> &[T] {
        &arena[self.start as usize..self.end as usize]
    }
}

/// Some of what a site asks for.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Ask {
    /// The kind in the upper bits, then [`Ask::LAST`], then the word of a mask.
    head: u32,
    /// The bits of the mask, or the place in `others`.
    body: u32,
}

impl Ask {
    /// Equality of texts, by far the commonest of the comparisons, which are the kinds below
    /// [`Ask::OTHERS`]: the classes of a mask match by them.
    const EQUAL: u32 = Comparison::EqText as u32;
    /// What is no mask.
    const OTHERS: u32 = Comparison::COUNT as u32;
    /// Set in the last ask of a site.
    const LAST: u32 = 1 << (u32::BITS - Told::SPARE_BITS);
    const KIND_SHIFT: u32 = u32::BITS - Told::SPARE_BITS + 1;

    fn new(kind: u32, mask: Mask) -> Ask {
        Ask {
            head: kind << Ask::KIND_SHIFT | mask.word,
            body: mask.bits,
        }
    }

    #[inline]
    fn kind(self) -> u32 {
        self.head >> Ask::KIND_SHIFT
    }

    #[inline]
    fn mask(self) -> Mask {
        Mask {
            word: self.head & (Ask::LAST - 1),
            bits: self.body,
        }
    }
}

/// What few sites ask for.
#[derive(Clone, Copy, Debug)]
struct Others {
    /// In `runs`: trie nodes with more conditions.
    runs: Span,
    /// In `large`: the conditions of single trie nodes that have many.
    large: Span,
}

/// Literals and nodes, in `pairs`, sorted, that are compared the same way.
#[derive(Clone, Copy, Debug)]
struct Run {
    comparison: u32,
    pairs: Span,
}

/// The sites of the automaton's paths: a path has levels, one for each depth, a level has sites, one for
/// each slot, and a site has asks. A cache: a path points at its own part of it.
#[derive(Default)]
pub struct Sites {
    /// By path and depth: where the level begins in `levels`.
    of_paths: Vec<u32>,
    /// Of each level two numbers that make up a bit for each slot, by number modulo 64, and then where
    /// the sites begin in `asks`, by slot. Where the segment has more slots than bits, the count of the
    /// sites and their slots stand between.
    levels: Vec<u32>,
    asks: Vec<Ask>,
    others: Vec<Others>,
    runs: Vec<Run>,
    pairs: Vec<(u32, u32)>,
    /// Ranges of the segment's conditions.
    large: Vec<Span>,
    known_levels: Table<u128, u32>,
    known_sites: Table<u128, u32>,
    work: Work,
}

/// Work in progress, kept to save allocations.
#[derive(Default)]
struct Work {
    tests: PathTests,
    slices: Vec<Slice>,
    /// Comparison, and number of a class.
    numbered: Vec<(u32, u32)>,
    /// Comparison, literal and node.
    nodes: Vec<(u32, u32, u32)>,
    /// Of one site.
    asks: Vec<Ask>,
    /// Of one level: slots and sites.
    sites: Vec<(u32, u32)>,
    level: Vec<u32>,
}

/// A range of the segment's conditions, all of one trie node, step and slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slice {
    depth: u32,
    slot: u32,
    start: u32,
    end: u32,
}

/// The sites of one path.
#[derive(Clone, Copy, Debug)]
pub struct PathSites {
    /// Where its levels stand in `of_paths`.
    start: u32,
    /// The depth of the first level.
    depth: u8,
    /// How many levels there are.
    count: u8,
    /// Whether the last of them stands for depths that are not known.
    any: bool,
}

impl PathSites {
    /// Not looked for yet.
    pub const UNKNOWN: PathSites = PathSites {
        start: u32::MAX,
        depth: 0,
        count: 0,
        any: false,
    };
}

/// What a value met, beyond classes that match.
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
        self.of_paths.clear();
        self.levels.clear();
        self.asks.clear();
        self.others.clear();
        self.runs.clear();
        self.pairs.clear();
        self.large.clear();
        self.known_levels.clear();
        self.known_sites.clear();
    }

    /// The memory in use, about.
    pub fn bytes(&self) -> usize {
        (self.of_paths.len() + self.levels.len()) * 4
            + self.asks.len() * size_of::<Ask>()
            + self.others.len() * size_of::<Others>()
            + self.runs.len() * size_of::<Run>()
            + (self.pairs.len() + self.large.len()) * 8
            + (self.known_levels.len() + self.known_sites.len()) * 40
    }

    /// Finds the sites of a path, where that was not done before.
    #[inline]
    pub fn prepare(&mut self, segment: &Segment, automaton: &mut Automaton, path: u32) {
        if automaton.paths[path as usize].sites.start == PathSites::UNKNOWN.start {
            automaton.paths[path as usize].sites = self.build(segment, automaton, path);
        }
    }

    /// Tells, or adds to `met`, what matches at a path gain when the element at `depth` has `value`.
    #[inline]
    pub fn meet(
        &self,
        segment: &Segment,
        of_path: PathSites,
        depth: usize,
        value: &Value,
        told: &mut Told,
        met: &mut Met,
    ) {
        let at = (depth as u32).wrapping_sub(u32::from(of_path.depth));
        let known = u32::from(of_path.count) - u32::from(of_path.any);
        if at < known {
            let level = self.of_paths[(of_path.start + at) as usize];
            self.meet_at(segment, level, value, told, &mut met.nodes);
        }
        if of_path.any {
            let level = self.of_paths[(of_path.start + known) as usize];
            self.meet_at(segment, level, value, told, &mut met.suspected);
        }
    }

    #[inline]
    fn meet_at(
        &self,
        segment: &Segment,
        level: u32,
        value: &Value,
        told: &mut Told,
        nodes: &mut Vec<u32>,
    ) {
        let Some(site) = self.site(segment, level, value.slot) else {
            return;
        };
        let mut compared = (Ask::EQUAL, Wanted::only(value.literal));
        for &ask in &self.asks[site as usize..] {
            match ask.kind() {
                Ask::EQUAL => told.tell_equal(ask.mask(), value.literal),
                Ask::OTHERS => self.meet_others(segment, ask.body, value, nodes),
                comparison => {
                    if compared.0 != comparison {
                        compared = (comparison, Wanted::by(segment, comparison, value));
                    }
                    told.tell_wanted(ask.mask(), compared.1);
                }
            }
            if ask.head & Ask::LAST != 0 {
                break;
            }
        }
    }

    /// Where the site of a slot begins.
    #[inline]
    fn site(&self, segment: &Segment, level: u32, slot: u32) -> Option<u32> {
        let level = &self.levels[level as usize..];
        let bits = u64::from(level[0]) | u64::from(level[1]) << 32;
        let bit = 1 << (slot % u64::BITS);
        if bits & bit == 0 {
            return None;
        }
        if has_few_slots(segment) {
            return Some(level[2 + (bits & (bit - 1)).count_ones() as usize]);
        }
        let (slots, sites) = level[3..].split_at(level[2] as usize);
        let at = slots.binary_search(&slot).ok()?;
        Some(sites[at])
    }

    fn meet_others(&self, segment: &Segment, others: u32, value: &Value, nodes: &mut Vec<u32>) {
        let others = self.others[others as usize];
        for run in others.runs.of(&self.runs) {
            let pairs = run.pairs.of(&self.pairs);
            let wanted = Wanted::by(segment, run.comparison, value);
            for range in wanted.places(pairs, |pair| pair.0) {
                nodes.extend(pairs[range].iter().map(|pair| pair.1));
            }
        }
        for range in others.large.of(&self.large) {
            met_by(segment, range.of(&segment.conditions), value, nodes);
        }
    }

    #[cold]
    fn build(&mut self, segment: &Segment, automaton: &mut Automaton, path: u32) -> PathSites {
        let mut work = std::mem::take(&mut self.work);
        work.gather(segment, automaton, path);
        work.slices.sort_unstable();
        let slices = std::mem::take(&mut work.slices);
        let start = self.of_paths.len();
        let first = slices.first().map_or(0, |slice| slice.depth);
        let mut next = first;
        for of_depth in slices.chunk_by(|a, b| a.depth == b.depth) {
            let depth = of_depth[0].depth;
            if depth != ANY_DEPTH {
                work.sites.clear();
                for _ in next..depth {
                    let none = self.add_level(segment, &mut work);
                    self.of_paths.push(none);
                }
                next = depth + 1;
            }
            work.sites.clear();
            for of_slot in of_depth.chunk_by(|a, b| a.slot == b.slot) {
                let site = self.add_site(segment, of_slot, &mut work, &mut automaton.told);
                work.sites.push((of_slot[0].slot, site));
            }
            let level = self.add_level(segment, &mut work);
            self.of_paths.push(level);
        }
        let any = slices.last().is_some_and(|slice| slice.depth == ANY_DEPTH);
        work.slices = slices;
        self.work = work;
        PathSites {
            start: start as u32,
            depth: first as u8,
            count: (self.of_paths.len() - start) as u8,
            any,
        }
    }

    /// The level of `work.sites`.
    fn add_level(&mut self, segment: &Segment, work: &mut Work) -> u32 {
        let few = has_few_slots(segment);
        let (sites, level) = (&mut work.sites, &mut work.level);
        if few {
            sites.sort_unstable_by_key(|(slot, _)| slot % u64::BITS);
        }
        let bits = sites
            .iter()
            .fold(0, |bits, (slot, _)| bits | 1u64 << (slot % u64::BITS));
        level.clear();
        level.extend([bits as u32, (bits >> 32) as u32]);
        if !few {
            level.push(sites.len() as u32);
            level.extend(sites.iter().map(|(slot, _)| slot));
        }
        level.extend(sites.iter().map(|(_, site)| site));
        let levels = &mut self.levels;
        let digest = xxh3_128(bytemuck::cast_slice(level));
        *self.known_levels.entry(digest).or_insert_with(|| {
            let start = levels.len() as u32;
            levels.extend_from_slice(level);
            start
        })
    }

    /// The site of some conditions on one slot.
    fn add_site(
        &mut self,
        segment: &Segment,
        slices: &[Slice],
        work: &mut Work,
        told: &mut Told,
    ) -> u32 {
        // What is met at a depth that is not known must not be told.
        let sure = slices[0].depth != ANY_DEPTH;
        let (first_run, first_large) = (self.runs.len(), self.large.len());
        work.numbered.clear();
        work.nodes.clear();
        work.asks.clear();
        for &Slice { start, end, .. } in slices {
            if (end - start) as usize > MERGED_MAX {
                self.large.push(Span { start, end });
                continue;
            }
            for at in start..end {
                let one = segment.conditions[at as usize];
                let number = (sure && one.node & DIRECT != 0)
                    .then(|| told.number_under(one.node & !DIRECT, at, one.literal))
                    .flatten();
                match number {
                    Some(number) => work.numbered.push((one.comparison, number)),
                    None => work.nodes.push((one.comparison, one.literal, one.node)),
                }
            }
        }
        work.numbered.sort_unstable();
        for alike in work.numbered.chunk_by(|a, b| a.0 == b.0) {
            let masks = masks(alike, |numbered| numbered.1);
            work.asks
                .extend(masks.map(|mask| Ask::new(alike[0].0, mask)));
        }
        work.nodes.sort_unstable();
        for alike in work.nodes.chunk_by(|a, b| a.0 == b.0) {
            let start = self.pairs.len();
            let pairs = alike.iter().map(|&(_, literal, node)| (literal, node));
            self.pairs.extend(pairs);
            self.runs.push(Run {
                comparison: alike[0].0,
                pairs: Span::since(start, &self.pairs),
            });
        }
        if first_run < self.runs.len() || first_large < self.large.len() {
            let place = Mask {
                word: 0,
                bits: self.others.len() as u32,
            };
            work.asks.push(Ask::new(Ask::OTHERS, place));
            self.others.push(Others {
                runs: Span::since(first_run, &self.runs),
                large: Span::since(first_large, &self.large),
            });
        }
        work.asks
            .last_mut()
            .expect("a site asks for something")
            .head |= Ask::LAST;
        let asks = &mut self.asks;
        let digest = xxh3_128(bytemuck::cast_slice(&work.asks));
        *self.known_sites.entry(digest).or_insert_with(|| {
            let start = asks.len() as u32;
            asks.extend_from_slice(&work.asks);
            start
        })
    }
}

impl Work {
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
                    let mut add = |depth: u32| {
                        self.slices.push(Slice {
                            depth,
                            slot: of_slot[0].slot,
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
    }
}

/// Whether each slot has a bit of its own in a level.
#[inline]
fn has_few_slots(segment: &Segment) -> bool {
    segment.slots.len() <= u64::BITS as usize
}

/// Stands for every depth, on paths too deep to align.
const ANY_DEPTH: u32 = u8::MAX as u32;
