//! The targets of a router, and the announced sets by which neighbours' match lists decide them.
//!
//! A target is a local subscription or a pattern of a neighbour's interest. It has a number, which is
//! its id in the index, a group (0 for local subscriptions, one group for each neighbour) and the
//! digest of its pattern. The patterns of a neighbour are ranked by digest; so are the patterns of the
//! set that is announced to it.
//!
//! A match list of a neighbour decides a target if the announced set has the target's own pattern, or
//! one that is proved to match the same documents. Otherwise the target is undecided if the pattern
//! that contains it matched, and does not match if that pattern did not.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::dispatch::DocumentMatcher;
use crate::routes::match_list::{Malformed, MatchList};

/// A pattern's digest.
pub type Digest = [u8; 16];

type FastState = foldhash::fast::RandomState;

/// The group of local subscriptions.
pub const LOCAL: u32 = 0;

/// How many matchers' handles are kept: a mapping has a matcher of its own.
const HANDLE_TABLES_MAX: usize = 2;

/// A group, and in it the position of a local subscription or the rank of a pattern; in one integer,
/// ordered by group. Positions are dense and in the order of numbers.
type Code = u64;

/// The code of a target, and its number.
type CodedTarget = (Code, u32);

const NO_CODE: Code = Code::MAX;

fn code(group: u32, position: u32) -> Code {
    u64::from(group) << 32 | u64::from(position)
}

/// A code in half of the bytes: a group below 255 in the upper byte, a position below 2^24.
type ShortCode = u32;

const NO_SHORT_CODE: ShortCode = ShortCode::MAX;
const POSITION_BITS: u32 = 24;

fn shorten(code: Code) -> ShortCode {
    let (group, position) = (code >> 32, code as u32);
    if group < 255 && position >> POSITION_BITS == 0 {
        (group as u32) << POSITION_BITS | position
    } else {
        NO_SHORT_CODE
    }
}

fn lengthen(short: ShortCode) -> Code {
    code(short >> POSITION_BITS, short & ((1 << POSITION_BITS) - 1))
}

#[derive(Clone, Copy)]
struct Target {
    group: u32,
    digest: Digest,
}

/// The announced pattern that contains a target whose own pattern is not announced.
#[derive(Clone, Copy)]
pub struct Container {
    /// The digest of the announced pattern.
    pub digest: Digest,
    /// Whether the target matches the same documents, so that the announced pattern decides it.
    pub is_equivalent: bool,
}

/// Where a document goes, and what is undecided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// Positions of the local subscriptions that match, see [`RouteTable::local_numbers`]; ascending.
    pub local: Vec<u32>,
    /// The groups of neighbours with a matching or unknown pattern, and the match lists for them.
    pub forwards: Vec<(u32, MatchList)>,
    /// Positions of local subscriptions of which it is unknown whether they match; ascending.
    pub unknown: Vec<u32>,
    /// Whether something must be decided by other means.
    pub is_undecided: bool,
}

/// What a match list of one neighbour decides.
#[derive(Default)]
struct Announced {
    digests: HashSet<Digest, FastState>,
    /// By number, for targets whose own pattern is not announced.
    containers: HashMap<u32, Container, FastState>,
    /// By rank, in two parts: where the targets of a pattern begin, and where those among them begin
    /// that it contains, but does not decide. Empty if it must be built.
    starts: Vec<(u32, u32)>,
    /// By rank.
    targets: Vec<CodedTarget>,
    /// By rank: the code of the only target of the pattern, if the pattern decides it; otherwise
    /// [`NO_SHORT_CODE`]. Most patterns have one target, which then takes one memory access.
    only_targets: Vec<ShortCode>,
    /// Numbers of the targets that are below no announced pattern.
    uncontained: Vec<u32>,
}

impl Announced {
    /// The targets that the pattern of a rank decides, and those that it contains.
    fn of_rank(&self, rank: u32) -> (&[CodedTarget], &[CodedTarget]) {
        let (start, contained) = self.starts[rank as usize];
        let (end, _) = self.starts[rank as usize + 1];
        let targets = &self.targets[start as usize..end as usize];
        targets.split_at((contained - start) as usize)
    }
}

