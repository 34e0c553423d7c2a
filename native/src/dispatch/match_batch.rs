//! Many documents at once, as columns in and columns out.

use hashbrown::HashMap;

use crate::dispatch::document_source::{MatchError, Source};
use crate::events::Refusal;
use crate::matching::matcher::{Counters, Matched};

/// What became of a batch of documents.
#[derive(Default)]
pub struct Batch {
    /// One more than documents: where each document's matches begin in `indices`.
    pub starts: Vec<i32>,
    /// The matches of all documents, as places in `handles`.
    pub indices: Vec<i32>,
    /// The handles that occur.
    pub handles: Vec<u32>,
    /// The refused documents, by row.
    pub refusals: Vec<(usize, Refusal)>,
    /// The documents with elements that their mappings' schemas do not have, by row, and how many.
    pub unknown: Vec<(usize, u64)>,
    /// Added up.
    pub counters: Counters,
}

/// Matches each of `documents` by `matches`, which is told the row; one that is refused matches nothing and stops nothing.
pub fn match_all<'a>(
    matches: impl Fn(usize, &mut Source<'_>) -> Result<Matched, MatchError>,
    documents: impl Iterator<Item = &'a [u8]>,
) -> Batch {
    let mut batch = Batch {
        starts: vec![0],
        ..Batch::default()
    };
    let mut places: HashMap<u32, i32, foldhash::fast::RandomState> = HashMap::default();
    for (row, document) in documents.enumerate() {
        match matches(row, &mut Source::Bytes(document)) {
            Ok(matched) => {
                if matched.counters.unknown > 0 {
                    batch.unknown.push((row, matched.counters.unknown));
                }
                batch.counters += matched.counters;
                for handle in matched.handles {
                    let place = *places.entry(handle).or_insert_with(|| {
                        batch.handles.push(handle);
                        batch.handles.len() as i32 - 1
                    });
                    batch.indices.push(place);
                }
            }
            Err(MatchError::Refused(refusal)) => batch.refusals.push((row, refusal)),
            Err(MatchError::Io(_)) => unreachable!("bytes in memory need no reading from outside"),
        }
        batch
            .starts
            .push(i32::try_from(batch.indices.len()).expect("a batch has fewer than 2^31 matches"));
    }
    batch
}
