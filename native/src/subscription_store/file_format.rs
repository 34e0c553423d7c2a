//! The index file: a header, a table of sections, the sections in their memory layout, a checksum.
//!
//! All numbers are little-endian. A file is written under a temporary name in its folder,
//! synchronized and renamed; it never changes afterwards. Opening maps the file, verifies the checksum
//! and validates the structure, so that no lookup leaves its section or runs forever; nothing is copied.
//! The checksum detects damage, not manipulation: whoever can write the file can recompute it. The
//! validation therefore checks every offset and every order that a search relies on, but not that the
//! queries mean what their ids claim.

use std::fs::File;
use std::io::{self, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use memmap2::Mmap;
use xxhash_rust::xxh3::{xxh3_128, Xxh3};

use crate::subscription_store::flat_layout::{FileContent, FlatArray, StringArray, StringTable};
use crate::subscription_store::subscription_table::SubscriptionTable;

/// A segment that can be written to an index file and mapped from it.
pub trait StoredSegment: Sized {
    /// The first bytes of the file.
    const MAGIC: &'static [u8; 16];
    /// The format version that this code writes, and the only one it reads.
    const VERSION: u32;
    /// The sections in file order.
    fn sections(&self) -> Vec<&[u8]>;
    /// The segment whose sections are read in that order; refuses sections that are invalid or do not
    /// fit together.
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
    /// It is not a valid index: a stable code, and what is wrong in one sentence.
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
    let file = io::BufWriter::new(File::create(path)?);
    write_content(segment, file)?.into_inner()?.sync_all()
}

/// The content of the index file of a segment.
pub fn to_bytes<S: StoredSegment>(segment: &S) -> Vec<u8> {
    write_content(segment, Vec::new()).expect("writing to memory does not fail")
}

fn write_content<S: StoredSegment, W: Write>(segment: &S, output: W) -> io::Result<W> {
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
    let mut writer = ChecksumWriter {
        output,
        sum: Xxh3::new(),
        bytes: 0,
    };
    writer.put(&header)?;
    for section in sections {
        let padding = writer.bytes.next_multiple_of(ALIGNMENT) - writer.bytes;
        writer.put(&[0; ALIGNMENT][..padding])?;
        writer.put(section)?;
    }
    let checksum = writer.sum.digest128().to_le_bytes();
    writer.output.write_all(&checksum)?;
    Ok(writer.output)
}

/// Replaces the checksum by that of the content, for tests of manipulated files.
pub fn recompute_checksum(content: &mut [u8]) {
    if let Some(end) = content.len().checked_sub(CHECKSUM_BYTES) {
        let (body, checksum) = content.split_at_mut(end);
        checksum.copy_from_slice(&xxh3_128(body).to_le_bytes());
    }
}

/// The sections of a subscription table, in the order of [`SectionReader::subscription_table`].
pub fn subscription_table_sections(table: &SubscriptionTable) -> [&[u8]; 9] {
    let SubscriptionTable {
        class_starts,
        slot_rows,
        row_classes,
        ids,
        id_table,
        sources,
        binding_cache: _,
    } = table;
    [
        class_starts.as_bytes(),
        slot_rows.as_bytes(),
        row_classes.as_bytes(),
        ids.ends.as_bytes(),
        ids.bytes.as_bytes(),
        bytemuck::bytes_of(&id_table.seed),
        id_table.buckets.as_bytes(),
        sources.ends.as_bytes(),
        sources.bytes.as_bytes(),
    ]
}

struct ChecksumWriter<W> {
    output: W,
    sum: Xxh3,
    bytes: usize,
}

impl<W: Write> ChecksumWriter<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.bytes += bytes.len();
        self.output.write_all(bytes)
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
    let map = unsafe { Mmap::map(&file)? };
    from_content(FileContent::Mapped(map))
}

/// The segment in the content of an index file.
pub fn from_bytes<S: StoredSegment>(content: &[u8]) -> Result<S, OpenError> {
    from_content(FileContent::copied(content))
}

/// Validation leaves nothing to panic about; should it miss something, the file is refused.
fn from_content<S: StoredSegment>(content: FileContent) -> Result<S, OpenError> {
    catch_unwind(AssertUnwindSafe(|| validated(content)))
        .unwrap_or_else(|_| Err(damaged("it cannot be read")))
}