/// The targets of a router.
#[derive(Default)]
pub struct RouteTable {
    targets: HashMap<u32, Target, FastState>,
    announced: HashMap<u32, Announced, FastState>,
    /// By group and digest; built on demand.
    ranks: HashMap<(u32, Digest), u32, FastState>,
    /// Built on demand.
    local_numbers: Vec<u32>,
    is_ranked: bool,
    /// By group: the digest of the neighbour's interest.
    interests: HashMap<u32, Digest, FastState>,
    handle_codes: Vec<(Arc<dyn DocumentMatcher>, Vec<Code>)>,
}

impl RouteTable {
    /// Adds targets of a group.
    pub fn add(&mut self, group: u32, targets: impl IntoIterator<Item = (u32, Digest)>) {
        self.reset();
        let entries = targets.into_iter();
        self.targets
            .extend(entries.map(|(number, digest)| (number, Target { group, digest })));
    }

    /// Removes targets, if present.
    pub fn remove(&mut self, numbers: &[u32]) {
        self.reset();
        for number in numbers {
            self.targets.remove(number);
        }
    }

    /// States the digest of a neighbour's interest, to which annotations for it refer.
    pub fn set_interest(&mut self, group: u32, digest: Digest) {
        self.interests.insert(group, digest);
    }

    /// The digest of a neighbour's interest; zeros if it was not stated.
    pub fn interest(&self, group: u32) -> Digest {
        self.interests.get(&group).copied().unwrap_or_default()
    }

    /// Changes the set that is announced to a neighbour.
    pub fn announce(&mut self, group: u32, added: &[Digest], removed: &[Digest]) {
        let announced = self.announced.entry(group).or_default();
        announced.starts.clear();
        announced.containers.clear();
        for digest in removed {
            announced.digests.remove(digest);
        }
        announced.digests.extend(added);
    }

    /// Numbers of the targets outside a group whose own pattern is not announced to that neighbour.
    pub fn unannounced(&self, group: u32) -> Vec<u32> {
        let announced = self.announced.get(&group).map(|set| &set.digests);
        let is_announced =
            |target: &Target| announced.is_some_and(|digests| digests.contains(&target.digest));
        let entries = self.targets.iter();
        entries
            .filter(|(_, target)| target.group != group && !is_announced(target))
            .map(|(&number, _)| number)
            .collect()
    }

    /// States the announced patterns that contain targets whose own patterns are not announced.
    pub fn set_containers(
        &mut self,
        group: u32,
        containers: impl IntoIterator<Item = (u32, Container)>,
    ) {
        let announced = self.announced.entry(group).or_default();
        announced.starts.clear();
        announced.containers = containers.into_iter().collect();
        self.build(group);
    }

    /// Whether [`RouteTable::set_containers`] must be called before a list of the group is used.
    pub fn must_be_prepared(&self, group: u32) -> bool {
        self.announced
            .get(&group)
            .is_none_or(|announced| announced.starts.is_empty())
    }

    /// The numbers of all local subscriptions by position, ascending, once a document was routed.
    pub fn local_numbers(&self) -> &[u32] {
        &self.local_numbers
    }

    fn reset(&mut self) {
        self.is_ranked = false;
        self.handle_codes.clear();
        for announced in self.announced.values_mut() {
            announced.starts.clear();
            announced.containers.clear();
        }
    }

    /// The routes of a document that was read: `handles` match it, and of the targets with the numbers
    /// `set_aside` it is unknown. Nothing returns to the group `source`.
    pub fn of_matched(
        &mut self,
        matcher: &Arc<dyn DocumentMatcher>,
        handles: &[u32],
        set_aside: &[u32],
        source: Option<u32>,
    ) -> Routes {
        let at = self.handle_table(matcher);
        let codes = &self.handle_codes[at].1;
        let of_handles = handles.iter().map(|&handle| codes[handle as usize]);
        let matched = leaving(of_handles, source);
        routes(&matched, &self.codes_of(set_aside, source), false)
    }

    /// The routes of a document that was read, by numbers instead of handles.
    pub fn of_numbers(
        &mut self,
        matched: &[u32],
        set_aside: &[u32],
        source: Option<u32>,
    ) -> Routes {
        self.rank_targets();
        let matched = self.codes_of(matched, source);
        routes(&matched, &self.codes_of(set_aside, source), false)
    }

    fn codes_of(&self, numbers: &[u32], source: Option<u32>) -> Vec<Code> {
        let known = numbers
            .iter()
            .filter_map(|&number| Some((number, self.targets.get(&number)?)));
        leaving(
            known.map(|(number, target)| self.code_of(number, target)),
            source,
        )
    }

