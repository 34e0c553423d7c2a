//! Which matches the values of open elements decide.
//!
//! Each path knows, by depth and slot, which values its conditional matches need from the elements
//! above it. Attributes are there when an element starts. Content is there when the element ends; by
//! then every path that was seen since the element began, and that continues the element's own, lies
//! inside it, so those paths are exactly where matches under it can end. A match that needs more, of
//! the same element or further up, waits until that element ends.

use hashbrown::HashSet;

use crate::events::Stop;
use crate::matching::alignment::PathTests;
use crate::matching::alphabet::NONE;
use crate::matching::attributes::OpenAttribute;
use crate::matching::condition_table::{PathSites, SiteId};
use crate::matching::conditions::{groups, met};
use crate::matching::segment_run::Run;
use crate::matching::string_values::Value;
use crate::path_index::segment::{Origin, Segment, SlotRecord, DIRECT, VERIFY};

/// A match that waits for an element to end.
#[derive(Clone, Copy, Debug)]
struct Undecided {
    /// The place of that element among the open ones.
    place: u32,
    /// The trie node whose conditions it must meet.
    node: u32,
    /// The structural trie node that the element stands for.
    structural: u32,
}

/// The matches that wait.
#[derive(Default)]
pub(super) struct Waiting {
    list: Vec<Undecided>,
    known: HashSet<(u64, u32, u32), foldhash::fast::RandomState>,
}

impl Waiting {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.known.clear();
    }
}

/// Work in progress, kept to save allocations.
#[derive(Default)]
pub(super) struct Work {
    /// Nodes whose condition holds.
    nodes: Vec<u32>,
    /// Nodes whose condition would hold, if the path could be aligned so.
    suspected: Vec<u32>,
    /// Places in the run's attributes, and the sites that ask for them.
    found: Vec<(u32, SiteId)>,
    below: Vec<u32>,
    tests: PathTests,
}

impl Work {
    /// Drops what a document that was refused left.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.suspected.clear();
        self.found.clear();
        self.below.clear();
    }
}

impl Run {
    /// Decides what the open elements' attributes meet at a path, at or below that of the innermost
    /// element; those of elements that began before element number `before` did so when that one was at
    /// the path.
    pub(super) fn decide_by_attributes(
        &mut self,
        segment: &Segment,
        path: u32,
        before: u64,
    ) -> Result<(), Stop> {
        self.sites.prepare(segment, &mut self.automaton, path);
        let sites = self.automaton.paths[path as usize].sites;
        // First all sites are found, then all are asked, so that the searches wait for memory together.
        for (at, attribute) in self.attributes.list().iter().enumerate().rev() {
            let &OpenAttribute {
                depth,
                slot,
                started,
                ..
            } = attribute;
            if started < before {
                break;
            }
            if let Some(site) = self.sites.find(segment, sites, depth, slot) {
                self.work.found.push((at as u32, site));
            }
        }
        if sites.any {
            self.suspect_by_attributes(segment, sites, before);
        }
        while let Some((at, site)) = self.work.found.pop() {
            let at = at as usize;
            let Some(value) = self.attributes.value(segment, at) else {
                continue;
            };
            let nodes = &mut self.work.nodes;
            self.sites
                .meet(segment, site, &value, &mut self.automaton.told, nodes);
            if !nodes.is_empty() {
                let place = self.attributes.list()[at].depth as usize;
                self.settle_attribute(segment, place)?;
            }
        }
        Ok(())
    }

    /// What the open elements' attributes decide at a path that is too deep to align must be verified.
    #[cold]
    fn suspect_by_attributes(&mut self, segment: &Segment, sites: PathSites, before: u64) {
        for at in (0..self.attributes.len()).rev() {
            if self.attributes.list()[at].started < before {
                break;
            }
            if let Some(value) = self.attributes.value(segment, at) {
                self.suspect_by(segment, sites, &value);
            }
        }
        self.suspect_all(segment);
    }

    /// Suspects what `value` would lead to, if the path, which is too deep to align, could be aligned so.
    #[cold]
    fn suspect_by(&mut self, segment: &Segment, sites: PathSites, value: &Value) {
        if let Some(site) = self.sites.find_anywhere(segment, sites, value.slot) {
            let suspected = &mut self.work.suspected;
            self.sites
                .meet(segment, site, value, &mut self.automaton.told, suspected);
        }
    }

