//! The reader for Python. Events are tuples, which `events.py` turns into dataclasses.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyTuple};

use crate::events::{
    sorted_bindings, Context, Handler, NameId, Names, Refusal, Span, StartElement, Stop,
};
use crate::reader::{
    self, error_codes, DoctypePolicy, Limits, ReadError, Reader, ReaderOptions, Summary,
};

/// Code, message, offset, line, column, path of the open elements.
pub type RefusalTuple = (&'static str, String, u64, u64, u64, String);

/// A refusal for Python, which raises an error by its code.
pub fn refusal_tuple(refusal: Refusal) -> RefusalTuple {
    let Refusal {
        code,
        message,
        offset,
        line,
        column,
        path,
    } = refusal;
    (code, message, offset, line, column, path)
}

/// Reader options from Python: limits by name, entities by name, and whether to refuse document type
/// declarations.
pub fn options(
    limits: &Bound<'_, PyDict>,
    entities: Vec<(String, String)>,
    refuse_declarations: bool,
) -> PyResult<ReaderOptions> {
    Ok(ReaderOptions {
        limits: limits_from(limits)?,
        entities: entities
            .into_iter()
            .map(|(name, text)| (name, Arc::from(text)))
            .collect(),
        declarations: if refuse_declarations {
            DoctypePolicy::Refuse
        } else {
            DoctypePolicy::Process
        },
    })
}

fn limits_from(given: &Bound<'_, PyDict>) -> PyResult<Limits> {
    let mut limits = Limits::default();
    for (name, value) in given {
        let (name, value): (String, u64) = (name.extract()?, value.extract()?);
        if !limits.set(&name, value) {
            let message = format!("unknown limit {name}, or value {value} out of range");
            return Err(PyValueError::new_err(message));
        }
    }
    Ok(limits)
}

/// The codes with which the reader refuses documents.
#[pyfunction]
pub fn reader_codes() -> Vec<&'static str> {
    error_codes::ALL.to_vec()
}

/// The default limits by name.
#[pyfunction]
pub fn default_limits() -> Vec<(&'static str, u64)> {
    Limits::default().named()
}

/// Decodes a part of a document in the encoding `label`; `None` if it is invalid.
#[pyfunction]
pub fn decode(part: &[u8], label: &str) -> Option<String> {
    reader::decode(part, label)
}

type SpanTuple = (u64, u64, bool);

fn span_tuple(span: Span) -> SpanTuple {
    (span.start, span.end, span.from_entity)
}

/// Events as tuples, and why the document was refused, if it was.
type EventsTuple<'py> = (Bound<'py, PyList>, Option<RefusalTuple>);

/// Collects events as Python objects.
struct Collector<'py> {
    events: Bound<'py, PyList>,
    /// The namespaces in scope, and their identity: events with the same scope share them.
    namespaces: Bound<'py, PyTuple>,
    scope_id: u64,
    failed: Option<PyErr>,
}

impl<'py> Collector<'py> {
    fn new(py: Python<'py>) -> Self {
        Self {
            events: PyList::empty(py),
            namespaces: PyTuple::empty(py),
            scope_id: 0,
            failed: None,
        }
    }

    /// The events, and the refusal, if any.
    fn finish(self, result: Result<Summary, Refusal>) -> PyResult<EventsTuple<'py>> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok((self.events, result.err().map(refusal_tuple))),
        }
    }

    /// The namespaces in scope, sorted by prefix.
    fn namespaces(&mut self, context: &dyn Context) -> PyResult<Bound<'py, PyTuple>> {
        if context.scope_id() != self.scope_id {
            let bindings = sorted_bindings(context);
            let pairs = bindings.iter().map(|(prefix, uri)| (&**prefix, &**uri));
            self.namespaces = PyTuple::new(self.events.py(), pairs.collect::<Vec<_>>())?;
            self.scope_id = context.scope_id();
        }
        Ok(self.namespaces.clone())
    }

    /// Stops reading if a Python object could not be created; the error is raised afterwards.
    fn check(&mut self, appended: PyResult<()>) -> Result<(), Stop> {
        appended.map_err(|error| {
            self.failed = Some(error);
            Stop {
                code: "",
                message: String::new(),
            }
        })
    }
}

fn name(names: &Names, id: NameId) -> (&str, &str) {
    names.get(id)
}

impl Handler for Collector<'_> {
    const SPANS: bool = true;

    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        let names = context.names();
        let attributes: Vec<_> = element
            .attributes
            .iter()
            .map(|attribute| {
                let span = span_tuple(attribute.span);
                (name(names, attribute.name), attribute.value, span)
            })
            .collect();
        let (own, span) = (name(names, element.name), span_tuple(element.span));
        let appended = self.namespaces(context).and_then(|namespaces| {
            self.events
                .append(("start", own, attributes, namespaces, span))
        });
        self.check(appended)
    }

    fn end_element(&mut self, span: Span, _: Span) -> Result<(), Stop> {
        let appended = self.events.append(("end", span_tuple(span)));
        self.check(appended)
    }

    fn text(&mut self, text: &str, span: Span) -> Result<(), Stop> {
        let appended = self.events.append(("text", text, span_tuple(span)));
        self.check(appended)
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        let appended = self.events.append(("break",));
        self.check(appended)
    }
}

/// Ignores all events.
struct NullHandler;

impl Handler for NullHandler {
    const SPANS: bool = true;

    fn start_element(&mut self, _: &dyn Context, _: &StartElement<'_>) -> Result<(), Stop> {
        Ok(())
    }

    fn end_element(&mut self, _: Span, _: Span) -> Result<(), Stop> {
        Ok(())
    }

