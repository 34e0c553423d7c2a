//! Transitions between label paths, by symbol.
//!
//! Every element takes one transition and waits for it, so each path has a table as small as
//! possible, all tables lie in one arena, and a path stores where its table is.

use crate::matching::NONE;

/// The table of one path: where it lies in the arena.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TransitionTable {
    start: u32,
    /// Number of transitions.
    count: u32,
    /// Logarithm of the number of buckets.
    log_size: u8,
}

#[derive(Clone, Copy)]
struct Transition {
    symbol: u32,
    path: u32,
}

const EMPTY: Transition = Transition {
    symbol: NONE,
    path: NONE,
};

/// The tables of all paths: open addressing by symbol, at most half full.
pub(super) struct TransitionArena {
    buckets: Vec<Transition>,
}

impl Default for TransitionArena {
    fn default() -> TransitionArena {
        TransitionArena {
            // The first bucket is the table of all paths without transitions.
            buckets: vec![EMPTY],
        }
    }
}

impl TransitionArena {
    /// Size of the arena.
    pub fn bytes(&self) -> usize {
        (self.buckets.len() - 1) * size_of::<Transition>()
    }

    /// The path that a symbol leads to, if it is known.
    #[inline]
    pub fn find(&self, table: TransitionTable, symbol: u32) -> Option<u32> {
        let mask = (1 << table.log_size) - 1;
        // Symbols are numbered consecutively, so they need no hashing.
        let mut at = symbol & mask;
        loop {
            let transition = self.buckets[(table.start + at) as usize];
            if transition.symbol == symbol {
                return Some(transition.path);
            }
            if transition.symbol == NONE {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a transition that the table does not have.
    pub fn insert(&mut self, table: &mut TransitionTable, symbol: u32, path: u32) {
        let size = 1usize << table.log_size;
        if 2 * (table.count as usize + 1) > size {
            // The old table is garbage until the arena is cleared; all garbage is less than what is
            // in use.
            let old = table.start as usize..table.start as usize + size;
            table.start = self.buckets.len() as u32;
            table.log_size += 1;
            self.buckets.resize(self.buckets.len() + 2 * size, EMPTY);
            for at in old {
                let transition = self.buckets[at];
                if transition.symbol != NONE {
                    self.place(*table, transition);
                }
            }
        }
        table.count += 1;
        self.place(*table, Transition { symbol, path });
    }

    fn place(&mut self, table: TransitionTable, transition: Transition) {
        let mask = (1 << table.log_size) - 1;
        let mut at = transition.symbol & mask;
        while self.buckets[(table.start + at) as usize].symbol != NONE {
            at = (at + 1) & mask;
        }
        self.buckets[(table.start + at) as usize] = transition;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_finds_its_own_transitions_however_many_there_are() {
        let mut arena = TransitionArena::default();
        let mut tables = [TransitionTable::default(); 3];
        for symbol in 0..500 {
            for (number, table) in tables.iter_mut().enumerate() {
                if symbol % (number as u32 + 1) == 0 {
                    assert_eq!(arena.find(*table, symbol * 7), None);
                    arena.insert(table, symbol * 7, symbol + number as u32);
                }
            }
        }
        for (number, &table) in tables.iter().enumerate() {
            for symbol in 0..3500 {
                let known = symbol % 7 == 0 && symbol / 7 % (number as u32 + 1) == 0;
                let expected = known.then_some(symbol / 7 + number as u32);
                assert_eq!(arena.find(table, symbol), expected);
            }
        }
        let arena = TransitionArena::default();
        assert_eq!(
            (arena.bytes(), arena.find(TransitionTable::default(), 7)),
            (0, None)
        );
    }
}
