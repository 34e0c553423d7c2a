//! What matches at each path ask of the elements above, by depth and slot.
//!
//! A *site* is what the matches at one path ask of one slot of the element at one depth. Most lack only
//! that condition and then match: those are held as [`Mask`]s of [`Told`], which knows the literal that
//! each class asks for, so that the many paths at which a class can match share all but a bit. Paths
//! that end alike, or begin alike, have many sites in common, so each is kept once.

use bytemuck::{Pod, Zeroable};
use hashbrown::HashMap;

use crate::matching::automaton::Automaton;
use crate::matching::condition_table_builder::Work;
use crate::matching::conditions::{met_by, Wanted};
use crate::matching::match_bitmap::{Mask, Told};
use crate::matching::string_values::Value;
use crate::path_index::segment::{Comparison, Segment};

type Table<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A run of items in one of the arenas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn since<T>(start: usize, arena: &[T]) -> Span {
        Span {
            start: start as u32,
            end: arena.len() as u32,
        }
    }

    #[inline]
    pub fn of<T>(self, arena: &[T]) -> &[T] {
        &arena[self.start as usize..self.end as usize]
    }
}

/// Some of what a site asks for.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Ask {
    /// The kind in the upper bits, then [`Ask::LAST`], then the word of a mask.
    pub head: u32,
    /// The bits of the mask, or the place in `others`.
    body: u32,
}

impl Ask {
    /// Equality of texts, by far the commonest of the comparisons, which are the kinds below
    /// [`Ask::OTHERS`]: the classes of a mask match by them.
    pub const EQUAL: u32 = Comparison::EqText as u32;
    /// What is no mask.
    pub const OTHERS: u32 = Comparison::COUNT as u32;
    /// Set in the last ask of a site.
    pub const LAST: u32 = 1 << (u32::BITS - Told::SPARE_BITS);
    const KIND_SHIFT: u32 = u32::BITS - Told::SPARE_BITS + 1;

    pub fn new(kind: u32, mask: Mask) -> Ask {
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
pub(super) struct Others {
    /// In `runs`: trie nodes with more conditions.
    pub runs: Span,
    /// In `large`: the conditions of single trie nodes that have many.
    pub large: Span,
}

/// Literals and nodes, in `pairs`, sorted, that are compared the same way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub comparison: u32,
    pub pairs: Span,
}

/// The sites of the automaton's paths: a path has levels, one for each depth, a level has sites, one for
/// each slot, and a site has asks. A cache: a path points at its own part of it.
#[derive(Default)]
pub struct Sites {
    /// By path and depth: where the level begins in `levels`.
    pub(super) of_paths: Vec<u32>,
    /// Of each level two numbers that make up a bit for each slot, by number modulo 64, and then where
    /// the sites begin in `asks`, by slot. Where the segment has more slots than bits, the count of the
    /// sites and their slots stand between.
    pub(super) levels: Vec<u32>,
    pub(super) asks: Vec<Ask>,
    pub(super) others: Vec<Others>,
    pub(super) runs: Vec<Run>,
    pub(super) pairs: Vec<(u32, u32)>,
    /// Ranges of the segment's conditions.
    pub(super) large: Vec<Span>,
    pub(super) known_levels: Table<u128, u32>,
    pub(super) known_sites: Table<u128, u32>,
    pub(super) work: Work,
}

/// The sites of one path.
#[derive(Clone, Copy, Debug)]
pub struct PathSites {
    /// Where its levels stand in `of_paths`.
    pub(super) start: u32,
    /// The depth of the first level.
    pub(super) depth: u8,
    /// How many levels there are, for one depth after the other.
    pub(super) count: u8,
    /// Whether one more follows, which stands for depths that are not known.
    pub(super) any: bool,
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

/// A site: where it begins in `asks`.
#[derive(Clone, Copy, Debug)]
pub struct SiteId(u32);

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

    /// The site of a path that asks for a slot of the element at `depth`.
    #[inline(always)]
    pub fn find(
        &self,
        segment: &Segment,
        of_path: PathSites,
        depth: u32,
        slot: u32,
    ) -> Option<SiteId> {
        let at = depth.wrapping_sub(u32::from(of_path.depth));
        if at >= u32::from(of_path.count) {
            return None;
        }
        let level = self.of_paths[(of_path.start + at) as usize];
        self.site(segment, level, slot)
    }

    /// The site of a path, which has a level for depths that are not known, that asks there for a slot.
    pub fn find_anywhere(
        &self,
        segment: &Segment,
        of_path: PathSites,
        slot: u32,
    ) -> Option<SiteId> {
        let last = of_path.start + u32::from(of_path.count);
        self.site(segment, self.of_paths[last as usize], slot)
    }

    /// Tells the classes that match when the slot of a site has `value`, and adds the nodes that need
    /// more.
    #[inline]
    pub fn meet(
        &self,
        segment: &Segment,
        site: SiteId,
        value: &Value,
        told: &mut Told,
        nodes: &mut Vec<u32>,
    ) {
        let asks = &self.asks[site.0 as usize..];
        for (at, &ask) in asks.iter().enumerate() {
            if ask.kind() != Ask::EQUAL {
                return self.meet_otherwise(segment, &asks[at..], value, told, nodes);
            }
            told.tell_equal(ask.mask(), value.literal);
            if ask.head & Ask::LAST != 0 {
                return;
            }
        }
    }

    /// The same for what a site asks after equality of texts, which comes first.
    #[inline(never)]
    fn meet_otherwise(
        &self,
        segment: &Segment,
        asks: &[Ask],
        value: &Value,
        told: &mut Told,
        nodes: &mut Vec<u32>,
    ) {
        let mut compared = (Ask::EQUAL, Wanted::only(value.literal));
        for &ask in asks {
            match ask.kind() {
                Ask::OTHERS => self.meet_others(segment, ask.body, value, nodes),
                comparison => {
                    if compared.0 != comparison {
                        compared = (comparison, Wanted::by(segment, comparison, value));
                    }
                    told.tell_wanted(ask.mask(), compared.1);
                }
            }
            if ask.head & Ask::LAST != 0 {
                return;
            }
        }
    }

    /// Where the site of a slot begins.
    #[inline(always)]
    fn site(&self, segment: &Segment, level: u32, slot: u32) -> Option<SiteId> {
        let level = &self.levels[level as usize..];
        let bits = u64::from(level[0]) | u64::from(level[1]) << 32;
        let bit = 1 << (slot % u64::BITS);
        if bits & bit == 0 {
            return None;
        }
        if has_few_slots(segment) {
            let before = (bits & (bit - 1)).count_ones() as usize;
            return Some(SiteId(level[2 + before]));
        }
        site_among_many(level, slot)
    }

    #[inline(never)]
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
}

/// Where the site of a slot begins, in a level of a segment with many slots.
fn site_among_many(level: &[u32], slot: u32) -> Option<SiteId> {
    let (slots, sites) = level[3..].split_at(level[2] as usize);
    let at = slots.binary_search(&slot).ok()?;
    Some(SiteId(sites[at]))
}

/// Whether each slot has a bit of its own in a level.
#[inline]
pub(super) fn has_few_slots(segment: &Segment) -> bool {
    segment.slots.len() <= u64::BITS as usize
}
