//! The values that elements must record, for conditions on themselves and on elements above them.
//!
//! A condition may use a node deep below its element. Values propagate upwards one element at a
//! time: when an element ends, its value of an operand becomes a value of the operand of its parent
//! that is derived from it. An element therefore records the operands that its own state requires
//! and those that its parent's operands are derived from. The latter depend on the label path and
//! are computed once for each. Most elements record nothing.

use bytemuck::{Pod, Zeroable};
use hashbrown::HashMap;

use crate::matching::class_restriction::ClassRestriction;
use crate::matching::condition_table::has_few_operands;
use crate::matching::digest::digest_of;
use crate::matching::work_meter::Attribution;
use crate::path_index::segment::{Comparison, OperandRecord, Segment};

/// An operand that an element records, and its uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct RequiredOperand {
    operand: u32,
    /// Bits of [`Comparison`], in this element or further up, [`USED_HERE`] and [`FIRST_NODE`].
    uses: u32,
}

/// Set in the uses of an operand if conditions on this very element use it.
pub(super) const USED_HERE: u32 = 1 << Comparison::COUNT;

/// Set in the uses of an operand if it matters which of its nodes is the first.
pub(super) const FIRST_NODE: u32 = USED_HERE << 1;

/// Steps to compute each operand of an entry.
const STEPS_PER_OPERAND: usize = 16;

const _: () = assert!(FIRST_NODE <= 1 << (u16::BITS - 1));

/// An operand that gets values from children whose names pass a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ChildOperand {
    test: u32,
    required: RequiredOperand,
}

/// Values of an operand of an element become values of another operand of its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Propagation {
    /// The operand of the element.
    pub from: u32,
    /// The operand of its parent.
    pub to: u32,
    /// The uses of the parent's operand.
    pub uses: u32,
}

/// A range of an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct ArenaRange {
    start: u32,
    end: u32,
}

impl ArenaRange {
    fn of<T>(self, arena: &[T]) -> &[T] {
        &arena[self.start as usize..self.end as usize]
    }
}

/// The values that an element must record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequiredValues {
    /// All operands except the inherited ones.
    own: ArenaRange,
    /// The deep operands of the elements above, which are propagated unchanged. Nearly all elements
    /// below such an element share the list, so it may be long.
    inherited: ArenaRange,
    /// To other operands of the parent.
    propagations: ArenaRange,
    /// In `child_operands`, sorted: the operands of `own` that get values from children.
    own_children: ArenaRange,
    /// The same for `inherited`.
    inherited_children: ArenaRange,
    /// Whether some operands of `own` are deep.
    has_own_deep: bool,
    /// A bit for each operand, by number modulo 64.
    bits: u64,
    /// The uses of the string-value, by view.
    pub string_value_uses: [u32; OperandRecord::VIEWS],
    /// The uses of the text nodes, by view.
    pub text_node_uses: [u32; OperandRecord::VIEWS],
    /// Whether attributes may have to be recorded.
    pub has_attributes: bool,
    /// Whether compound conditions have to be evaluated.
    pub has_compounds: bool,
    /// Whether values may have to be propagated to the parent.
    pub reaches_up: bool,
    /// Whether children may have to propagate values.
    reaches_down: bool,
}

/// The number of the [`RequiredValues`] of an element that records nothing.
pub(super) const NO_VALUES: u32 = 0;

type HashTable<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The distinct [`RequiredValues`] of the automaton's paths. A cache, cleared with the automaton.
pub(super) struct RequiredValuesTable {
    entries: Vec<RequiredValues>,
    operands: Vec<RequiredOperand>,
    child_operands: Vec<ChildOperand>,
    propagations: Vec<Propagation>,
    /// If the segment has few operands: the uses of each, by entry and operand.
    uses: Vec<u16>,
    /// The number of operands in `uses`; 0 if the segment has many.
    operand_count: usize,
    /// Inherited operands, with those that get values from children.
    lists: HashTable<u128, (ArenaRange, ArenaRange)>,
    by_digest: HashTable<u128, u32>,
    /// By the parent's entry, the symbol and the state.
    known: HashTable<(u32, u32, u32), u32>,
    buffers: BuildBuffers,
}

