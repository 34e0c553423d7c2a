//! Names of a document as letters of a segment's automaton.
//!
//! Names that meet the same name tests are the same letter; all names that no query mentions share
//! one. So the automaton's alphabet has the size of the queries' vocabulary, whatever documents hold.

use std::ops::Range;

use hashbrown::HashMap;

use crate::events::{Context, NameId};
use crate::path_index::segment::{Segment, SlotRecord};

/// No letter, no slot.
pub const NONE: u32 = u32::MAX;

/// What is known of one letter.
#[derive(Clone, Debug)]
pub struct Letter {
    /// The name tests it meets, at most four.
    pub tests: Vec<u32>,
}

/// A slot that attributes feed.
#[derive(Clone, Copy, Debug)]
pub struct AttributeSlot {
    /// The slot.
    pub slot: u32,
    /// Whether it is one of the attribute's own element that looks at the whole value: what the value is
    /// worth may then wait until a match asks.
    pub waits: bool,
}

/// The alphabet of a segment, filled as names come.
pub struct Letters {
    letters: Vec<Letter>,
    numbers: HashMap<Vec<u32>, u32>,
    // By name test: the slots that an attribute which meets it feeds.
    attribute_slots: HashMap<u32, Vec<AttributeSlot>>,
    // The slots that attributes feed, those of one name together.
    slots: Vec<AttributeSlot>,
    // By name id of the reader whose table is in use.
    of_name: Vec<u32>,
    slots_of_name: Vec<Option<Range<u32>>>,
    table: u64,
}

const UNKNOWN: u32 = u32::MAX - 1;

impl Letters {
    /// The alphabet of `segment`, still empty.
    pub fn new(segment: &Segment) -> Letters {
        let mut attribute_slots: HashMap<u32, Vec<AttributeSlot>> = HashMap::new();
        for slot in 0..segment.slots.len() as u32 {
            let source = segment.source_slot(slot);
            if source.kind == SlotRecord::ATTRIBUTE {
                let own = segment.slots[slot as usize].kind == SlotRecord::ATTRIBUTE;
                let waits = own && source.view as usize == SlotRecord::WHOLE;
                let fed = AttributeSlot { slot, waits };
                attribute_slots.entry(source.test).or_default().push(fed);
            }
        }
        Letters {
            letters: Vec::new(),
            numbers: HashMap::new(),
            attribute_slots,
            slots: Vec::new(),
            of_name: Vec::new(),
            slots_of_name: Vec::new(),
            table: 0,
        }
    }

    /// Says which table of names the ids come from; another one than before starts the caches anew.
    pub fn use_names(&mut self, table: u64) {
        if self.table != table {
            self.table = table;
            self.of_name.clear();
            self.slots_of_name.clear();
            self.slots.clear();
        }
    }

    /// The letter of a name.
    #[inline]
    pub fn of(&mut self, segment: &Segment, context: &dyn Context, name: NameId) -> u32 {
        match self.of_name.get(name.0 as usize) {
            Some(&letter) if letter != UNKNOWN => letter,
            _ => self.learn(segment, context, name),
        }
    }

    #[cold]
    fn learn(&mut self, segment: &Segment, context: &dyn Context, name: NameId) -> u32 {
        let (uri, local) = context.names().get(name);
        let tests = segment.tests_met(uri, local);
        let number = match self.numbers.get(&tests) {
            Some(&number) => number,
            None => {
                let number = self.letters.len() as u32;
                self.letters.push(Letter {
                    tests: tests.clone(),
                });
                self.numbers.insert(tests, number);
                number
            }
        };
        set(&mut self.of_name, name, number);
        number
    }

    /// The slots that an attribute of that name feeds, each to be asked for by its place.
    #[inline]
    pub fn attribute_slots(
        &mut self,
        segment: &Segment,
        context: &dyn Context,
        name: NameId,
    ) -> Range<u32> {
        match self.slots_of_name.get(name.0 as usize) {
            Some(Some(places)) => places.clone(),
            _ => self.learn_attribute(segment, context, name),
        }
    }

    /// The slot at one of those places.
    #[inline]
    pub fn attribute_slot(&self, place: u32) -> AttributeSlot {
        self.slots[place as usize]
    }

    #[cold]
    fn learn_attribute(
        &mut self,
        segment: &Segment,
        context: &dyn Context,
        name: NameId,
    ) -> Range<u32> {
        let (uri, local) = context.names().get(name);
        let start = self.slots.len() as u32;
        for test in segment.tests_met(uri, local) {
            self.slots
                .extend(self.attribute_slots.get(&test).into_iter().flatten());
        }
        let places = start..self.slots.len() as u32;
        let at = name.0 as usize;
        if self.slots_of_name.len() <= at {
            self.slots_of_name.resize(at + 1, None);
        }
        self.slots_of_name[at] = Some(places.clone());
        places
    }

    /// What is known of a letter.
    #[inline]
    pub fn get(&self, letter: u32) -> &Letter {
        &self.letters[letter as usize]
    }
}

fn set(table: &mut Vec<u32>, name: NameId, value: u32) {
    let at = name.0 as usize;
    if table.len() <= at {
        table.resize(at + 1, UNKNOWN);
    }
    table[at] = value;
}