    /// Takes note of what was met by an attribute of the element at `place`.
    fn settle_attribute(&mut self, segment: &Segment, place: usize) -> Result<(), Stop> {
        // What elements around a copied subtree decide, they decide again for each copy.
        let around = self.repeats.pause();
        if place >= around {
            self.repeats.resume(around);
        }
        self.settle(segment, place)?;
        self.repeats.resume(around);
        Ok(())
    }

    /// Decides what the innermost element's content meets at the paths inside it.
    pub(super) fn decide_by_content(&mut self, segment: &Segment) -> Result<(), Stop> {
        let place = self.frames.len() - 1;
        let frame = self.frames[place];
        let mut below = std::mem::take(&mut self.work.below);
        self.meet_at(segment, frame.path, place);
        below.push(self.automaton.paths[frame.path as usize].first_child);
        while let Some(mut path) = below.pop() {
            while path != NONE {
                let seen = self.automaton.paths[path as usize];
                if seen.last_seen > frame.started {
                    self.meet_at(segment, path, place);
                    below.push(seen.first_child);
                }
                path = seen.next_sibling;
            }
        }
        self.work.below = below;
        if frame.started < self.forgotten_before {
            self.meet_forgotten(segment, frame.values);
        }
        self.settle(segment, place)?;
        self.suspect_all(segment);
        Ok(())
    }

    #[inline]
    fn meet_at(&mut self, segment: &Segment, path: u32, place: usize) {
        self.sites.prepare(segment, &mut self.automaton, path);
        let sites = self.automaton.paths[path as usize].sites;
        for at in self.frames[place].values..self.values.len() {
            let value = self.values[at];
            if segment.slots[value.slot as usize].kind == SlotRecord::ATTRIBUTE {
                continue;
            }
            let site = self.sites.find(segment, sites, place as u32, value.slot);
            if let Some(site) = site {
                let (told, nodes) = (&mut self.automaton.told, &mut self.work.nodes);
                self.sites.meet(segment, site, &value, told, nodes);
            }
            if sites.any {
                self.suspect_by(segment, sites, &value);
            }
        }
    }

    /// Takes note of what was met by the element at `place`.
    #[inline]
    fn settle(&mut self, segment: &Segment, place: usize) -> Result<(), Stop> {
        while let Some(node) = self.work.nodes.pop() {
            self.accept(segment, node);
            if node & DIRECT == 0 && !segment.conditions_of(node).is_empty() {
                let structural = structural_of(segment, node);
                self.wait_for_rest(segment, node, structural, place)?;
            }
        }
        Ok(())
    }

    /// Everything behind the suspected nodes might match.
    #[inline]
    fn suspect_all(&mut self, segment: &Segment) {
        while let Some(node) = self.work.suspected.pop() {
            self.suspect(segment, node);
        }
    }

    /// What matches at forgotten paths might need of the innermost element, wherever it stands.
    #[cold]
    fn meet_forgotten(&mut self, segment: &Segment, values: usize) {
        self.hold_kept_attributes(segment);
        let suspected = &mut self.work.suspected;
        for &node in &self.forgotten {
            for of_step in groups(segment.conditions_of(node), |condition| condition.step) {
                met(segment, of_step, &self.values[values..], suspected);
            }
        }
    }

    /// A condition behind which others stand was met by the element at `place`, which stands for the
    /// trie node `structural`: the others wait for that element and those above it to end.
    fn wait_for_rest(
        &mut self,
        segment: &Segment,
        node: u32,
        structural: u32,
        place: usize,
    ) -> Result<(), Stop> {
        let step = segment.steps_to(structural) - 1;
        for of_step in groups(segment.conditions_of(node), |condition| condition.step) {
            if of_step[0].step == step {
                self.wait_for(node, structural, place)?;
            } else {
                self.wait_above(segment, node, structural, of_step[0].step, place)?;
            }
        }
        Ok(())
    }