#[derive(Default)]
struct BuildBuffers {
    own: Vec<RequiredOperand>,
    deep: Vec<RequiredOperand>,
    propagations: Vec<Propagation>,
}

impl RequiredValuesTable {
    /// A table for `segment` with only [`NO_VALUES`].
    pub fn new(segment: &Segment) -> RequiredValuesTable {
        let operand_count = if has_few_operands(segment) {
            segment.operands.len()
        } else {
            0
        };
        RequiredValuesTable {
            entries: vec![RequiredValues::default()],
            operands: Vec::new(),
            child_operands: Vec::new(),
            propagations: Vec::new(),
            uses: vec![0; operand_count],
            operand_count,
            lists: HashTable::default(),
            by_digest: HashTable::default(),
            known: HashTable::default(),
            buffers: BuildBuffers::default(),
        }
    }

    /// Approximate memory in use.
    pub fn bytes(&self) -> usize {
        (self.entries.len() - 1) * (size_of::<RequiredValues>() + 40)
            + self.operands.len() * size_of::<RequiredOperand>()
            + self.child_operands.len() * size_of::<ChildOperand>()
            + (self.uses.len() - self.operand_count) * 2
            + self.propagations.len() * size_of::<Propagation>()
            + self.known.len() * 32
            + self.lists.len() * 48
    }

    /// The entry with a number.
    #[inline]
    pub fn get(&self, required: u32) -> &RequiredValues {
        &self.entries[required as usize]
    }

    /// The uses of an operand; 0 if it is not required.
    #[inline(always)]
    pub fn uses(&self, required: u32, operand: u32) -> u32 {
        if self.operand_count != 0 {
            let first = required as usize * self.operand_count;
            return u32::from(self.uses[first + operand as usize]);
        }
        self.uses_among_many(required, operand)
    }

    fn uses_among_many(&self, required: u32, operand: u32) -> u32 {
        let entry = &self.entries[required as usize];
        if entry.bits >> (operand % 64) & 1 == 0 {
            return 0;
        }
        let find = |list: &[RequiredOperand]| {
            list.binary_search_by_key(&operand, |required| required.operand)
                .map_or(0, |at| list[at].uses)
        };
        find(entry.own.of(&self.operands)) | find(entry.inherited.of(&self.operands))
    }

    /// The propagations of the values of `operand` to other operands of the parent.
    #[inline]
    pub fn propagations_from(
        &self,
        required: u32,
        operand: u32,
    ) -> impl Iterator<Item = &Propagation> {
        let entry = &self.entries[required as usize];
        let propagations = entry.propagations.of(&self.propagations);
        let first = propagations.partition_point(|propagation| propagation.from < operand);
        propagations[first..]
            .iter()
            .take_while(move |propagation| propagation.from == operand)
    }

    /// The number of operands of an entry that are not inherited.
    pub fn operand_count(&self, required: u32) -> usize {
        let own = self.entries[required as usize].own;
        (own.end - own.start) as usize
    }

    /// Steps to compute an entry, if it is not known.
    pub fn build_steps(&self, required: u32) -> usize {
        let RequiredValues {
            own,
            inherited,
            propagations,
            ..
        } = self.entries[required as usize];
        [own, inherited, propagations]
            .iter()
            .map(|list| (list.end - list.start) as usize)
            .sum::<usize>()
            * STEPS_PER_OPERAND
    }

    /// Attributes the steps to compute an entry to its operands.
    #[cold]
    pub fn attribute(&self, required: u32, attribution: &mut Attribution) {
        let entry = &self.entries[required as usize];
        for list in [entry.own, entry.inherited] {
            for required in list.of(&self.operands) {
                attribution.add_to_operand(required.operand, STEPS_PER_OPERAND);
            }
        }
        for propagation in entry.propagations.of(&self.propagations) {
            attribution.add_to_operand(propagation.from, STEPS_PER_OPERAND);
        }
    }

