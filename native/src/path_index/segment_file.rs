//! A segment as an index file.

use crate::path_index::segment::{next_serial, Segment};
use crate::path_index::substring_search::{Parts, Starts};
use crate::subscription_store::file_format::{roster_sections, OpenError, Sections, Stored};

impl Stored for Segment {
    const MAGIC: &'static [u8; 16] = b"penstock-index\r\n";
    const VERSION: u32 = 4;

    fn sections(&self) -> Vec<&[u8]> {
        let Segment {
            serial: _,
            tests,
            test_table,
            nodes,
            origins,
            child_edges,
            descendant_edges,
            conditions,
            accepts,
            wants,
            slots,
            literals,
            literal_table,
            part_literals,
            start_literals,
            parts: _,
            starts: _,
            numbers,
            queries,
            roster,
        } = self;
        let own = [
            tests.ends.as_bytes(),
            tests.bytes.as_bytes(),
            test_table.places.as_bytes(),
            nodes.as_bytes(),
            origins.as_bytes(),
            child_edges.as_bytes(),
            descendant_edges.as_bytes(),
            conditions.as_bytes(),
            accepts.as_bytes(),
            wants.as_bytes(),
            slots.as_bytes(),
            literals.ends.as_bytes(),
            literals.bytes.as_bytes(),
            literal_table.places.as_bytes(),
            part_literals.as_bytes(),
            start_literals.as_bytes(),
            numbers.as_bytes(),
            queries.ends.as_bytes(),
            queries.bytes.as_bytes(),
        ];
        own.into_iter().chain(roster_sections(roster)).collect()
    }

    fn from_sections(sections: &mut Sections<'_>) -> Result<Segment, OpenError> {
        let mut segment = Segment {
            serial: next_serial(),
            parts: Parts::default(),
            starts: Starts::default(),
            tests: sections.texts()?,
            test_table: sections.text_table()?,
            nodes: sections.flat()?,
            origins: sections.flat()?,
            child_edges: sections.flat()?,
            descendant_edges: sections.flat()?,
            conditions: sections.flat()?,
            accepts: sections.flat()?,
            wants: sections.flat()?,
            slots: sections.flat()?,
            literals: sections.texts()?,
            literal_table: sections.text_table()?,
            part_literals: sections.flat()?,
            start_literals: sections.flat()?,
            numbers: sections.flat()?,
            queries: sections.texts()?,
            roster: sections.roster()?,
        };
        segment.parts = Parts::new(&segment.literals, &segment.part_literals);
        segment.starts = Starts::new(&segment.literals, &segment.start_literals);
        Ok(segment)
    }
}
