//! A document as a source of events: as it was published, or rewritten by a mapping.

use crate::dispatch::document_source::DocumentSource;
use crate::label_paths::collector::LabelPathRequest;
use crate::rewriting::Mapping;
use crate::subscription_store::header_tests::HeaderField;

/// A document, optionally rewritten by a mapping. An [`EventReader`] reads it into a handler.
///
/// [`EventReader`]: crate::dispatch::event_reader::EventReader
pub struct EventSource<'a, 's> {
    /// The document.
    pub document: &'a mut DocumentSource<'s>,
    /// From the document's schema to the global one; without a mapping the document is matched
    /// unchanged.
    pub mapping: Option<&'a Mapping>,
    /// Whether the engine runs a subtree that the mapping repeats only once and replays the result
    /// for its copies.
    pub memoize_repeated: bool,
    /// The header fields of the document.
    pub header: &'a [HeaderField],
    /// Without a mapping: reading ends after the first end tag that ends at this offset or later, and
    /// all open elements end there.
    pub stop_at: Option<u64>,
    /// Without a mapping: records the label paths of the document.
    pub label_paths: Option<&'a mut LabelPathRequest>,
}

impl<'a, 's> EventSource<'a, 's> {
    /// A document that is matched unchanged.
    pub fn unmapped(document: &'a mut DocumentSource<'s>) -> EventSource<'a, 's> {
        EventSource {
            document,
            mapping: None,
            memoize_repeated: false,
            header: &[],
            stop_at: None,
            label_paths: None,
        }
    }
}
