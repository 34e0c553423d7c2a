//! Python buffers and iterables as Rust slices and streams.

use std::io::{self, Read};
use std::ops::Deref;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyMemoryView};

/// The bytes of a Python object that supports the buffer protocol. Bytes that another thread could
/// change meanwhile are copied: the reader relies on what it has validated.
pub(super) enum BufferBytes {
    Shared(PyBuffer<u8>),
    Copied(Vec<u8>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for BufferBytes {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<BufferBytes> {
        let buffer = PyBuffer::<u8>::get(&object)?;
        if !buffer.is_c_contiguous() {
            return Err(PyTypeError::new_err("the buffer must be contiguous"));
        }
        if buffer.readonly() && is_immutable(&object)? {
            return Ok(BufferBytes::Shared(buffer));
        }
        Ok(BufferBytes::Copied(buffer.to_vec(object.py())?))
    }
}

/// Whether nobody changes the memory behind a read-only buffer. That it is read-only does not suffice:
/// a view may be read-only while its exporter, such as a `bytearray`, is not.
fn is_immutable(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_exact_instance_of::<PyBytes>() {
        return Ok(true);
    }
    let exporter = match object.cast::<PyMemoryView>() {
        Ok(view) => view.getattr("obj")?,
        Err(_) => object.clone(),
    };
    let class = exporter.get_type();
    let name = class.qualname()?;
    let is_known = match class.module()?.to_str()? {
        // A file that is mapped read-only; it must not change while it is matched.
        "mmap" => name == "mmap",
        "pyarrow.lib" => name == "Buffer",
        _ => exporter.is_exact_instance_of::<PyBytes>(),
    };
    // The exporter may have another item type, such as that of Arrow's buffers.
    Ok(is_known
        && PyMemoryView::from(&exporter)?
            .getattr("readonly")?
            .extract()?)
}

impl Deref for BufferBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: the buffer is contiguous, its exporter keeps the memory alive and in place while
            // `buffer` lives, and nobody changes it ([`is_immutable`]).
            BufferBytes::Shared(buffer) => unsafe {
                std::slice::from_raw_parts(buffer.buf_ptr().cast(), buffer.len_bytes())
            },
            BufferBytes::Copied(bytes) => bytes,
        }
    }
}

/// A Python iterable of bytes as a stream that any thread can read.
pub(super) struct Chunks {
    iterator: Py<PyIterator>,
    chunk: Vec<u8>,
    at: usize,
}

impl Chunks {
    pub(super) fn new(chunks: &Bound<'_, PyAny>) -> PyResult<Chunks> {
        Ok(Chunks {
            iterator: chunks.try_iter()?.unbind(),
            chunk: Vec::new(),
            at: 0,
        })
    }

    /// The next non-empty chunk; an empty one at the end.
    fn next(&self) -> PyResult<Vec<u8>> {
        Python::attach(|py| {
            for chunk in self.iterator.bind(py).clone() {
                let chunk = PyBuffer::<u8>::get(&chunk?)?;
                if chunk.len_bytes() > 0 {
                    return chunk.to_vec(py);
                }
            }
            Ok(Vec::new())
        })
    }
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() {
            self.at = 0;
            self.chunk = self.next().map_err(io::Error::other)?;
        }
        let count = (&self.chunk[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

/// Documents stored in one buffer.
pub(super) struct Documents<'a> {
    bytes: &'a [u8],
    offsets: Vec<usize>,
}

impl<'a> Documents<'a> {
    /// The documents at `offsets`, which are 64-bit, one more than documents.
    pub fn new(bytes: &'a [u8], offsets: &[u8]) -> PyResult<Documents<'a>> {
        let offsets: Vec<usize> = offsets
            .chunks_exact(8)
            .map(|offset| i64::from_le_bytes(offset.try_into().expect("eight bytes")) as usize)
            .collect();
        let is_valid = offsets.windows(2).all(|pair| pair[0] <= pair[1])
            && offsets.last().is_none_or(|&end| end <= bytes.len());
        if !is_valid {
            return Err(PyValueError::new_err(
                "offsets must be ascending and within the buffer",
            ));
        }
        Ok(Documents { bytes, offsets })
    }

    /// The documents in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.offsets
            .windows(2)
            .map(|pair| &self.bytes[pair[0]..pair[1]])
    }
}
