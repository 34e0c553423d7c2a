//! The index file of a segment.

use crate::path_index::segment::{next_serial, Segment};
use crate::path_index::segment_validation::validate;
use crate::path_index::substring_search::{PrefixSearch, SubstringSearch};
use crate::subscription_store::file_format::{
    damaged, subscription_table_sections, OpenError, SectionReader, StoredSegment,
};

impl StoredSegment for Segment {
    const MAGIC: &'static [u8; 16] = b"penstock-index\r\n";
    const VERSION: u32 = 6;

    fn sections(&self) -> Vec<&[u8]> {
        let Segment {
            serial: _,
            tests,
            test_table,
            nodes,
            parent_links,
            child_edges,
            descendant_edges,
            conditions,
            accepts,
            required,
            operands,
            literals,
            literal_table,
            substring_literals,
            prefix_literals,
            substrings: _,
            prefixes: _,
            numbers,
            queries,
            subscriptions,
        } = self;
        let own = [
            tests.ends.as_bytes(),
            tests.bytes.as_bytes(),
            bytemuck::bytes_of(&test_table.seed),
            test_table.buckets.as_bytes(),
            nodes.as_bytes(),
            parent_links.as_bytes(),
            child_edges.as_bytes(),
            descendant_edges.as_bytes(),
            conditions.as_bytes(),
            accepts.as_bytes(),
            required.as_bytes(),
            operands.as_bytes(),
            literals.ends.as_bytes(),
            literals.bytes.as_bytes(),
            bytemuck::bytes_of(&literal_table.seed),
            literal_table.buckets.as_bytes(),
            substring_literals.as_bytes(),
            prefix_literals.as_bytes(),
            numbers.as_bytes(),
            queries.ends.as_bytes(),
            queries.bytes.as_bytes(),
        ];
        own.into_iter()
            .chain(subscription_table_sections(subscriptions))
            .collect()
    }

    fn from_sections(sections: &mut SectionReader<'_>) -> Result<Segment, OpenError> {
        let tests = sections.strings()?;
        let test_table = sections.string_table(&tests)?;
        let nodes = sections.array()?;
        let parent_links = sections.array()?;
        let child_edges = sections.array()?;
        let descendant_edges = sections.array()?;
        let conditions = sections.array()?;
        let accepts = sections.array()?;
        let required = sections.array()?;
        let operands = sections.array()?;
        let literals = sections.strings()?;
        let mut segment = Segment {
            serial: next_serial(),
            substrings: SubstringSearch::default(),
            prefixes: PrefixSearch::default(),
            tests,
            test_table,
            nodes,
            parent_links,
            child_edges,
            descendant_edges,
            conditions,
            accepts,
            required,
            operands,
            literal_table: sections.string_table(&literals)?,
            literals,
            substring_literals: sections.array()?,
            prefix_literals: sections.array()?,
            numbers: sections.array()?,
            queries: sections.strings()?,
            subscriptions: sections.subscription_table()?,
        };
        validate(&segment).map_err(damaged)?;
        segment.substrings = SubstringSearch::new(&segment.literals, &segment.substring_literals);
        segment.prefixes = PrefixSearch::new(&segment.literals, &segment.prefix_literals);
        Ok(segment)
    }
}
