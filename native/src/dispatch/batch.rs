//! Batches of documents: columns in, columns out.

use hashbrown::HashMap;

use crate::dispatch::document_source::DocumentSource;
use crate::dispatch::outcome::{Counters, MatchError, Matched};
use crate::events::Refusal;

/// The matches of a batch of documents, in columns.
#[derive(Default)]
pub struct Batch {
    /// Where each document's matches begin in `indices`; one entry more than documents.
    pub starts: Vec<i32>,
    /// The matches of all documents, as positions in `handles`.
    pub indices: Vec<i32>,
    /// The distinct handles that matched.
    pub handles: Vec<u32>,
    /// The refused documents by row.
    pub refusals: Vec<(usize, Refusal)>,
    /// By row, for documents that have any: the subscriptions that were set aside, as positions in
    /// `handles`.
    pub set_aside: Vec<(usize, Vec<i32>)>,
    /// By row, for documents that have any: how many elements are not in the mapping's local
    /// schema.
    pub unknown: Vec<(usize, u64)>,
    /// Totals over the batch.
    pub counters: Counters,
}

/// Matches each document by calling `match_row` with its row. A refused document matches nothing
/// and does not stop the batch; a damaged index does.
pub fn match_all<'a>(
    match_row: impl Fn(usize, &mut DocumentSource<'_>) -> Result<Matched, MatchError>,
    documents: impl Iterator<Item = &'a [u8]>,
) -> Result<Batch, MatchError> {
    let mut batch = Batch {
        starts: vec![0],
        ..Batch::default()
    };
    let mut positions: HashMap<u32, i32, foldhash::fast::RandomState> = HashMap::default();
    let mut position_of = |handle: u32, handles: &mut Vec<u32>| {
        *positions.entry(handle).or_insert_with(|| {
            handles.push(handle);
            handles.len() as i32 - 1
        })
    };
    for (row, document) in documents.enumerate() {
        match match_row(row, &mut DocumentSource::Bytes(document)) {
            Ok(matched) => {
                if matched.counters.unknown > 0 {
                    batch.unknown.push((row, matched.counters.unknown));
                }
                batch.counters += matched.counters;
                for handle in matched.handles {
                    batch.indices.push(position_of(handle, &mut batch.handles));
                }
                if !matched.set_aside.is_empty() {
                    let handles = matched.set_aside.into_iter();
                    let aside = handles.map(|handle| position_of(handle, &mut batch.handles));
                    batch.set_aside.push((row, aside.collect()));
                }
            }
            Err(MatchError::Refused(refusal)) => batch.refusals.push((row, refusal)),
            Err(error) => return Err(error),
        }
        batch
            .starts
            .push(i32::try_from(batch.indices.len()).expect("a batch has fewer than 2^31 matches"));
    }
    Ok(batch)
}
