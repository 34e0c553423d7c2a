//! Checksums and digests of many bytes at a time, with the instructions that the processor has for them.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sha2::{Digest, Sha256};

use super::buffers::{BufferBytes, Documents};

/// Bytes of a digest.
const DIGEST_BYTES: usize = 32;

/// The CRC-32 of the bytes behind those that have the checksum `before`: what `zlib.crc32` returns.
#[pyfunction]
#[pyo3(signature = (content, before = 0))]
pub fn crc32(py: Python<'_>, content: BufferBytes, before: u32) -> u32 {
    py.detach(|| {
        let mut hasher = crc32fast::Hasher::new_with_initial(before);
        hasher.update(&content);
        hasher.finalize()
    })
}

/// The SHA-256 of each part of a buffer, back to back. The offsets are 64-bit, one more than parts.
#[pyfunction]
pub fn sha256_each<'py>(
    py: Python<'py>,
    content: BufferBytes,
    offsets: BufferBytes,
) -> PyResult<Bound<'py, PyBytes>> {
    let parts = Documents::new(&content, &offsets)?;
    let digests = py.detach(|| {
        let mut digests = Vec::with_capacity(offsets.len() / 8 * DIGEST_BYTES);
        for part in parts.iter() {
            digests.extend_from_slice(&Sha256::digest(part));
        }
        digests
    });
    Ok(PyBytes::new(py, &digests))
}