fn validated<S: StoredSegment>(content: FileContent) -> Result<S, OpenError> {
    let content = Arc::new(content);
    if content.len() < HEADER_BYTES + CHECKSUM_BYTES || &content[..16] != S::MAGIC {
        return Err(not_an_index());
    }
    let header_number = |at| {
        number_at(&content, at)
            .map(u32::from_le_bytes)
            .expect("the header is there")
    };
    let (version, known) = (header_number(16), S::VERSION);
    if version > known {
        let message =
            format!("the index has format {version}, and this Penstock reads up to {known}");
        return Err(OpenError::Refused("index.too-new", message));
    }
    if version < known {
        let message = format!("the index has format {version}, and this Penstock reads {known}");
        return Err(OpenError::Refused("index.too-old", message));
    }
    let (body, checksum) = content.split_at(content.len() - CHECKSUM_BYTES);
    if xxh3_128(body).to_le_bytes() != checksum {
        return Err(damaged("its checksum does not match its content"));
    }
    let mut sections = SectionReader {
        content: &content,
        next: HEADER_BYTES,
        remaining: header_number(20),
    };
    let segment = S::from_sections(&mut sections)?;
    if sections.remaining > 0 {
        return Err(damaged("it has too many sections"));
    }
    Ok(segment)
}

fn number_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Reads the sections of a file in order.
pub struct SectionReader<'a> {
    content: &'a Arc<FileContent>,
    /// Offset of the next entry in the table of sections.
    next: usize,
    /// Number of sections that were not read.
    remaining: u32,
}

impl SectionReader<'_> {
    /// The next section as an array.
    pub fn array<T: bytemuck::Pod>(&mut self) -> Result<FlatArray<T>, OpenError> {
        let wrong = || damaged("its table of sections is invalid");
        let number = |at| {
            number_at(self.content, at)
                .map(u64::from_le_bytes)
                .and_then(|number| usize::try_from(number).ok())
        };
        self.remaining = self.remaining.checked_sub(1).ok_or_else(wrong)?;
        let start = number(self.next).ok_or_else(wrong)?;
        let len = number(self.next + 8).ok_or_else(wrong)?;
        self.next += ENTRY_BYTES;
        let end = start.checked_add(len).ok_or_else(wrong)?;
        if end > self.content.len() - CHECKSUM_BYTES {
            return Err(wrong());
        }
        FlatArray::in_file(self.content, start..end).ok_or_else(wrong)
    }

    /// The next section as one value.
    pub fn value<T: bytemuck::Pod>(&mut self) -> Result<T, OpenError> {
        match *self.array()? {
            [value] => Ok(value),
            _ => Err(damaged("its table of sections is invalid")),
        }
    }

    /// The next two sections as strings.
    pub fn strings(&mut self) -> Result<StringArray, OpenError> {
        let texts = StringArray {
            ends: self.array()?,
            bytes: self.array()?,
        };
        let valid = is_partition(texts.ends.iter().copied(), texts.bytes.len() as u64)
            && are_valid_texts(&texts);
        valid
            .then_some(texts)
            .ok_or_else(|| damaged("its strings are invalid"))
    }

    /// The next sections as a hash table of `texts`.
    pub fn string_table(&mut self, texts: &StringArray) -> Result<StringTable, OpenError> {
        let table = StringTable {
            seed: self.value()?,
            buckets: self.array()?,
        };
        table
            .is_valid(texts)
            .then_some(table)
            .ok_or_else(|| damaged("a hash table of strings is invalid"))
    }

    /// The next sections as a subscription table.
    pub fn subscription_table(&mut self) -> Result<SubscriptionTable, OpenError> {
        let class_starts = self.array()?;
        let slot_rows = self.array()?;
        let row_classes = self.array()?;
        let ids = self.strings()?;
        let table = SubscriptionTable {
            class_starts,
            slot_rows,
            row_classes,
            id_table: self.string_table(&ids)?,
            ids,
            sources: self.strings()?,
            binding_cache: OnceLock::new(),
        };
        table
            .is_valid()
            .then_some(table)
            .ok_or_else(|| damaged("its table of subscriptions is invalid"))
    }
}

/// Whether `starts` are those of consecutive, possibly empty parts of `0..end`, followed by `end`.
pub fn is_partition<T: Copy + PartialOrd + Default>(
    starts: impl ExactSizeIterator<Item = T> + Clone,
    end: T,
) -> bool {
    let mut previous = T::default();
    let mut ascending = true;
    let (first, last) = (starts.clone().next(), starts.clone().last());
    for start in starts {
        ascending &= previous <= start;
        previous = start;
    }
    ascending && first == Some(T::default()) && last == Some(end)
}

/// Whether each string is UTF-8: the bytes are, and no string begins within a character.
fn are_valid_texts(texts: &StringArray) -> bool {
    let Ok(all) = simdutf8::basic::from_utf8(&texts.bytes) else {
        return false;
    };
    texts
        .ends
        .iter()
        .all(|&end| all.is_char_boundary(end as usize))
}
