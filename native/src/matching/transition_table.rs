//! Where letters lead from each path.
//!
//! Every element takes such a step and waits for it, so the tables are as small as can be: one for each
//! path, in one arena, found from the path itself.

use crate::matching::alphabet::NONE;

/// The table of one path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steps {
    start: u32,
    /// How many letters it has.
    count: u32,
    /// It has room for two to this power.
    log_size: u8,
}

#[derive(Clone, Copy)]
struct Step {
    letter: u32,
    path: u32,
}

const NO_STEP: Step = Step {
    letter: NONE,
    path: NONE,
};

/// The tables of all paths: open addressing by letter, at most half full.
pub struct StepTables {
    places: Vec<Step>,
}

impl Default for StepTables {
    fn default() -> StepTables {
        StepTables {
            // The first place is the table of all paths without steps.
            places: vec![NO_STEP],
        }
    }
}

impl StepTables {
    /// Forgets all steps.
    pub fn clear(&mut self) {
        self.places.truncate(1);
    }

    /// The memory in use.
    pub fn bytes(&self) -> usize {
        (self.places.len() - 1) * size_of::<Step>()
    }

    /// Where a letter leads, if that is known.
    #[inline]
    pub fn find(&self, steps: Steps, letter: u32) -> Option<u32> {
        let mask = (1 << steps.log_size) - 1;
        // Letters are numbered one by one, so they need no hashing.
        let mut at = letter & mask;
        loop {
            let step = self.places[(steps.start + at) as usize];
            if step.letter == letter {
                return Some(step.path);
            }
            if step.letter == NONE {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a step that is not there yet.
    pub fn insert(&mut self, steps: &mut Steps, letter: u32, path: u32) {
        let size = 1usize << steps.log_size;
        if 2 * (steps.count as usize + 1) > size {
            // What the old table took is lost until everything is forgotten: less than the new one takes.
            let old = steps.start as usize..steps.start as usize + size;
            steps.start = self.places.len() as u32;
            steps.log_size += 1;
            self.places.resize(self.places.len() + 2 * size, NO_STEP);
            for at in old {
                let step = self.places[at];
                if step.letter != NONE {
                    self.place(*steps, step);
                }
            }
        }
        steps.count += 1;
        self.place(*steps, Step { letter, path });
    }

    fn place(&mut self, steps: Steps, step: Step) {
        let mask = (1 << steps.log_size) - 1;
        let mut at = step.letter & mask;
        while self.places[(steps.start + at) as usize].letter != NONE {
            at = (at + 1) & mask;
        }
        self.places[(steps.start + at) as usize] = step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_finds_its_own_steps_however_many_there_are() {
        let mut tables = StepTables::default();
        let mut paths = [Steps::default(); 3];
        for letter in 0..500 {
            for (number, steps) in paths.iter_mut().enumerate() {
                if letter % (number as u32 + 1) == 0 {
                    assert_eq!(tables.find(*steps, letter * 7), None);
                    tables.insert(steps, letter * 7, letter + number as u32);
                }
            }
        }
        for (number, &steps) in paths.iter().enumerate() {
            for letter in 0..3500 {
                let known = letter % 7 == 0 && letter / 7 % (number as u32 + 1) == 0;
                let expected = known.then_some(letter / 7 + number as u32);
                assert_eq!(tables.find(steps, letter), expected);
            }
        }
        tables.clear();
        assert_eq!(
            (tables.bytes(), tables.find(Steps::default(), 7)),
            (0, None)
        );
    }
}
