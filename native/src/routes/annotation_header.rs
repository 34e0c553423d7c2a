//! The binary header that carries annotations; `penstock.routing.annotation_header` has its layout and
//! is the reference.
//!
//! A header begins with what it attests and with the digest of an announced set. Sections follow: a
//! number (one byte), a size (four bytes, little-endian) and the content. It ends with a CRC-32.

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest};

/// A header that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// It is larger than permitted.
    TooLarge,
    /// It states something about another document, under other limits or in another version.
    OtherDocument,
    /// It refers to another announced set.
    OtherSet,
    /// The checksum is wrong.
    Damaged,
    /// A section is truncated or repeated.
    Section,
}

impl HeaderError {
    /// The message.
    pub fn message(self) -> &'static str {
        match self {
            HeaderError::TooLarge => "the header is too large",
            HeaderError::OtherDocument => {
                "the header is that of another version, document or limits"
            }
            HeaderError::OtherSet => "the header refers to another announced set",
            HeaderError::Damaged => "the header is damaged",
            HeaderError::Section => "a section is truncated or repeated",
        }
    }
}

/// What a header attests about a document to any receiver: the version, the digest of the
/// document's identity (BLAKE2b, 16 bytes), its size and the digest of the limits of reading.
pub fn attestation(version: u8, identity: &[u8], content_bytes: u64, limits: &[u8]) -> Vec<u8> {
    let digest = Blake2b::<U16>::digest(identity);
    let mut attested = Vec::with_capacity(1 + digest.len() + 8 + limits.len());
    attested.push(version);
    attested.extend_from_slice(&digest);
    attested.extend_from_slice(&content_bytes.to_le_bytes());
    attested.extend_from_slice(limits);
    attested
}

const CHECKSUM_BYTES: usize = 4;
const SECTION_BYTES: usize = 5;

/// The number and the content of a section.
pub type Section<'a> = (u8, &'a [u8]);

/// The header of a document for one receiver.
pub fn encode(attested: &[u8], announced: &[u8], sections: &[Section<'_>]) -> Vec<u8> {
    let payload: usize = sections
        .iter()
        .map(|each| SECTION_BYTES + each.1.len())
        .sum();
    let size = attested.len() + announced.len() + payload + CHECKSUM_BYTES;
    let mut header = Vec::with_capacity(size);
    header.extend_from_slice(attested);
    header.extend_from_slice(announced);
    for (number, content) in sections {
        header.push(*number);
        header.extend_from_slice(&(content.len() as u32).to_le_bytes());
        header.extend_from_slice(content);
    }
    let checksum = crc32fast::hash(&header);
    header.extend_from_slice(&checksum.to_le_bytes());
    header
}

/// The sections of a header that applies to this document, these limits and this set.
pub fn decode<'a>(
    header: &'a [u8],
    attested: &[u8],
    announced: &[u8],
    bytes_max: usize,
) -> Result<Vec<Section<'a>>, HeaderError> {
    if header.len() > bytes_max {
        return Err(HeaderError::TooLarge);
    }
    let rest = header
        .strip_prefix(attested)
        .ok_or(HeaderError::OtherDocument)?;
    let rest = rest.strip_prefix(announced).ok_or(HeaderError::OtherSet)?;
    let (mut rest, checksum) = rest.split_last_chunk().ok_or(HeaderError::Damaged)?;
    let stated = &header[..header.len() - CHECKSUM_BYTES];
    if crc32fast::hash(stated) != u32::from_le_bytes(*checksum) {
        return Err(HeaderError::Damaged);
    }
    let mut sections: Vec<Section<'a>> = Vec::new();
    while !rest.is_empty() {
        let (&[number, size @ ..], after) = rest
            .split_first_chunk::<SECTION_BYTES>()
            .ok_or(HeaderError::Section)?;
        let size = u32::from_le_bytes(size) as usize;
        let (content, after) = after.split_at_checked(size).ok_or(HeaderError::Section)?;
        if sections.iter().any(|section| section.0 == number) {
            return Err(HeaderError::Section);
        }
        sections.push((number, content));
        rest = after;
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_inverts_encoding() {
        let sections: [Section<'_>; 3] = [(1, b"list"), (200, b""), (3, b"x")];
        let header = encode(b"attested", b"set", &sections);
        let decoded = decode(&header, b"attested", b"set", 100);
        assert_eq!(decoded.as_deref(), Ok(&sections[..]));
        assert_eq!(
            decode(&header, b"attested", b"set", 8),
            Err(HeaderError::TooLarge)
        );
        assert_eq!(
            decode(&header, b"another!", b"set", 100),
            Err(HeaderError::OtherDocument)
        );
        assert_eq!(
            decode(&header, b"attested", b"two", 100),
            Err(HeaderError::OtherSet)
        );
    }

    #[test]
    fn truncated_and_damaged_headers_are_refused() {
        let header = encode(b"attested", b"set", &[(1, b"list")]);
        for end in 0..header.len() {
            assert!(decode(&header[..end], b"attested", b"set", 100).is_err());
        }
        for at in 0..header.len() {
            let mut damaged = header.clone();
            damaged[at] ^= 0x20;
            assert!(decode(&damaged, b"attested", b"set", 100).is_err());
        }
    }

    #[test]
    fn sections_are_whole_and_distinct() {
        let repeated = encode(b"a", b"s", &[(1, b"x"), (1, b"y")]);
        assert_eq!(
            decode(&repeated, b"a", b"s", 100),
            Err(HeaderError::Section)
        );
        for body in [&b"\x01"[..], b"\x01\x09\x00\x00\x00abc"] {
            let truncated = encode(b"a", &[b"s", body].concat(), &[]);
            assert_eq!(
                decode(&truncated, b"a", b"s", 100),
                Err(HeaderError::Section)
            );
        }
    }
}
