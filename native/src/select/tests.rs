//! The evaluator against its definition, and the cases that taught something.

mod definition;
mod document;
mod generated;
mod named;