    /// The compound operands of an entry, with their uses.
    pub fn compounds<'a>(
        &'a self,
        segment: &'a Segment,
        required: u32,
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        let own = self.entries[required as usize].own.of(&self.operands);
        own.iter()
            .filter(|own| segment.operands[own.operand as usize].kind == OperandRecord::COMPOUND)
            .map(|own| (own.operand, own.uses))
    }

    /// The entry of an element below one with the entry `parent`. The element has the `symbol`
    /// whose names pass `tests`, and its `state` requires `operands`.
    pub fn child(
        &mut self,
        segment: &Segment,
        parent: u32,
        (symbol, tests): (u32, &[u32]),
        (state, operands): (u32, &[u32]),
        restriction: Option<&ClassRestriction>,
    ) -> u32 {
        if operands.is_empty() && !self.entries[parent as usize].reaches_down {
            return NO_VALUES;
        }
        let key = (parent, symbol, state);
        if let Some(&required) = self.known.get(&key) {
            return required;
        }
        let mut buffers = std::mem::take(&mut self.buffers);
        let comparisons = |operand: u32| match restriction {
            None => segment.operands[operand as usize].comparisons,
            Some(restriction) => restriction.comparisons(operand),
        };
        let inherits = self.collect(segment, parent, tests, operands, &comparisons, &mut buffers);
        let required = self.intern(segment, inherits.then_some(parent), &buffers);
        self.buffers = buffers;
        self.known.insert(key, required);
        required
    }

    /// Fills the buffers with the operands and propagations of an element. Returns whether it inherits the
    /// same operands as its parent. Takes time for what it finds only, since an element may have thousands
    /// of operands and children.
    fn collect(
        &self,
        segment: &Segment,
        parent: u32,
        tests: &[u32],
        operands: &[u32],
        comparisons: &impl Fn(u32) -> u32,
        buffers: &mut BuildBuffers,
    ) -> bool {
        let BuildBuffers {
            own,
            deep,
            propagations,
        } = buffers;
        own.clear();
        deep.clear();
        propagations.clear();
        own.extend(operands.iter().map(|&operand| RequiredOperand {
            operand,
            uses: comparisons(operand) | USED_HERE,
        }));
        let above = self.entries[parent as usize];
        for list in [above.own_children, above.inherited_children] {
            let list = list.of(&self.child_operands);
            for &test in tests {
                let first = list.partition_point(|child| child.test < test);
                let passed = list[first..].iter().take_while(|child| child.test == test);
                for &ChildOperand { required, .. } in passed {
                    let inner = segment.source_operand(required.operand).inner;
                    own.push(RequiredOperand {
                        operand: inner,
                        uses: required.uses & !USED_HERE,
                    });
                    propagations.push(Propagation {
                        from: inner,
                        to: required.operand,
                        uses: required.uses,
                    });
                }
            }
        }
        if above.has_own_deep {
            let inherited = above.inherited.of(&self.operands);
            let all = above.own.of(&self.operands).iter().chain(inherited);
            let all = all.filter(|required| is_deep(segment, required));
            deep.extend(all.map(|required| RequiredOperand {
                uses: required.uses & !USED_HERE,
                ..*required
            }));
        }
        // Operands of the same element that these are derived from.
        let mut at = 0;
        while let Some(required) = own.get(at) {
            let record = &segment.operands[required.operand as usize];
            match record.kind {
                OperandRecord::FIRST => own.push(RequiredOperand {
                    operand: record.inner,
                    uses: FIRST_NODE,
                }),
                OperandRecord::COMPOUND => {
                    let inner = segment.required_of(record.inner).iter();
                    own.extend(inner.map(|&operand| RequiredOperand {
                        operand,
                        uses: comparisons(operand),
                    }));
                }
                _ => {}
            }
            at += 1;
        }
        merge(own, |required| (required.operand, &mut required.uses));
        merge(deep, |required| (required.operand, &mut required.uses));
        merge(propagations, |propagation| {
            ((propagation.from, propagation.to), &mut propagation.uses)
        });
        !above.has_own_deep
    }

    /// The entry with the operands and propagations in the buffers; its inherited operands are those of
    /// `parent` if there is one.
    fn intern(&mut self, segment: &Segment, parent: Option<u32>, buffers: &BuildBuffers) -> u32 {
        let (inherited, inherited_children) = match parent {
            Some(parent) => {
                let above = &self.entries[parent as usize];
                (above.inherited, above.inherited_children)
            }
            None => self.intern_list(segment, &buffers.deep),
        };
        let digest = digest_of(bytemuck::bytes_of(&inherited))
            ^ digest_of(bytemuck::cast_slice(&buffers.own)).rotate_left(1)
            ^ digest_of(bytemuck::cast_slice(&buffers.propagations)).rotate_left(2);
        if let Some(&required) = self.by_digest.get(&digest) {
            return required;
        }
        let own = append(&mut self.operands, &buffers.own);
        let propagations = append(&mut self.propagations, &buffers.propagations);
        let mut entry = RequiredValues {
            own,
            inherited,
            propagations,
            own_children: append_children(&mut self.child_operands, segment, &buffers.own),
            inherited_children,
            has_own_deep: buffers.own.iter().any(|own| is_deep(segment, own)),
            reaches_up: !buffers.propagations.is_empty(),
            ..RequiredValues::default()
        };
        let all = || {
            let own = own.of(&self.operands).iter();
            own.chain(inherited.of(&self.operands))
        };
        for required in all() {
            entry.bits |= 1 << (required.operand % 64);
            entry.reaches_down |= is_deep(segment, required);
            entry.reaches_up |= is_deep(segment, required);
            let source = segment.source_operand(required.operand);
            let view = source.view as usize;
            match source.kind {
                OperandRecord::ATTRIBUTE => entry.has_attributes = true,
                OperandRecord::TEXT => entry.text_node_uses[view] |= required.uses,
                OperandRecord::VALUE => entry.string_value_uses[view] |= required.uses,
                OperandRecord::CHILD => entry.reaches_down = true,
                OperandRecord::COMPOUND => entry.has_compounds = true,
                _ => {}
            }
        }
        if self.operand_count != 0 {
            let first = self.uses.len();
            self.uses.resize(first + self.operand_count, 0);
            for required in all() {
                self.uses[first + required.operand as usize] |= required.uses as u16;
            }
        }
        let number = self.entries.len() as u32;
        self.entries.push(entry);
        self.by_digest.insert(digest, number);
        number
    }

    fn intern_list(
        &mut self,
        segment: &Segment,
        list: &[RequiredOperand],
    ) -> (ArenaRange, ArenaRange) {
        let (operands, child_operands) = (&mut self.operands, &mut self.child_operands);
        *self
            .lists
            .entry(digest_of(bytemuck::cast_slice(list)))
            .or_insert_with(|| {
                let children = append_children(child_operands, segment, list);
                (append(operands, list), children)
            })
    }
}

