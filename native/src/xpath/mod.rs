//! The query language: syntax tree, parser, printer and normal form.

pub(crate) mod ast;
mod canonical_printer;
pub(crate) mod date;
mod function_calls;
mod lexical_rules;
pub(crate) mod limits;
mod namespaces;
mod normal_form;
pub(crate) mod number;
mod operands;
mod parser;
mod path_parser;
mod query_refusal;
pub(crate) mod regex;
mod scanner;
pub(crate) mod string_functions;
mod tree_order;

#[cfg(test)]
mod tests;

pub use canonical_printer::canonical_text;
pub(crate) use canonical_printer::{canonical_predicate, canonical_step};
pub use namespaces::Namespaces;
pub use normal_form::normalise;
pub use parser::{parse, parse_canonical};
pub(crate) use query_refusal::QueryRefusal;