    /// Decides what waited for the innermost element.
    #[cold]
    pub(super) fn decide_waiting(&mut self, segment: &Segment) -> Result<(), Stop> {
        self.hold_kept_attributes(segment);
        let place = self.frames.len() - 1;
        let frame = self.frames[place];
        let mut nodes = Vec::new();
        let mut at = 0;
        while at < self.waiting.list.len() {
            let Undecided {
                place: waited_for,
                node,
                structural,
            } = self.waiting.list[at];
            if waited_for as usize != place {
                at += 1;
                continue;
            }
            self.waiting.list.swap_remove(at);
            self.waiting
                .known
                .remove(&(frame.started, node, structural));
            let step = segment.steps_to(structural) - 1;
            let of_step = groups(segment.conditions_of(node), |condition| condition.step);
            for conditions in of_step.filter(|conditions| conditions[0].step == step) {
                met(
                    segment,
                    conditions,
                    &self.values[frame.values..],
                    &mut nodes,
                );
            }
            while let Some(node) = nodes.pop() {
                self.accept(segment, node);
                if node & DIRECT == 0 {
                    self.wait_for_rest(segment, node, structural, place)?;
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn accept(&mut self, segment: &Segment, node: u32) {
        if node & DIRECT != 0 {
            self.automaton.told.insert(node & !DIRECT);
            return;
        }
        for &class in segment.accepts_of(node) {
            if class & VERIFY == 0 {
                self.automaton.told.insert(class);
            } else {
                self.candidates.insert(class & !VERIFY);
            }
        }
    }

    /// Everything behind `node` might match.
    #[cold]
    fn suspect(&mut self, segment: &Segment, node: u32) {
        let mut nodes = vec![node];
        while let Some(node) = nodes.pop() {
            if node & DIRECT != 0 {
                self.candidates.insert(node & !DIRECT);
                continue;
            }
            for &class in segment.accepts_of(node) {
                self.candidates.insert(class & !VERIFY);
            }
            nodes.extend(
                segment
                    .conditions_of(node)
                    .iter()
                    .map(|condition| condition.node),
            );
        }
    }

    /// Lets `node` wait for the elements that can stand for step `wanted`, when the element at `below`
    /// stands for the trie node `structural`.
    fn wait_above(
        &mut self,
        segment: &Segment,
        node: u32,
        structural: u32,
        wanted: u32,
        below: usize,
    ) -> Result<(), Stop> {
        let paths = self.frames[..=below].iter().map(|frame| frame.path);
        let letters = paths.map(|path| self.automaton.paths[path as usize].letter);
        if !self.work.tests.of_letters(&self.automaton, letters) {
            self.suspect(segment, node);
            return Ok(());
        }
        let mut above = structural;
        for _ in wanted..segment.steps_to(structural) - 1 {
            above = segment.origins[above as usize].parent;
        }
        let mut places = self.work.tests.standing(segment, structural, wanted);
        while places != 0 {
            self.wait_for(node, above, places.trailing_zeros() as usize)?;
            places &= places - 1;
        }
        Ok(())
    }

    /// Lets `node` wait for the element at `place`, which stands for the trie node `structural`.
    pub(super) fn wait_for(
        &mut self,
        node: u32,
        structural: u32,
        place: usize,
    ) -> Result<(), Stop> {
        self.repeats.note_wait(place, node, structural);
        let frame = &mut self.frames[place];
        if self.waiting.known.insert((frame.started, node, structural)) {
            frame.waiting += 1;
            frame.busy = true;
            self.waiting.list.push(Undecided {
                place: place as u32,
                node,
                structural,
            });
        }
        if self.waiting.list.len() > self.limits.undecided_max {
            return Err(Stop {
                code: "limit.candidates",
                message: format!(
                    "more than {} matches wait for elements to end",
                    self.limits.undecided_max
                ),
            });
        }
        Ok(())
    }
}

/// The structural trie node that the element stands for whose condition leads to `node`.
fn structural_of(segment: &Segment, node: u32) -> u32 {
    let step = segment.origins[node as usize].edge & !Origin::CONDITION;
    let mut at = node;
    while segment.origins[at as usize].edge & Origin::CONDITION != 0 {
        at = segment.origins[at as usize].parent;
    }
    for _ in step + 1..segment.steps_to(at) {
        at = segment.origins[at as usize].parent;
    }
    at
}
