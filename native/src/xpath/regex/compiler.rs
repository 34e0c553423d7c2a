//! Turns the syntax tree of a pattern into an automaton (Thompson's construction).

use std::sync::Arc;

use super::automaton::{Pattern, State, StateId};
use super::character_class::CharacterClass;
use super::syntax::{Flags, Node, PatternTree};
use crate::xpath::limits::MAX_PATTERN_STATES;

/// The automaton; `None` if it has too many states.
pub fn compile(tree: &PatternTree, flags: Flags) -> Option<Pattern> {
    let mut compiler = Compiler {
        states: vec![State::Accept],
        work: 0,
    };
    let start = compiler.add(&tree.root, 0)?;
    let classes: Arc<[CharacterClass]> = tree.sets.iter().map(CharacterClass::new).collect();
    Some(Pattern {
        states: compiler.states.into(),
        classes,
        start,
        multi_line: flags.multi_line,
    })
}

struct Compiler {
    states: Vec<State>,
    /// Nodes visited, repetitions included: repeating the empty string adds no state.
    work: usize,
}

impl Compiler {
    fn state(&mut self, state: State) -> Option<StateId> {
        if self.states.len() > MAX_PATTERN_STATES {
            return None;
        }
        self.states.push(state);
        Some(self.states.len() as StateId - 1)
    }

    /// Adds the states of a node that continues at `next`; returns the first of them.
    fn add(&mut self, node: &Node, next: StateId) -> Option<StateId> {
        self.work += 1;
        if self.work > 4 * MAX_PATTERN_STATES {
            return None;
        }
        match node {
            Node::Set(number) => self.state(State::Character(*number as u32, next)),
            Node::Start => self.state(State::Start(next)),
            Node::End => self.state(State::End(next)),
            Node::Sequence(parts) => parts
                .iter()
                .rev()
                .try_fold(next, |next, part| self.add(part, next)),
            Node::Choice(branches) => {
                let (last, others) = branches.split_last().expect("a choice has branches");
                let mut start = self.add(last, next)?;
                for branch in others.iter().rev() {
                    let first = self.add(branch, next)?;
                    start = self.state(State::Split(first, start))?;
                }
                Some(start)
            }
            Node::Repeat(inner, min, max) => {
                let mut next = match max {
                    Some(max) => {
                        let mut start = next;
                        for _ in *min..*max {
                            let first = self.add(inner, start)?;
                            start = self.state(State::Split(first, next))?;
                        }
                        start
                    }
                    None => {
                        let looped = self.state(State::Split(0, next))?;
                        let first = self.add(inner, looped)?;
                        self.states[looped as usize] = State::Split(first, next);
                        looped
                    }
                };
                for _ in 0..*min {
                    next = self.add(inner, next)?;
                }
                Some(next)
            }
        }
    }
}
