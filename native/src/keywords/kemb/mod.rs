//! KEMB.

pub mod coverage;
pub mod nfa;
pub mod rules;
mod sets;
