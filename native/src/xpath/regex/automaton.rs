//! The automaton of a pattern, and its simulation on a text that arrives in chunks.

use std::sync::Arc;

use super::character_class::CharacterClass;

/// Clearing the marks of this many states takes as long as visiting one.
const STATES_PER_VISIT: usize = 8;

/// Looking a character beyond ASCII up in a class takes as long as visiting this many states.
const VISITS_PER_LOOKUP: usize = 3;

pub type StateId = u32;

/// One state.
#[derive(Clone, Copy, Debug)]
pub enum State {
    /// The pattern has matched. Only state 0.
    Accept,
    /// Consumes a character of the class with this number.
    Character(u32, StateId),
    /// Continues at both states.
    Split(StateId, StateId),
    /// Continues at the start of the text or line.
    Start(StateId),
    /// Continues at the end of the text or line.
    End(StateId),
}

/// A compiled pattern. Clones share the automaton.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub(super) states: Arc<[State]>,
    pub(super) classes: Arc<[CharacterClass]>,
    pub(super) start: StateId,
    pub(super) multi_line: bool,
}

impl Pattern {
    /// Number of states of the automaton.
    pub fn state_count(&self) -> usize {
        self.states.len()
    }

    /// Whether some part of the text matches.
    pub fn is_match(&self, text: &str) -> bool {
        let mut matcher = PatternMatcher::default();
        matcher.feed(self, text);
        matcher.finish(self, &mut 0)
    }
}

/// The state of a search: the states after the characters so far. What follows an assertion or a
/// split is only visited when the next character, or the end, is known.
#[derive(Clone, Debug, Default)]
pub struct PatternMatcher {
    waiting: Vec<StateId>,
    last: Option<char>,
    matched: bool,
    /// States visited so far.
    visits: usize,
}

impl PatternMatcher {
    /// The number of states visited since the last call.
    pub fn take_visits(&mut self) -> usize {
        std::mem::take(&mut self.visits)
    }

    /// Adds the next chunk; whether the pattern has matched.
    pub fn feed(&mut self, pattern: &Pattern, chunk: &str) -> bool {
        let mut visited = Visited::new(pattern.states.len());
        let (mut stack, mut arrived) = (Vec::new(), Vec::new());
        self.visits += pattern.states.len() / STATES_PER_VISIT;
        for character in chunk.chars() {
            if self.matched {
                break;
            }
            arrived.clear();
            visited.clear();
            let (mut visits, mut looked_up) = (0, 0);
            self.matched = self.visit(
                pattern,
                Some(character),
                &mut visited,
                &mut stack,
                &mut visits,
                |class, next| {
                    looked_up += 1;
                    if pattern.classes[class as usize].contains(character) {
                        arrived.push(next);
                    }
                },
            );
            self.visits += visits;
            if !character.is_ascii() {
                self.visits += looked_up * VISITS_PER_LOOKUP;
            }
            std::mem::swap(&mut self.waiting, &mut arrived);
            self.last = Some(character);
        }
        self.matched
    }

    /// Whether the pattern matches the chunks so far, taken as the complete text. Adds the number of
    /// states visited to `visits`.
    pub fn finish(&self, pattern: &Pattern, visits: &mut usize) -> bool {
        if self.matched {
            return true;
        }
        *visits += pattern.states.len() / STATES_PER_VISIT;
        let mut visited = Visited::new(pattern.states.len());
        let mut stack = Vec::new();
        self.visit(pattern, None, &mut visited, &mut stack, visits, |_, _| {})
    }

    /// Visits all states that are reachable without a character, from the waiting states and from the
    /// start, each once; calls `consume` for those that consume one. Whether the pattern has matched.
    fn visit(
        &self,
        pattern: &Pattern,
        next: Option<char>,
        visited: &mut Visited,
        stack: &mut Vec<StateId>,
        visits: &mut usize,
        mut consume: impl FnMut(u32, StateId),
    ) -> bool {
        let (at_start, at_end) = self.assertions(pattern, next);
        stack.clear();
        stack.push(pattern.start);
        stack.extend_from_slice(&self.waiting);
        while let Some(state) = stack.pop() {
            *visits += 1;
            if !visited.insert(state) {
                continue;
            }
            match pattern.states[state as usize] {
                State::Accept => return true,
                State::Character(class, next) => consume(class, next),
                State::Split(first, second) => stack.extend([second, first]),
                State::Start(next) if at_start => stack.push(next),
                State::End(next) if at_end => stack.push(next),
                State::Start(_) | State::End(_) => {}
            }
        }
        false
    }

    /// Whether `^` and `$` match between the last character and the next one. With the flag `m`, a
    /// line feed at the end of the text does not start another line.
    fn assertions(&self, pattern: &Pattern, next: Option<char>) -> (bool, bool) {
        if !pattern.multi_line {
            return (self.last.is_none(), next.is_none());
        }
        let at_start = match self.last {
            None => true,
            Some(last) => last == '\n' && next.is_some(),
        };
        let at_end = match next {
            Some(next) => next == '\n',
            None => self.last != Some('\n'),
        };
        (at_start, at_end)
    }
}

/// The visited states; clearing takes constant time.
struct Visited {
    rounds: Vec<u32>,
    round: u32,
}

impl Visited {
    fn new(states: usize) -> Self {
        Self {
            rounds: vec![0; states],
            round: 1,
        }
    }

    fn clear(&mut self) {
        if self.round == u32::MAX {
            self.rounds.fill(0);
            self.round = 0;
        }
        self.round += 1;
    }

    /// Adds a state; whether it is new.
    fn insert(&mut self, state: StateId) -> bool {
        let round = &mut self.rounds[state as usize];
        let is_new = *round != self.round;
        *round = self.round;
        is_new
    }
}
