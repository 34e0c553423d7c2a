//! The query language: tree, parser, printer, normal form.

pub mod ast;
mod lexical;
pub mod limits;
mod namespaces;
mod normal_form;
mod operands;
mod order;
mod parser;
mod paths;
mod print;
mod refusal;
mod scanner;

#[cfg(test)]
mod tests;

pub use namespaces::Namespaces;
pub use normal_form::normalise;
pub use parser::{parse, parse_canonical};
pub use print::canonical_text;
pub use refusal::QueryRefusal;
