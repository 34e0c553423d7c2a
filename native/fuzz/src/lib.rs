//! What several fuzz targets share: recording the events of a document, checking that they do not
//! depend on how the document arrives, and splitting an input into queries and a document.

pub mod event_recorder;
pub mod matching_input;
pub mod reading_checks;
