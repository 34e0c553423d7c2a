//! What elements hold for conditions on themselves and on elements above them.
//!
//! A condition may look at a node deep below its element. The values on the way go up one element at a
//! time: at its end, an element passes what it holds in a slot on to the slot of its parent that is made
//! of it. So an element has to hold what its own state asks for, and what its parent's slots are made of;
//! the latter depends on the whole path, and is worked out once for each. Where nothing is asked for, an
//! element holds nothing.

use bytemuck::{Pod, Zeroable};
use hashbrown::HashMap;
use xxhash_rust::xxh3::xxh3_128;

use crate::matching::condition_table::has_few_slots;
use crate::path_index::segment::{Comparison, Segment, SlotRecord};

/// A slot that an element holds, and what is asked of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Held {
    slot: u32,
    /// Bits of [`Comparison`], here or further up, [`DECIDES`] and [`FIRST`].
    asked: u32,
}

/// Set in what is asked of a slot where conditions look at it in this very element.
pub const DECIDES: u32 = 1 << Comparison::COUNT;

/// Set in what is asked of a slot where it matters which of its nodes is the first.
pub const FIRST: u32 = DECIDES << 1;

const _: () = assert!(FIRST <= 1 << (u16::BITS - 1));

/// Values of one slot of an element go to another slot of its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub struct Pass {
    /// The slot of the element.
    pub from: u32,
    /// The slot of its parent.
    pub to: u32,
    /// What the parent asks of it.
    pub asked: u32,
}

/// A run of items in an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn of<T>(self, arena: &[T]) -> &[T] {
        &arena[self.start as usize..self.end as usize]
    }
}

/// What an element holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Holding {
    /// All slots but those that it holds for elements above it alone and passes on unchanged.
    own: Span,
    /// Those: the deep slots of the elements above. Nearly all elements below such an element share
    /// the list, so it may be long.
    inherited: Span,
    /// To other slots of the parent.
    passes: Span,
    /// A bit for each slot, by number modulo 64.
    bits: u64,
    /// What is asked of the string-value, by view.
    pub value_asked: [u32; SlotRecord::VIEWS],
    /// What is asked of the text nodes, by view.
    pub text_asked: [u32; SlotRecord::VIEWS],
    /// Whether some attribute may have to be held.
    pub attributes: bool,
    /// Whether joint conditions have to be looked at.
    pub joins: bool,
    /// Whether something may have to be passed on to the parent.
    pub reaches_up: bool,
    /// Whether children may have to pass something on.
    reaches_down: bool,
}

/// The holding of an element that holds nothing.
pub const NOTHING: u32 = 0;

type Table<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The holdings of the automaton's paths, each once. A cache, dropped with the automaton's.
pub struct Holdings {
    holdings: Vec<Holding>,
    held: Vec<Held>,
    /// Where the segment has few slots: what is asked of each, for one holding after the other.
    asked: Vec<u16>,
    /// How many slots that are; 0 where they are many.
    slots: usize,
    passes: Vec<Pass>,
    lists: Table<u128, Span>,
    by_digest: Table<u128, u32>,
    // By the parent's holding, the letter, and the state.
    known: Table<(u32, u32, u32), u32>,
    work: Work,
}

#[derive(Default)]
struct Work {
    own: Vec<Held>,
    deep: Vec<Held>,
    passes: Vec<Pass>,
}

impl Holdings {
    /// For elements of which `segment` asks something.
    pub fn new(segment: &Segment) -> Holdings {
        let slots = if has_few_slots(segment) {
            segment.slots.len()
        } else {
            0
        };
        Holdings {
            holdings: vec![Holding::default()],
            held: Vec::new(),
            asked: vec![0; slots],
            slots,
            passes: Vec::new(),
            lists: Table::default(),
            by_digest: Table::default(),
            known: Table::default(),
            work: Work::default(),
        }
    }

    /// Forgets all but [`NOTHING`].
    pub fn clear(&mut self) {
        self.holdings.truncate(1);
        self.held.clear();
        self.asked.truncate(self.slots);
        self.passes.clear();
        self.lists.clear();
        self.by_digest.clear();
        self.known.clear();
    }

