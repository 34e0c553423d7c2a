//! Documents that can be read more than once: the engine reads first; verification and fragment
//! cutting read again. A tree is replayed as the reader would read it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use tempfile::SpooledTempFile;

use crate::document_tree::DocumentTree;
use crate::events::Handler;
use crate::reader::{ReadError, Reader, Summary};

/// Bytes of a stream that are spooled in memory; a longer stream spills to disk.
const SPOOLED_BYTES_MAX: usize = 1 << 20;

/// One document: its bytes, or its tree.
pub enum DocumentSource<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A file, opened for each reading.
    File(&'a Path),
    /// A stream, spooled during the first reading.
    Stream(SpooledStream<'a>),
    /// A tree. The spans of its events identify nodes; they are not offsets.
    Tree(&'a DocumentTree),
}

/// A stream and the bytes already read from it.
pub struct SpooledStream<'a> {
    /// `None` after the first reading.
    stream: Option<Box<dyn Read + Send + 'a>>,
    spool: SpooledTempFile,
}

impl<'a> DocumentSource<'a> {
    /// A document that arrives as a stream.
    pub fn stream(stream: Box<dyn Read + Send + 'a>) -> DocumentSource<'a> {
        DocumentSource::Stream(SpooledStream {
            stream: Some(stream),
            spool: SpooledTempFile::new(SPOOLED_BYTES_MAX),
        })
    }

    /// Number of bytes; a stream is spooled to count them, up to `bytes_max` and one more. For a tree, the
    /// size of what is replayed.
    pub(crate) fn count_bytes(&mut self, bytes_max: u64) -> io::Result<u64> {
        match self {
            DocumentSource::Bytes(bytes) => Ok(bytes.len() as u64),
            DocumentSource::File(path) => Ok(path.metadata()?.len()),
            DocumentSource::Stream(spooled) => {
                if let Some(stream) = spooled.stream.take() {
                    io::copy(
                        &mut stream.take(bytes_max.saturating_add(1)),
                        &mut spooled.spool,
                    )?;
                }
                spooled.spool.seek(SeekFrom::End(0))
            }
            DocumentSource::Tree(tree) => Ok(tree.replayed_bytes()),
        }
    }

    /// Reads the document from its beginning.
    pub(crate) fn read<H: Handler>(
        &mut self,
        reader: &mut Reader,
        handler: &mut H,
    ) -> Result<Summary, ReadError> {
        match self {
            DocumentSource::Bytes(bytes) => reader
                .read_slice(bytes, handler)
                .map_err(ReadError::Refusal),
            DocumentSource::File(path) => {
                let file = File::open(path).map_err(ReadError::Io)?;
                reader.read_stream(file, handler)
            }
            DocumentSource::Stream(spooled) => match spooled.stream.take() {
                Some(mut stream) => reader.read_stream(
                    SpoolingReader {
                        stream: &mut stream,
                        spool: &mut spooled.spool,
                    },
                    handler,
                ),
                None => {
                    spooled.spool.rewind().map_err(ReadError::Io)?;
                    reader.read_stream(&mut spooled.spool, handler)
                }
            },
            DocumentSource::Tree(tree) => {
                tree.replay_as(reader, handler).map_err(ReadError::Refusal)
            }
        }
    }
}

/// Copies what is read from a stream into its spool.
struct SpoolingReader<'a, 'b> {
    stream: &'a mut Box<dyn Read + Send + 'b>,
    spool: &'a mut SpooledTempFile,
}

impl Read for SpoolingReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        io::Write::write_all(self.spool, &buffer[..count])?;
        Ok(count)
    }
}
