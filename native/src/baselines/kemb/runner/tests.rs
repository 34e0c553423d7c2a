//! KEMB on the paper's examples, and compared with the definitions on generated documents.

mod generated;
mod paper;