    /// The memory in use, about.
    pub fn bytes(&self) -> usize {
        (self.holdings.len() - 1) * (size_of::<Holding>() + 40)
            + self.held.len() * size_of::<Held>()
            + (self.asked.len() - self.slots) * 2
            + self.passes.len() * size_of::<Pass>()
            + self.known.len() * 32
            + self.lists.len() * 40
    }

    /// The holding of that number.
    #[inline]
    pub fn get(&self, number: u32) -> &Holding {
        &self.holdings[number as usize]
    }

    /// What is asked of a slot that the holding has; 0 where it does not have it.
    #[inline(always)]
    pub fn asked(&self, holding: u32, slot: u32) -> u32 {
        if self.slots != 0 {
            return u32::from(self.asked[holding as usize * self.slots + slot as usize]);
        }
        self.asked_among_many(holding, slot)
    }

    fn asked_among_many(&self, holding: u32, slot: u32) -> u32 {
        let holding = &self.holdings[holding as usize];
        if holding.bits >> (slot % 64) & 1 == 0 {
            return 0;
        }
        let find = |list: &[Held]| {
            list.binary_search_by_key(&slot, |held| held.slot)
                .map_or(0, |at| list[at].asked)
        };
        find(holding.own.of(&self.held)) | find(holding.inherited.of(&self.held))
    }

    /// To which other slots of the parent an element passes its values of `slot` on.
    #[inline]
    pub fn passes_from(&self, holding: u32, slot: u32) -> impl Iterator<Item = &Pass> {
        let passes = self.holdings[holding as usize].passes.of(&self.passes);
        let first = passes.partition_point(|pass| pass.from < slot);
        passes[first..]
            .iter()
            .take_while(move |pass| pass.from == slot)
    }

