//! Record splitting for Python, in batches whose buffers Arrow can use directly.

use std::io::{self, Read};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyIterator};

use crate::records::{PathStep, RecordBatch, RecordSplitter, SplitOptions};

use super::reader::{io_error, options, refusal_tuple, RefusalTuple};

/// An iterator of `bytes` as a stream, which attaches to the interpreter only to get the next chunk.
struct Chunks {
    chunks: Py<PyIterator>,
    chunk: Option<PyBackedBytes>,
    at: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(chunk) = &self.chunk {
                if self.at < chunk.len() {
                    let read = (&chunk[self.at..]).read(buffer)?;
                    self.at += read;
                    return Ok(read);
                }
            }
            let next = Python::attach(|py| {
                let next = self.chunks.bind(py).clone().next();
                next.map(|next| Ok(next?.extract::<PyBackedBytes>()?))
                    .transpose()
            });
            match next.map_err(|error: PyErr| io::Error::other(error))? {
                Some(chunk) => (self.chunk, self.at) = (Some(chunk), 0),
                None => return Ok(0),
            }
        }
    }
}

type RangeList = Vec<(u64, u64)>;

/// Contents; their offsets (32 bits each, starting with 0); starts and ends in the original (64 bits
/// each); start tags around the records, by the index of the first such record; faults by record.
type BatchTuple<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Vec<(usize, RangeList)>,
    Vec<(usize, &'static str, String)>,
);

/// Why the rest was refused, the refused part, and its offset.
type EndTuple<'py> = (Option<RefusalTuple>, Bound<'py, PyBytes>, u64);

/// Splits a stream of chunks into records.
#[pyclass(module = "penstock._native")]
pub struct RecordCutter(RecordSplitter<Chunks>);

#[pymethods]
impl RecordCutter {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        chunks: &Bound<'_, PyAny>,
        steps: Vec<(Option<String>, Option<String>)>,
        limits: &Bound<'_, PyDict>,
        entities: Vec<(String, String)>,
        record_bytes: u64,
        contents: bool,
        prefix: RangeList,
        position: u64,
    ) -> PyResult<Self> {
        let steps = steps.into_iter().map(|(uri, local)| PathStep {
            uri: uri.map(Into::into),
            local: local.map(Into::into),
        });
        let options = SplitOptions {
            steps: steps.collect(),
            reader: options(limits, entities, false)?,
            record_bytes,
            contents,
            prefix,
            position,
        };
        let source = Chunks {
            chunks: chunks.try_iter()?.unbind(),
            chunk: None,
            at: 0,
        };
        let splitter = py.detach(|| RecordSplitter::new(source, options));
        splitter.map(Self).map_err(io_error)
    }

    /// The records in about the next `bytes_wanted` bytes; `None` after the end.
    fn next_batch<'py>(
        &mut self,
        py: Python<'py>,
        bytes_wanted: u64,
    ) -> PyResult<Option<BatchTuple<'py>>> {
        let splitter = &mut self.0;
        let batch = py
            .detach(|| splitter.next(bytes_wanted))
            .map_err(io_error)?;
        Ok(batch.map(|batch| batch_tuple(py, batch)))
    }

    /// The state after the last batch; `None` before that.
    fn end<'py>(&self, py: Python<'py>) -> Option<EndTuple<'py>> {
        let end = self.0.end.as_ref()?;
        let refusal = end.refusal.clone().map(refusal_tuple);
        Some((refusal, PyBytes::new(py, &end.rest), end.rest_start))
    }

    /// The ranges of the XML declaration and of the document type declaration, if there is one.
    fn prolog(&self) -> RangeList {
        self.0.prolog()
    }
}

fn batch_tuple(py: Python<'_>, batch: RecordBatch) -> BatchTuple<'_> {
    // Arrow's offsets start with zero; a batch is far below 2 GiB.
    let offset = |end: u64| (end as u32).to_ne_bytes();
    let mut offsets = Vec::with_capacity(4 * (batch.content_ends.len() + 1));
    offsets.extend_from_slice(&offset(0));
    offsets.extend(batch.content_ends.iter().flat_map(|&end| offset(end)));
    let starts = batch.ranges.iter().flat_map(|range| range.0.to_ne_bytes());
    let starts: Vec<u8> = starts.collect();
    let ends: Vec<u8> = batch
        .ranges
        .iter()
        .flat_map(|range| range.1.to_ne_bytes())
        .collect();
    (
        PyBytes::new(py, &batch.contents),
        PyBytes::new(py, &offsets),
        PyBytes::new(py, &starts),
        PyBytes::new(py, &ends),
        batch.ancestors,
        batch.faults,
    )
}
