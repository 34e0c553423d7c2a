//! Names of a document as letters of a segment's automaton.
//!
//! Names that meet the same name tests are the same letter; all names that no query mentions share
//! one. So the automaton's alphabet has the size of the queries' vocabulary, whatever documents hold.

use hashbrown::HashMap;

use crate::events::{NameId, Names};
use crate::index::segment::{Segment, SlotRecord};

/// No letter, no slot.
pub const NONE: u32 = u32::MAX;

/// What is known of one letter.
#[derive(Clone, Debug)]
pub struct Letter {
    /// The name tests it meets, at most four.
    pub tests: Vec<u32>,
    /// The slot in which a parent may want this element's string-value, or [`NONE`].
    pub child_slot: u32,
}

/// The alphabet of a segment, filled as names come.
pub struct Letters {
    letters: Vec<Letter>,
    numbers: HashMap<Vec<u32>, u32>,
    attribute_slots: HashMap<u32, u32>,
    child_slots: HashMap<u32, u32>,
    // By name id of the reader whose table is in use.
    of_name: Vec<u32>,
    slot_of_name: Vec<u32>,
    table: u64,
}

const UNKNOWN: u32 = u32::MAX - 1;

impl Letters {
    /// The alphabet of `segment`, still empty.
    pub fn new(segment: &Segment) -> Letters {
        let by_test = |kind: u32| {
            let of_kind = |(number, slot): (usize, &SlotRecord)| {
                (slot.kind == kind).then_some((slot.test, number as u32))
            };
            segment
                .slots
                .iter()
                .enumerate()
                .filter_map(of_kind)
                .collect()
        };
        Letters {
            letters: Vec::new(),
            numbers: HashMap::new(),
            attribute_slots: by_test(SlotRecord::ATTRIBUTE),
            child_slots: by_test(SlotRecord::CHILD),
            of_name: Vec::new(),
            slot_of_name: Vec::new(),
            table: 0,
        }
    }

    /// Says which table of names the ids come from; another one than before starts the caches anew.
    pub fn use_names(&mut self, table: u64) {
        if self.table != table {
            self.table = table;
            self.of_name.clear();
            self.slot_of_name.clear();
        }
    }

    /// The letter of a name.
    #[inline]
    pub fn of(&mut self, segment: &Segment, names: &Names, name: NameId) -> u32 {
        match self.of_name.get(name.0 as usize) {
            Some(&letter) if letter != UNKNOWN => letter,
            _ => self.learn(segment, names, name),
        }
    }

    #[cold]
    fn learn(&mut self, segment: &Segment, names: &Names, name: NameId) -> u32 {
        let (uri, local) = names.get(name);
        let tests = segment.tests_met(uri, local);
        let number = match self.numbers.get(&tests) {
            Some(&number) => number,
            None => {
                let number = self.letters.len() as u32;
                let exact = segment.find_test(Some(uri), Some(local));
                let child_slot = exact
                    .and_then(|test| self.child_slots.get(&test).copied())
                    .unwrap_or(NONE);
                self.letters.push(Letter {
                    tests: tests.clone(),
                    child_slot,
                });
                self.numbers.insert(tests, number);
                number
            }
        };
        set(&mut self.of_name, name, number);
        number
    }

    /// The slot that reads the attribute of that name, or [`NONE`].
    #[inline]
    pub fn attribute_slot(&mut self, segment: &Segment, names: &Names, name: NameId) -> u32 {
        match self.slot_of_name.get(name.0 as usize) {
            Some(&slot) if slot != UNKNOWN => slot,
            _ => self.learn_attribute(segment, names, name),
        }
    }

    #[cold]
    fn learn_attribute(&mut self, segment: &Segment, names: &Names, name: NameId) -> u32 {
        let (uri, local) = names.get(name);
        let test = segment.find_test(Some(uri), Some(local));
        let slot = test
            .and_then(|test| self.attribute_slots.get(&test).copied())
            .unwrap_or(NONE);
        set(&mut self.slot_of_name, name, slot);
        slot
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