    /// The slots of joint conditions that a holding has, each with what is asked of it.
    pub fn joints<'a>(
        &'a self,
        segment: &'a Segment,
        holding: u32,
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        let own = self.holdings[holding as usize].own.of(&self.held).iter();
        own.filter(|held| segment.slots[held.slot as usize].kind == SlotRecord::JOINT)
            .map(|held| (held.slot, held.asked))
    }

    /// The holding of an element that meets `tests`, which are those of `letter`, and whose `state`
    /// asks for `slots`, below an element that has the holding `parent`.
    pub fn below(
        &mut self,
        segment: &Segment,
        parent: u32,
        (letter, tests): (u32, &[u32]),
        (state, slots): (u32, &[u32]),
    ) -> u32 {
        if slots.is_empty() && !self.holdings[parent as usize].reaches_down {
            return NOTHING;
        }
        let key = (parent, letter, state);
        if let Some(&number) = self.known.get(&key) {
            return number;
        }
        let mut work = std::mem::take(&mut self.work);
        let inherited = self.collect(segment, parent, tests, slots, &mut work);
        let number = self.intern(segment, inherited, &work);
        self.work = work;
        self.known.insert(key, number);
        number
    }

    /// Fills `work` with what the element holds and passes on; returns the parent's list of inherited
    /// slots where the element has the same.
    fn collect(
        &self,
        segment: &Segment,
        parent: u32,
        tests: &[u32],
        slots: &[u32],
        work: &mut Work,
    ) -> Option<Span> {
        work.own.clear();
        work.deep.clear();
        work.passes.clear();
        work.own.extend(slots.iter().map(|&slot| Held {
            slot,
            asked: segment.slots[slot as usize].comparisons | DECIDES,
        }));
        let above = self.holdings[parent as usize];
        let mut same = true;
        for (inherited, held) in [(false, above.own), (true, above.inherited)] {
            for held in held.of(&self.held) {
                let asked = held.asked & !DECIDES;
                if segment.slots[held.slot as usize].kind == SlotRecord::DEEP {
                    same &= inherited;
                    work.deep.push(Held { asked, ..*held });
                }
                let source = segment.source_slot(held.slot);
                if source.kind == SlotRecord::CHILD && tests.contains(&source.test) {
                    work.own.push(Held {
                        slot: source.inner,
                        asked,
                    });
                    work.passes.push(Pass {
                        from: source.inner,
                        to: held.slot,
                        asked: held.asked,
                    });
                }
            }
        }
        // What these are made of in the same element.
        let mut at = 0;
        while let Some(held) = work.own.get(at) {
            let record = &segment.slots[held.slot as usize];
            let made_of = |slot: u32, asked: u32| Held { slot, asked };
            match record.kind {
                SlotRecord::FIRST => work.own.push(made_of(record.inner, FIRST)),
                SlotRecord::JOINT => {
                    let slots = segment.wants_of(record.inner).iter();
                    work.own.extend(
                        slots.map(|&slot| made_of(slot, segment.slots[slot as usize].comparisons)),
                    );
                }
                _ => {}
            }
            at += 1;
        }
        merge(&mut work.own, |held| (held.slot, &mut held.asked));
        merge(&mut work.deep, |held| (held.slot, &mut held.asked));
        merge(&mut work.passes, |pass| {
            ((pass.from, pass.to), &mut pass.asked)
        });
        same.then_some(above.inherited)
    }

    fn intern(&mut self, segment: &Segment, inherited: Option<Span>, work: &Work) -> u32 {
        let inherited = match inherited {
            Some(list) => list,
            None => self.intern_list(&work.deep),
        };
        let digest = xxh3_128(bytemuck::bytes_of(&inherited))
            ^ xxh3_128(bytemuck::cast_slice(&work.own)).rotate_left(1)
            ^ xxh3_128(bytemuck::cast_slice(&work.passes)).rotate_left(2);
        if let Some(&number) = self.by_digest.get(&digest) {
            return number;
        }
        let own = extend(&mut self.held, &work.own);
        let passes = extend(&mut self.passes, &work.passes);
        let mut holding = Holding {
            own,
            inherited,
            passes,
            reaches_up: !work.passes.is_empty(),
            ..Holding::default()
        };
        let all = own.of(&self.held).iter().chain(inherited.of(&self.held));
        for held in all {
            holding.bits |= 1 << (held.slot % 64);
            let is_deep = segment.slots[held.slot as usize].kind == SlotRecord::DEEP;
            holding.reaches_down |= is_deep;
            holding.reaches_up |= is_deep;
            let source = segment.source_slot(held.slot);
            match source.kind {
                SlotRecord::ATTRIBUTE => holding.attributes = true,
                SlotRecord::TEXT => holding.text_asked[source.view as usize] |= held.asked,
                SlotRecord::VALUE => holding.value_asked[source.view as usize] |= held.asked,
                SlotRecord::CHILD => holding.reaches_down = true,
                SlotRecord::JOINT => holding.joins = true,
                _ => {}
            }
        }
        if self.slots != 0 {
            let first = self.asked.len();
            self.asked.resize(first + self.slots, 0);
            for held in own.of(&self.held).iter().chain(inherited.of(&self.held)) {
                // All that can be asked for are a dozen bits.
                self.asked[first + held.slot as usize] |= held.asked as u16;
            }
        }
        let number = self.holdings.len() as u32;
        self.holdings.push(holding);
        self.by_digest.insert(digest, number);
        number
    }

    fn intern_list(&mut self, list: &[Held]) -> Span {
        let held = &mut self.held;
        *self
            .lists
            .entry(xxh3_128(bytemuck::cast_slice(list)))
            .or_insert_with(|| extend(held, list))
    }
}

fn extend<T: Copy>(arena: &mut Vec<T>, items: &[T]) -> Span {
    let start = arena.len() as u32;
    arena.extend_from_slice(items);
    Span {
        start,
        end: arena.len() as u32,
    }
}

/// Sorts, and joins what is asked of items with one key. Of a deep slot that is an element's own and also
/// inherited, values would else come twice, each time without what the other is asked for.
fn merge<T: Ord, K: PartialEq>(list: &mut Vec<T>, parts: impl Fn(&mut T) -> (K, &mut u32)) {
    list.sort_unstable();
    list.dedup_by(|later, earlier| {
        let (later, more) = parts(later);
        let (earlier, asked) = parts(earlier);
        let same = later == earlier;
        if same {
            *asked |= *more;
        }
        same
    });
}
