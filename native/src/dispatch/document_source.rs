//! Documents that can be read twice: once by the engine, once more where something must be verified
//! or fragments are wanted.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use tempfile::SpooledTempFile;

use crate::events::{Handler, Refusal};
use crate::reader::{ReadError, Reader, Summary};

/// A stream is kept in memory up to this many bytes and on disk past it.
pub const SPOOLED_BYTES_MAX: usize = 1 << 20;

/// Where a document comes from.
pub enum Source<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A file, opened once a reading.
    File(&'a Path),
    /// A stream, kept while it is read the first time.
    Stream(Spool<'a>),
}

/// A stream, and what was read of it.
pub struct Spool<'a> {
    stream: Option<Box<dyn Read + Send + 'a>>,
    kept: SpooledTempFile,
}

impl<'a> Source<'a> {
    /// A document that comes as a stream.
    pub fn stream(stream: Box<dyn Read + Send + 'a>) -> Source<'a> {
        Source::Stream(Spool {
            stream: Some(stream),
            kept: SpooledTempFile::new(SPOOLED_BYTES_MAX),
        })
    }

    /// Reads the document from its beginning.
    pub fn read<H: Handler>(
        &mut self,
        reader: &mut Reader,
        handler: &mut H,
    ) -> Result<Summary, ReadError> {
        match self {
            Source::Bytes(bytes) => reader
                .read_slice(bytes, handler)
                .map_err(ReadError::Refusal),
            Source::File(path) => {
                let file = File::open(path).map_err(ReadError::Io)?;
                reader.read_stream(file, handler)
            }
            Source::Stream(spool) => match spool.stream.take() {
                Some(mut stream) => reader.read_stream(
                    Keeping {
                        stream: &mut stream,
                        kept: &mut spool.kept,
                    },
                    handler,
                ),
                None => {
                    spool.kept.rewind().map_err(ReadError::Io)?;
                    reader.read_stream(&mut spool.kept, handler)
                }
            },
        }
    }
}

/// Keeps what is read.
struct Keeping<'a, 'b> {
    stream: &'a mut Box<dyn Read + Send + 'b>,
    kept: &'a mut SpooledTempFile,
}

impl Read for Keeping<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        io::Write::write_all(self.kept, &buffer[..count])?;
        Ok(count)
    }
}

/// Why a document has no matches.
#[derive(Debug)]
pub enum MatchError {
    /// It was refused.
    Refused(Refusal),
    /// It could not be read.
    Io(io::Error),
}

impl From<ReadError> for MatchError {
    fn from(error: ReadError) -> MatchError {
        match error {
            ReadError::Refusal(refusal) => MatchError::Refused(refusal),
            ReadError::Io(error) => MatchError::Io(error),
        }
    }
}
