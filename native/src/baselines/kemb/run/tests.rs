//! KEMB on the paper's examples, and against the definitions on generated documents.

mod generated;
mod paper;