    /// The position of the table for the handles of a matcher.
    fn handle_table(&mut self, matcher: &Arc<dyn DocumentMatcher>) -> usize {
        let is_same = |known: &Arc<dyn DocumentMatcher>| {
            std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(matcher))
        };
        if let Some(at) = self
            .handle_codes
            .iter()
            .position(|(known, _)| is_same(known))
        {
            return at;
        }
        self.rank_targets();
        let count: usize = matcher
            .subscription_tables()
            .iter()
            .map(|table| table.count())
            .sum();
        let code_of = |handle: u32| {
            let number: Option<u32> = matcher.id(handle).parse().ok();
            number
                .and_then(|number| Some((number, self.targets.get(&number)?)))
                .map_or(NO_CODE, |(number, target)| self.code_of(number, target))
        };
        let codes = (0..count as u32).map(code_of).collect();
        if self.handle_codes.len() == HANDLE_TABLES_MAX {
            self.handle_codes.remove(0);
        }
        self.handle_codes.push((Arc::clone(matcher), codes));
        self.handle_codes.len() - 1
    }

    fn code_of(&self, number: u32, target: &Target) -> Code {
        match target.group {
            LOCAL => {
                let position = self.local_numbers.partition_point(|&other| other < number);
                code(LOCAL, position as u32)
            }
            group => code(group, self.ranks[&(group, target.digest)]),
        }
    }

    /// Ranks the patterns of each neighbour, and orders the local subscriptions.
    fn rank_targets(&mut self) {
        if self.is_ranked {
            return;
        }
        self.is_ranked = true;
        self.ranks.clear();
        let local = |(&number, target): (&u32, &Target)| (target.group == LOCAL).then_some(number);
        self.local_numbers = self.targets.iter().filter_map(local).collect();
        self.local_numbers.sort_unstable();
        let mut patterns: Vec<(u32, Digest)> = self
            .targets
            .values()
            .filter(|target| target.group != LOCAL)
            .map(|target| (target.group, target.digest))
            .collect();
        patterns.sort_unstable();
        patterns.dedup();
        let (mut group, mut rank) = (LOCAL, 0);
        for pattern in patterns {
            if pattern.0 != group {
                (group, rank) = (pattern.0, 0);
            }
            self.ranks.insert(pattern, rank);
            rank += 1;
        }
    }

    /// The routes that a match list of the neighbour `source` decides.
    pub fn of_match_list(&mut self, source: u32, list: &[u8]) -> Result<Routes, Malformed> {
        self.build(source);
        let announced = self.announced.get(&source).ok_or(Malformed)?;
        let set_size = announced.digests.len() as u32;
        let list = MatchList::decode(list, set_size)?;
        let mut matched: Vec<Code> = Vec::with_capacity(list.matched.len());
        let mut is_undecided = !announced.uncontained.is_empty() || !list.unknown.is_empty();
        for &rank in &list.matched {
            let short = announced.only_targets[rank as usize];
            if short != NO_SHORT_CODE {
                matched.push(lengthen(short));
                continue;
            }
            let (decided, contained) = announced.of_rank(rank);
            matched.extend(decided.iter().map(|&(code, _)| code));
            is_undecided |= !contained.is_empty();
        }
        matched.sort_unstable();
        Ok(routes(&matched, &[], is_undecided))
    }

    /// The numbers of the targets that a match list of the neighbour `source` proves to match, and of
    /// those that it does not decide.
    pub fn split_match_list(
        &mut self,
        source: u32,
        list: &[u8],
    ) -> Result<(Vec<u32>, Vec<u32>), Malformed> {
        self.build(source);
        let announced = self.announced.get(&source).ok_or(Malformed)?;
        let list = MatchList::decode(list, announced.digests.len() as u32)?;
        let numbers = |targets: &[CodedTarget]| targets.iter().map(|&(_, number)| number).collect();
        let (mut matched, mut undecided): (Vec<u32>, Vec<u32>) =
            (Vec::new(), announced.uncontained.clone());
        for &rank in &list.matched {
            let (decided, contained) = announced.of_rank(rank);
            matched.extend::<Vec<u32>>(numbers(decided));
            undecided.extend::<Vec<u32>>(numbers(contained));
        }
        for &rank in &list.unknown {
            let (decided, contained) = announced.of_rank(rank);
            undecided.extend::<Vec<u32>>(numbers(decided));
            undecided.extend::<Vec<u32>>(numbers(contained));
        }
        Ok((matched, undecided))
    }

    /// Builds the codes of the announced set of a neighbour, unless they are there.
    fn build(&mut self, source: u32) {
        if !self.must_be_prepared(source) {
            return;
        }
        self.rank_targets();
        let announced = self.announced.remove(&source).unwrap_or_default();
        let mut order: Vec<&Digest> = announced.digests.iter().collect();
        order.sort_unstable();
        let ranked = order.iter().zip(0u32..);
        let rank_of: HashMap<Digest, u32, FastState> =
            ranked.map(|(digest, rank)| (**digest, rank)).collect();
        let mut entries: Vec<(u32, bool, Code, u32)> = Vec::with_capacity(self.targets.len());
        let mut uncontained = Vec::new();
        for (&number, target) in &self.targets {
            if target.group == source {
                continue;
            }
            let code = self.code_of(number, target);
            if let Some(&rank) = rank_of.get(&target.digest) {
                entries.push((rank, false, code, number));
                continue;
            }
            let container = announced.containers.get(&number);
            match container.and_then(|each| Some((each, rank_of.get(&each.digest)?))) {
                Some((each, &rank)) => entries.push((rank, !each.is_equivalent, code, number)),
                None => uncontained.push(number),
            }
        }
        entries.sort_unstable();
        let mut starts = Vec::with_capacity(order.len() + 1);
        let mut at = 0;
        for rank in 0..=order.len() as u32 {
            let count_of = |is_undecided| {
                let of_rank = entries[at..].iter();
                of_rank
                    .take_while(|entry| (entry.0, entry.1) <= (rank, is_undecided))
                    .count()
            };
            starts.push((at as u32, (at + count_of(false)) as u32));
            at += count_of(true);
        }
        let targets = entries.into_iter();
        let targets: Vec<CodedTarget> =
            targets.map(|(_, _, code, number)| (code, number)).collect();
        let bounds = starts.windows(2).map(|pair| (pair[0], pair[1].0));
        let only_targets = bounds
            .map(
                |((start, contained), end)| match (end - start, contained - start) {
                    (1, 1) => shorten(targets[start as usize].0),
                    _ => NO_SHORT_CODE,
                },
            )
            .collect();
        let built = Announced {
            starts,
            targets,
            only_targets,
            uncontained,
            ..announced
        };
        self.announced.insert(source, built);
    }
}

