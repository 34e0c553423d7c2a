//! Lays out the sites of a path: which conditions look at which element, merged over all trie nodes.

use xxhash_rust::xxh3::xxh3_128;

use crate::matching::alignment::PathTests;
use crate::matching::automaton::Automaton;
use crate::matching::condition_table::{has_few_slots, Ask, Others, PathSites, Run, Sites, Span};
use crate::matching::conditions::groups;
use crate::matching::match_bitmap::{masks, Mask, Told};
use crate::path_index::segment::{Segment, DIRECT};

/// Conditions of one trie node this few are merged with those of others; more are searched where they
/// stand, since a million may stand there.
const MERGED_MAX: usize = 32;

/// Stands for every depth, on paths too deep to align.
const ANY_DEPTH: u32 = u8::MAX as u32;

/// Work in progress, kept to save allocations.
#[derive(Default)]
pub(super) struct Work {
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

impl Sites {
    /// Lays out the sites of a path.
    #[cold]
    pub(super) fn build(
        &mut self,
        segment: &Segment,
        automaton: &mut Automaton,
        path: u32,
    ) -> PathSites {
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
            count: (self.of_paths.len() - start - usize::from(any)) as u8,
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