    fn text(&mut self, _: &str, _: Span) -> Result<(), Stop> {
        Ok(())
    }

    fn text_break(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}

/// An iterator of `bytes` as a stream.
pub struct Chunks<'py> {
    chunks: Bound<'py, PyIterator>,
    chunk: PyBackedBytes,
    at: usize,
}

impl<'py> Chunks<'py> {
    /// A stream of the chunks that an iterable yields.
    pub fn new(chunks: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            chunks: chunks.try_iter()?,
            chunk: PyBackedBytes::from(PyBytes::new(chunks.py(), b"")),
            at: 0,
        })
    }
}

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // An empty chunk is not the end.
        while self.at == self.chunk.len() {
            let Some(next) = self.chunks.next() else {
                return Ok(0);
            };
            self.chunk = next
                .and_then(|next| Ok(next.extract()?))
                .map_err(io::Error::other)?;
            self.at = 0;
        }
        let read = (&self.chunk[self.at..]).read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

/// The exception that Python raised while providing chunks, or another I/O error.
pub fn io_error(error: io::Error) -> PyErr {
    match error.downcast::<PyErr>() {
        Ok(raised) => raised,
        Err(error) => error.into(),
    }
}

/// An I/O error of a file, as Python's `open` would raise it: with the number and the file's name.
pub fn file_error(path: &Path, error: io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return error.into();
    };
    Python::attach(|py| {
        let message = py
            .import("os")
            .and_then(|os| os.call_method1("strerror", (number,)))
            .and_then(|text| text.extract::<String>());
        match message {
            // The constructor selects the subclass by the number.
            Ok(message) => PyOSError::new_err((number, message, path.to_path_buf())),
            Err(error) => error,
        }
    })
}

fn read<H: Handler>(
    reader: &mut Reader,
    source: &Bound<'_, PyAny>,
    handler: &mut H,
) -> PyResult<Result<Summary, Refusal>> {
    if let Ok(bytes) = source.cast::<PyBytes>() {
        return Ok(reader.read_slice(bytes.as_bytes(), handler));
    }
    match reader.read_stream(Chunks::new(source)?, handler) {
        Ok(summary) => Ok(Ok(summary)),
        Err(ReadError::Refusal(refusal)) => Ok(Err(refusal)),
        Err(ReadError::Io(error)) => Err(io_error(error)),
    }
}

/// The events of a document up to its end or refusal, and the refusal, if any.
#[pyfunction]
pub fn read_events<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    limits: &Bound<'py, PyDict>,
    entities: Vec<(String, String)>,
    refuse_declarations: bool,
) -> PyResult<EventsTuple<'py>> {
    let mut reader = Reader::new(options(limits, entities, refuse_declarations)?);
    let mut collector = Collector::new(py);
    let result = read(&mut reader, source, &mut collector)?;
    collector.finish(result)
}

/// Elements, attributes, bytes, encoding, span of the document type declaration.
pub type SummaryTuple = (u64, u64, u64, &'static str, Option<SpanTuple>);

pub fn summary_tuple(summary: Summary) -> SummaryTuple {
    let Summary {
        elements,
        attributes,
        bytes,
        encoding,
        doctype,
    } = summary;
    (
        elements,
        attributes,
        bytes,
        encoding,
        doctype.map(span_tuple),
    )
}

/// Reads documents one after the other and returns only their summaries.
#[pyclass(module = "penstock._native")]
pub struct DocumentReader(Reader);

#[pymethods]
impl DocumentReader {
    #[new]
    fn new(
        limits: &Bound<'_, PyDict>,
        entities: Vec<(String, String)>,
        refuse_declarations: bool,
    ) -> PyResult<Self> {
        let options = options(limits, entities, refuse_declarations)?;
        Ok(Self(Reader::new(options)))
    }

    /// Reads `bytes` or an iterable of `bytes`; returns a summary or a refusal.
    fn read(
        &mut self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
    ) -> PyResult<(Option<SummaryTuple>, Option<RefusalTuple>)> {
        let result = if let Ok(bytes) = source.extract::<PyBackedBytes>() {
            let reader = &mut self.0;
            py.detach(|| reader.read_slice(&bytes, &mut NullHandler))
        } else {
            read(&mut self.0, source, &mut NullHandler)?
        };
        Ok(match result {
            Ok(summary) => (Some(summary_tuple(summary)), None),
            Err(refusal) => (None, Some(refusal_tuple(refusal))),
        })
    }
}

/// Reads parts of a document with its document type declaration, which is parsed only once.
#[pyclass(module = "penstock._native")]
pub struct PartReader {
    reader: Reader,
    /// Why the declaration was refused, if it was.
    refusal: Option<Refusal>,
}

#[pymethods]
impl PartReader {
    #[new]
    fn new(
        py: Python<'_>,
        doctype: &str,
        limits: &Bound<'_, PyDict>,
        entities: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let mut reader = Reader::new(options(limits, entities, false)?);
        let document = format!("{doctype}<part/>");
        let result = py.detach(|| reader.read_slice(document.as_bytes(), &mut NullHandler));
        Ok(Self {
            reader,
            refusal: result.err(),
        })
    }

    /// The events of a part up to its end or refusal, and the refusal, if any.
    fn read_events<'py>(&mut self, py: Python<'py>, part: &[u8]) -> PyResult<EventsTuple<'py>> {
        if let Some(refusal) = &self.refusal {
            return Ok((PyList::empty(py), Some(refusal_tuple(refusal.clone()))));
        }
        let mut collector = Collector::new(py);
        let result = self.reader.read_part(part, &mut collector);
        collector.finish(result)
    }
}