/// The codes of targets other than those of `source`; ascending.
fn leaving(codes: impl Iterator<Item = Code>, source: Option<u32>) -> Vec<Code> {
    let leaves = |code: &Code| *code != NO_CODE && Some((*code >> 32) as u32) != source;
    let mut leaving: Vec<Code> = codes.filter(leaves).collect();
    leaving.sort_unstable();
    leaving
}

/// Splits ascending codes by group.
fn routes(matched: &[Code], unknown: &[Code], is_undecided: bool) -> Routes {
    let positions = |codes: &[Code]| codes.iter().map(|&code| code as u32).collect::<Vec<u32>>();
    let split = |codes: &[Code]| codes.partition_point(|&code| code >> 32 == u64::from(LOCAL));
    let (local, matched) = matched.split_at(split(matched));
    let (local_unknown, unknown) = unknown.split_at(split(unknown));
    let mut forwards: Vec<(u32, MatchList)> = Vec::new();
    let is_same_group = |one: &Code, other: &Code| one >> 32 == other >> 32;
    for codes in matched.chunk_by(is_same_group) {
        let list = MatchList {
            matched: positions(codes),
            unknown: Vec::new(),
        };
        forwards.push(((codes[0] >> 32) as u32, list));
    }
    for codes in unknown.chunk_by(is_same_group) {
        let group = (codes[0] >> 32) as u32;
        let at = match forwards.binary_search_by_key(&group, |forward| forward.0) {
            Ok(at) => at,
            Err(at) => {
                forwards.insert(at, (group, MatchList::default()));
                at
            }
        };
        forwards[at].1.unknown = positions(codes);
    }
    Routes {
        local: positions(local),
        forwards,
        unknown: positions(local_unknown),
        is_undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(byte: u8) -> Digest {
        [byte; 16]
    }

    fn container(byte: u8, is_equivalent: bool) -> Container {
        Container {
            digest: digest(byte),
            is_equivalent,
        }
    }

    fn list(matched: &[u32], unknown: &[u32]) -> MatchList {
        MatchList {
            matched: matched.to_vec(),
            unknown: unknown.to_vec(),
        }
    }

    fn local(table: &RouteTable, routes: &Routes) -> Vec<u32> {
        let numbers = table.local_numbers();
        let positions = routes.local.iter();
        positions.map(|&at| numbers[at as usize]).collect()
    }

    #[test]
    fn short_codes_stand_for_codes() {
        for (group, position) in [(LOCAL, 0), (1, 7), (254, (1 << POSITION_BITS) - 1)] {
            assert_eq!(
                lengthen(shorten(code(group, position))),
                code(group, position)
            );
        }
        for (group, position) in [(255, 0), (1 << 24, 0), (1, 1 << POSITION_BITS)] {
            assert_eq!(shorten(code(group, position)), NO_SHORT_CODE);
        }
    }

    /// Local subscriptions 1 and 2, patterns 3 and 4 of neighbour 2, and a pattern of neighbour 1.
    fn table() -> RouteTable {
        let mut table = RouteTable::default();
        table.add(LOCAL, [(1, digest(10)), (2, digest(20))]);
        table.add(2, [(3, digest(30)), (4, digest(10))]);
        table.add(1, [(5, digest(50))]);
        table
    }

    #[test]
    fn announced_patterns_decide_their_targets() {
        let mut table = table();
        table.announce(1, &[digest(10), digest(20), digest(30)], &[]);
        assert!(table.must_be_prepared(1));
        assert!(table.unannounced(1).is_empty());
        let found = table.of_match_list(1, &list(&[0, 2], &[]).encode());
        let expected = Routes {
            local: vec![0],
            forwards: vec![(2, list(&[0, 1], &[]))],
            ..Routes::default()
        };
        assert_eq!(found, Ok(expected));
        assert!(!table.must_be_prepared(1));
        let none = table.of_match_list(1, &list(&[], &[]).encode());
        assert_eq!(none, Ok(Routes::default()));
        let unknown = table.of_match_list(1, &list(&[], &[1]).encode());
        assert!(unknown.expect("a list").is_undecided);
    }

    #[test]
    fn targets_below_a_matched_pattern_are_undecided() {
        let mut table = table();
        table.announce(1, &[digest(10), digest(90)], &[]);
        let mut unannounced = table.unannounced(1);
        unannounced.sort_unstable();
        assert_eq!(unannounced, [2, 3]);
        table.set_containers(1, [(2, container(90, false)), (3, container(90, false))]);
        let decided = table.of_match_list(1, &list(&[0], &[]).encode());
        assert!(!decided.expect("a list").is_undecided);
        let undecided = table.of_match_list(1, &list(&[1], &[]).encode());
        assert!(undecided.expect("a list").is_undecided);
        let (matched, undecided) = table
            .split_match_list(1, &list(&[0], &[1]).encode())
            .expect("a list");
        assert_eq!((matched.len(), undecided.len()), (2, 2));
        table.set_containers(1, [(2, container(90, true)), (3, container(90, true))]);
        let decided = table.of_match_list(1, &list(&[1], &[]).encode());
        let expected = Routes {
            local: vec![1],
            forwards: vec![(2, list(&[1], &[]))],
            ..Routes::default()
        };
        assert_eq!(decided, Ok(expected));
        table.set_containers(1, [(2, container(90, false))]);
        let uncontained = table.of_match_list(1, &list(&[0], &[]).encode());
        assert!(uncontained.expect("a list").is_undecided);
    }

    #[test]
    fn changes_are_effective_at_the_next_list() {
        let mut table = table();
        table.announce(1, &[digest(10), digest(20), digest(30)], &[]);
        table
            .of_match_list(1, &list(&[0], &[]).encode())
            .expect("a list");
        table.remove(&[1]);
        table.add(LOCAL, [(7, digest(20))]);
        let found = table.of_match_list(1, &list(&[0, 1], &[]).encode());
        assert_eq!(local(&table, &found.expect("a list")), [2, 7]);
        table.announce(1, &[], &[digest(10)]);
        let found = table.of_match_list(1, &list(&[0], &[]).encode());
        assert!(found.expect("a list").is_undecided);
        assert_eq!(
            table.of_match_list(1, &list(&[2], &[]).encode()),
            Err(Malformed)
        );
        assert_eq!(
            table.of_match_list(3, &list(&[0], &[]).encode()),
            Err(Malformed)
        );
    }
}