/// Whether an operand has the values of descendants, too.
fn is_deep(segment: &Segment, required: &RequiredOperand) -> bool {
    segment.operands[required.operand as usize].kind == OperandRecord::DEEP
}

/// Appends the operands that get values from children, sorted by name test.
fn append_children(
    arena: &mut Vec<ChildOperand>,
    segment: &Segment,
    operands: &[RequiredOperand],
) -> ArenaRange {
    let start = arena.len();
    arena.extend(operands.iter().filter_map(|&required| {
        let source = segment.source_operand(required.operand);
        let test = source.test;
        (source.kind == OperandRecord::CHILD).then_some(ChildOperand { test, required })
    }));
    arena[start..].sort_unstable();
    ArenaRange {
        start: start as u32,
        end: arena.len() as u32,
    }
}

fn append<T: Copy>(arena: &mut Vec<T>, items: &[T]) -> ArenaRange {
    let start = arena.len() as u32;
    arena.extend_from_slice(items);
    ArenaRange {
        start,
        end: arena.len() as u32,
    }
}

/// Sorts the items and merges the uses of those with equal keys. Otherwise the values of a deep
/// operand that is both an element's own and inherited would arrive twice, each time with only a
/// part of its uses.
fn merge<T: Ord, K: PartialEq>(list: &mut Vec<T>, parts: impl Fn(&mut T) -> (K, &mut u32)) {
    list.sort_unstable();
    list.dedup_by(|later, earlier| {
        let (later, more) = parts(later);
        let (earlier, uses) = parts(earlier);
        let is_same = later == earlier;
        if is_same {
            *uses |= *more;
        }
        is_same
    });
}
