//! Shared by the index classes of all kinds of subscriptions.

use std::path::Path;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::reader::file_error;

use crate::subscription_store::file_format::OpenError;
use crate::subscription_store::header_tests::{HeaderField, HeaderTests};
use crate::subscription_store::numbering::NumberedSnapshot;
use crate::subscription_store::store::{AddError, IndexSegment};

/// An index, or the code and message of the error.
pub(super) type LoadedTuple<I> = (Option<I>, Option<(&'static str, String)>);

/// The exception for an index file that could not be written.
pub(super) fn write_error(path: &Path, error: OpenError) -> PyErr {
    match error {
        OpenError::Io(error) => file_error(path, error),
        damaged => index_error(damaged),
    }
}

/// The exception for a damaged index that was open already.
pub(super) fn index_error(error: OpenError) -> PyErr {
    match error {
        OpenError::Io(error) => error.into(),
        OpenError::Refused(code, message) => Python::attach(|py| {
            let raised = py
                .import("penstock.errors")
                .and_then(|errors| errors.getattr("IndexFileError"))
                .and_then(|class| class.call1((code, message)));
            raised.map_or_else(|error| error, PyErr::from_value)
        }),
    }
}

/// Converts the result of opening an index file.
pub(super) fn loaded_tuple<I>(
    path: &Path,
    opened: Result<I, OpenError>,
) -> PyResult<LoadedTuple<I>> {
    match opened {
        Ok(index) => Ok((Some(index), None)),
        Err(OpenError::Io(error)) => Err(file_error(path, error)),
        Err(OpenError::Refused(code, message)) => Ok((None, Some((code, message)))),
    }
}

/// `(position, code, message, offset in characters)`
pub(super) type QueryErrorTuple = (usize, &'static str, String, Option<usize>);

/// Adds the valid subscriptions, with the header tests of each, if there are any; returns the errors of
/// the others.
pub(super) fn add_each(
    ids: &[String],
    queries: &[String],
    header_tests: Vec<Vec<HeaderField>>,
    mut add: impl FnMut(&str, &str, &HeaderTests) -> Result<(), AddError>,
) -> Vec<QueryErrorTuple> {
    let mut tests = header_tests.into_iter().map(HeaderTests::new);
    let pairs = ids.iter().zip(queries).enumerate();
    pairs
        .filter_map(|(position, (id, query))| {
            let header = tests.next().unwrap_or_default();
            let error = add(id, query, &header).err()?;
            Some(query_error(position, id, error))
        })
        .collect()
}

/// The error of the subscription at a position.
fn query_error(position: usize, id: &str, error: AddError) -> QueryErrorTuple {
    match error {
        AddError::Query(refusal) => (
            position,
            refusal.code,
            refusal.message,
            Some(refusal.offset_characters),
        ),
        AddError::Duplicate => {
            let message = format!("a subscription `{id}` exists already");
            (position, "subscription.duplicate", message, None)
        }
    }
}

/// The handles of ids.
pub(super) fn handles_of<S: IndexSegment>(
    numbered: &NumberedSnapshot<S>,
    ids: &[String],
) -> PyResult<Vec<u32>> {
    let unknown = |id: &String| PyValueError::new_err(format!("unknown subscription `{id}`"));
    let handle = |id: &String| numbered.handle(id).ok_or_else(|| unknown(id));
    ids.iter().map(handle).collect()
}

/// The header tests of a subscription: fields and values; none for an unknown one.
pub(super) fn header_tests_of<S: IndexSegment>(
    numbered: &NumberedSnapshot<S>,
    id: &str,
) -> Vec<HeaderField> {
    let tests = numbered
        .handle(id)
        .map(|handle| numbered.header_tests(handle));
    let owned = |(field, value): (&str, &str)| (field.to_owned(), value.to_owned());
    tests.map_or_else(Vec::new, |tests| tests.iter().map(owned).collect())
}
