//! Interns names that do not come from the text of a document.

use crate::events::{NameId, Names, Stop};

use super::name_table::NameTable;
use super::parse_error::ParseError;

/// Adds names to the table of a reader, within its limit for one document.
pub(crate) struct NameInterner<'r>(pub(super) &'r mut NameTable);

impl NameInterner<'_> {
    /// The names of the reader.
    pub(crate) fn names(&self) -> &Names {
        &self.0.names
    }

    /// The id of `(uri, local)`, which is added if it is new.
    pub(crate) fn intern(&mut self, uri: &str, local: &str) -> Result<NameId, Stop> {
        self.0
            .intern_expanded(uri, local)
            .map_err(|error| match error {
                ParseError::Refused(fault) => Stop {
                    code: fault.code,
                    message: fault.message,
                },
                ParseError::NeedMore => unreachable!("a name is complete"),
            })
    }
}
