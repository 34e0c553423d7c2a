//! The query language: tree, parser, printer, normal form.

pub mod ast;
