//! The index file: a header, a table of sections, the sections as they lie in memory, a checksum.
//!
//! All numbers are little-endian. A file is written beside its place, synchronised, then renamed, and
//! never changed. It is opened by mapping: the checksum is read through once, after which nothing is
//! copied.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use xxhash_rust::xxh3::{xxh3_128, Xxh3};

use crate::subscription_store::flat_layout::{Flat, TextTable, Texts};
use crate::subscription_store::subscription_table::Roster;

/// What can be written to an index file and mapped from it.
pub trait Stored: Sized {
    /// What the file begins with.
    const MAGIC: &'static [u8; 16];
    /// The version this code writes, and the only one it reads.
    const VERSION: u32;
    /// The sections, in the order in which they stand in a file.
    fn sections(&self) -> Vec<&[u8]>;
    /// What the sections of a file hold, taken in that order.
    fn from_sections(sections: &mut Sections<'_>) -> Result<Self, OpenError>;
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
    /// It is not an index to us: a stable code, and what is wrong in one sentence.
    Refused(&'static str, String),
}

fn not_an_index() -> OpenError {
    OpenError::Refused(
        "index.not-an-index",
        "the file is not an index of subscriptions".to_owned(),
    )
}

/// The file does not hold what it should.
pub fn damaged(how: &str) -> OpenError {
    OpenError::Refused("index.damaged", format!("the index file is damaged: {how}"))
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        OpenError::Io(error)
    }
}

/// Writes a segment to `path`, in place of what is there.
pub fn write<S: Stored>(segment: &S, path: &Path) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = Path::new(&beside);
    let written = write_to(segment, beside).and_then(|()| std::fs::rename(beside, path));
    if written.is_err() {
        // Nothing to do about a failure to tidy up after a failure.
        let _ = std::fs::remove_file(beside);
        return written;
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn write_to<S: Stored>(segment: &S, path: &Path) -> io::Result<()> {
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
    let mut file = Summing {
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

/// The sections of a roster, as [`Sections::roster`] takes them.
pub fn roster_sections(roster: &Roster) -> [&[u8]; 8] {
    let Roster {
        class_starts,
        class_handles,
        handle_classes,
        ids,
        id_table,
        sources,
    } = roster;
    [
        class_starts.as_bytes(),
        class_handles.as_bytes(),
        handle_classes.as_bytes(),
        ids.ends.as_bytes(),
        ids.bytes.as_bytes(),
        id_table.places.as_bytes(),
        sources.ends.as_bytes(),
        sources.bytes.as_bytes(),
    ]
}

struct Summing {
    file: io::BufWriter<File>,
    sum: Xxh3,
    bytes: usize,
}

impl Summing {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.bytes += bytes.len();
        self.file.write_all(bytes)
    }
}

/// Opens the segment in a file.
pub fn open<S: Stored>(path: &Path) -> Result<S, OpenError> {
    let file = File::open(path)?;
    if file.metadata()?.len() < (HEADER_BYTES + CHECKSUM_BYTES) as u64 {
        return Err(not_an_index());
    }
    // SAFETY: index files are immutable by contract: written beside their place and renamed.
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
        return Err(damaged("its checksum does not fit its content"));
    }
    S::from_sections(&mut Sections {
        map: &map,
        next: HEADER_BYTES,
    })
}

fn number_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Reads the sections in order.
pub struct Sections<'a> {
    map: &'a Arc<Mmap>,
    next: usize,
}

impl Sections<'_> {
    /// The next section as an array.
    pub fn flat<T: bytemuck::Pod>(&mut self) -> Result<Flat<T>, OpenError> {
        let wrong = || damaged("its table of sections is wrong");
        let number = |at| {
            number_at::<8>(self.map, at)
                .map(u64::from_le_bytes)
                .map(|number| number as usize)
        };
        let start = number(self.next).ok_or_else(wrong)?;
        let len = number(self.next + 8).ok_or_else(wrong)?;
        self.next += ENTRY_BYTES;
        let end = start.checked_add(len).ok_or_else(wrong)?;
        Flat::mapped(self.map, start..end).ok_or_else(wrong)
    }

    /// The next sections as texts.
    pub fn texts(&mut self) -> Result<Texts, OpenError> {
        let texts = Texts {
            ends: self.flat()?,
            bytes: self.flat()?,
        };
        let ascending = texts.ends.windows(2).all(|ends| ends[0] <= ends[1]);
        let whole = texts.ends.last() == Some(&(texts.bytes.len() as u64));
        let valid = simdutf8::basic::from_utf8(&texts.bytes).is_ok();
        if !(ascending && whole && valid) {
            return Err(damaged("its texts are not texts"));
        }
        Ok(texts)
    }
    /// The next section as the table over some texts.
    pub fn text_table(&mut self) -> Result<TextTable, OpenError> {
        Ok(TextTable {
            places: self.flat()?,
        })
    }

    /// The next sections as a roster.
    pub fn roster(&mut self) -> Result<Roster, OpenError> {
        Ok(Roster {
            class_starts: self.flat()?,
            class_handles: self.flat()?,
            handle_classes: self.flat()?,
            ids: self.texts()?,
            id_table: self.text_table()?,
            sources: self.texts()?,
        })
    }
}
