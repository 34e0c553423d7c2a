//! The index file: a header, a table of sections, the sections in their memory layout, a checksum.
//!
//! All numbers are little-endian. A file is written under a temporary name in its folder,
//! synchronized and renamed; it never changes afterwards. Opening maps the file and verifies the
//! checksum; nothing is copied.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use xxhash_rust::xxh3::{xxh3_128, Xxh3};

use crate::subscription_store::flat_layout::{FlatArray, StringArray, StringTable};
use crate::subscription_store::subscription_table::SubscriptionTable;

/// A segment that can be written to an index file and mapped from it.
pub trait StoredSegment: Sized {
    /// The first bytes of the file.
    const MAGIC: &'static [u8; 16];
    /// The format version that this code writes, and the only one it reads.
    const VERSION: u32;
    /// The sections in file order.
    fn sections(&self) -> Vec<&[u8]>;
    /// The segment whose sections are read in that order.
    fn from_sections(sections: &mut SectionReader<'_>) -> Result<Self, OpenError>;
}

const HEADER_BYTES: usize = 16 + 4 + 4;
const ENTRY_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 16;
const ALIGNMENT: usize = 64;

/// Why a file was not opened.
#[derive(Debug)]
pub enum OpenError {
    /// The file could not be read.
    Io(io::Error),
    /// It is no valid index: a stable code, and what is wrong in one sentence.
    Refused(&'static str, String),
}

fn not_an_index() -> OpenError {
    OpenError::Refused(
        "index.not-an-index",
        "the file is not an index of subscriptions".to_owned(),
    )
}

/// The error for invalid content.
pub fn damaged(how: &str) -> OpenError {
    OpenError::Refused("index.damaged", format!("the index file is damaged: {how}"))
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        OpenError::Io(error)
    }
}

/// Writes a segment to `path`, replacing an existing file.
pub fn write<S: StoredSegment>(segment: &S, path: &Path) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.part", std::process::id()));
    let temporary = Path::new(&temporary);
    let written = write_to(segment, temporary).and_then(|()| std::fs::rename(temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(temporary);
        return written;
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn write_to<S: StoredSegment>(segment: &S, path: &Path) -> io::Result<()> {
    let sections = segment.sections();
    let mut header = Vec::new();
    header.extend_from_slice(S::MAGIC);
    header.extend_from_slice(&S::VERSION.to_le_bytes());
    header.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    let mut offset = HEADER_BYTES + sections.len() * ENTRY_BYTES;
    for section in &sections {
        offset = offset.next_multiple_of(ALIGNMENT);
        header.extend_from_slice(&(offset as u64).to_le_bytes());
        header.extend_from_slice(&(section.len() as u64).to_le_bytes());
        offset += section.len();
    }
    let mut file = ChecksumWriter {
        file: io::BufWriter::new(File::create(path)?),
        sum: Xxh3::new(),
        bytes: 0,
    };
    file.put(&header)?;
    for section in sections {
        file.put(&[0; ALIGNMENT][..file.bytes.next_multiple_of(ALIGNMENT) - file.bytes])?;
        file.put(section)?;
    }
    let checksum = file.sum.digest128().to_le_bytes();
    file.file.write_all(&checksum)?;
    file.file.into_inner()?.sync_all()
}

/// The sections of a subscription table, in the order of [`SectionReader::subscription_table`].
pub fn subscription_table_sections(table: &SubscriptionTable) -> [&[u8]; 8] {
    let SubscriptionTable {
        class_starts,
        slot_rows,
        row_classes,
        ids,
        id_table,
        sources,
    } = table;
    [
        class_starts.as_bytes(),
        slot_rows.as_bytes(),
        row_classes.as_bytes(),
        ids.ends.as_bytes(),
        ids.bytes.as_bytes(),
        id_table.buckets.as_bytes(),
        sources.ends.as_bytes(),
        sources.bytes.as_bytes(),
    ]
}

struct ChecksumWriter {
    file: io::BufWriter<File>,
    sum: Xxh3,
    bytes: usize,
}

impl ChecksumWriter {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.bytes += bytes.len();
        self.file.write_all(bytes)
    }
}

/// Maps the segment in a file.
pub fn open<S: StoredSegment>(path: &Path) -> Result<S, OpenError> {
    let file = File::open(path)?;
    if file.metadata()?.len() < (HEADER_BYTES + CHECKSUM_BYTES) as u64 {
        return Err(not_an_index());
    }
    // SAFETY: index files are immutable by contract: they are written under a temporary name and
    // renamed.
    let map = Arc::new(unsafe { Mmap::map(&file)? });
    if &map[..16] != S::MAGIC {
        return Err(not_an_index());
    }
    let version = number_at::<4>(&map, 16)
        .map(u32::from_le_bytes)
        .expect("the header is there");
    let known = S::VERSION;
    if version > known {
        let message =
            format!("the index has format {version}, and this Penstock reads up to {known}");
        return Err(OpenError::Refused("index.too-new", message));
    }
    if version < known {
        let message = format!("the index has format {version}, and this Penstock reads {known}");
        return Err(OpenError::Refused("index.too-old", message));
    }
    let (body, checksum) = map.split_at(map.len() - CHECKSUM_BYTES);
    if xxh3_128(body).to_le_bytes() != checksum {
        return Err(damaged("its checksum does not match its content"));
    }
    S::from_sections(&mut SectionReader {
        map: &map,
        next: HEADER_BYTES,
    })
}

fn number_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Reads the sections of a file in order.
pub struct SectionReader<'a> {
    map: &'a Arc<Mmap>,
    next: usize,
}

impl SectionReader<'_> {
    /// The next section as an array.
    pub fn array<T: bytemuck::Pod>(&mut self) -> Result<FlatArray<T>, OpenError> {
        let wrong = || damaged("its table of sections is invalid");
        let number = |at| {
            number_at::<8>(self.map, at)
                .map(u64::from_le_bytes)
                .map(|number| number as usize)
        };
        let start = number(self.next).ok_or_else(wrong)?;
        let len = number(self.next + 8).ok_or_else(wrong)?;
        self.next += ENTRY_BYTES;
        let end = start.checked_add(len).ok_or_else(wrong)?;
        FlatArray::mapped(self.map, start..end).ok_or_else(wrong)
    }

    /// The next two sections as strings.
    pub fn strings(&mut self) -> Result<StringArray, OpenError> {
        let texts = StringArray {
            ends: self.array()?,
            bytes: self.array()?,
        };
        let ascending = texts.ends.windows(2).all(|ends| ends[0] <= ends[1]);
        let complete = texts.ends.last() == Some(&(texts.bytes.len() as u64));
        let valid = simdutf8::basic::from_utf8(&texts.bytes).is_ok();
        if !(ascending && complete && valid) {
            return Err(damaged("its strings are invalid"));
        }
        Ok(texts)
    }

    /// The next section as a hash table of strings.
    pub fn string_table(&mut self) -> Result<StringTable, OpenError> {
        Ok(StringTable {
            buckets: self.array()?,
        })
    }

    /// The next sections as a subscription table.
    pub fn subscription_table(&mut self) -> Result<SubscriptionTable, OpenError> {
        Ok(SubscriptionTable {
            class_starts: self.array()?,
            slot_rows: self.array()?,
            row_classes: self.array()?,
            ids: self.strings()?,
            id_table: self.string_table()?,
            sources: self.strings()?,
        })
    }
}
