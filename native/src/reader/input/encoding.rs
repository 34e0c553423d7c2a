//! Which encoding a document is in, and which names encodings have.

use crate::reader::char_classes::is_space;
use crate::reader::error_codes;
use crate::reader::parse_error::{refuse, shown, ParseResult};

/// An encoding that the reader decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::reader) enum Encoding {
    Utf8,
    Utf16 {
        big_endian: bool,
        marked: bool,
    },
    /// The first 128 characters.
    Ascii,
    /// The first 256 characters.
    Latin1,
    /// By encoding_rs; where `iso`, the bytes 0x80 to 0x9F are control characters, which the
    /// encodings of Windows that encoding_rs uses in their stead put letters in.
    Other {
        coder: &'static encoding_rs::Encoding,
        iso: bool,
    },
}

impl Encoding {
    /// A name for it, which [`Encoding::for_label`] knows.
    pub(in crate::reader) fn label(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 {
                big_endian: false, ..
            } => "utf-16le",
            Self::Utf16 {
                big_endian: true, ..
            } => "utf-16be",
            Self::Ascii => "us-ascii",
            Self::Latin1 => "iso-8859-1",
            Self::Other { coder, iso: true } if coder == encoding_rs::WINDOWS_1254 => "iso-8859-9",
            Self::Other { iso: true, .. } => "iso-8859-11",
            Self::Other { coder, .. } => coder.name(),
        }
    }

    /// The encoding called `label`.
    pub(in crate::reader) fn for_label(label: &str) -> Option<Self> {
        let utf16 = |big_endian| Self::Utf16 {
            big_endian,
            marked: false,
        };
        match label.to_ascii_lowercase().as_str() {
            "utf-16le" => Some(utf16(false)),
            "utf-16be" => Some(utf16(true)),
            _ => named(label),
        }
    }

    /// Checks that a declaration of `label`, or the lack of one, fits the bytes.
    pub(in crate::reader) fn check_declared(self, label: Option<&str>) -> ParseResult<()> {
        let fits = match (self, label) {
            (Self::Utf8, None) => true,
            // Without declaration or mark there would be nothing to tell the encoding by.
            (Self::Utf16 { marked, .. }, None) => marked,
            (Self::Utf16 { big_endian, marked }, Some(label)) => {
                match label.to_ascii_lowercase().as_str() {
                    "utf-16" | "iso-10646-ucs-2" => true,
                    "utf-16le" => !big_endian || !marked,
                    "utf-16be" => big_endian || !marked,
                    _ => false,
                }
            }
            (_, Some(label)) => named(label) == Some(self),
            (_, None) => false,
        };
        if fits {
            return Ok(());
        }
        let message = match label {
            Some(label) => format!(
                "the document declares the encoding {} and is in another",
                shown(label)
            ),
            None => "the document is in UTF-16 without saying so".to_owned(),
        };
        refuse(error_codes::ENCODING_MISMATCH, 0, message)
    }
}

/// The encoding called `label`, UTF-16 apart, if the reader can decode it exactly.
fn named(label: &str) -> Option<Encoding> {
    let label = label.to_ascii_lowercase();
    Some(match label.as_str() {
        "utf-8" | "utf8" => Encoding::Utf8,
        "us-ascii" | "ascii" | "ansi_x3.4-1968" | "iso646-us" | "iso-ir-6" => Encoding::Ascii,
        "iso-8859-1" | "iso_8859-1" | "latin1" | "l1" | "iso-ir-100" | "ibm819" | "cp819" => {
            Encoding::Latin1
        }
        // encoding_rs reads these two as encodings of Windows that have letters in 0x80 to 0x9F.
        "iso-8859-9" | "iso_8859-9" | "latin5" => other("windows-1254", true)?,
        "iso-8859-11" => other("windows-874", true)?,
        "windows-1252" | "cp1252" | "windows-1254" | "cp1254" | "windows-874" => {
            other(&label, false)?
        }
        _ => match encoding_rs::Encoding::for_label(label.as_bytes())? {
            // Any other label of these is one that encoding_rs folds into what it does not mean.
            coder
                if [
                    encoding_rs::WINDOWS_1252,
                    encoding_rs::WINDOWS_1254,
                    encoding_rs::WINDOWS_874,
                ]
                .contains(&coder) =>
            {
                return None;
            }
            coder
                if [
                    encoding_rs::UTF_8,
                    encoding_rs::UTF_16LE,
                    encoding_rs::UTF_16BE,
                ]
                .contains(&coder) =>
            {
                return None;
            }
            coder if coder == encoding_rs::REPLACEMENT || coder == encoding_rs::X_USER_DEFINED => {
                return None
            }
            coder => Encoding::Other { coder, iso: false },
        },
    })
}

fn other(label: &str, iso: bool) -> Option<Encoding> {
    Some(Encoding::Other {
        coder: encoding_rs::Encoding::for_label(label.as_bytes())?,
        iso,
    })
}

/// How many bytes are enough to tell the encoding by.
pub(super) const HEAD_BYTES: usize = 1024;

/// Whether `head` is enough to tell the encoding by.
pub(super) fn is_enough(head: &[u8]) -> bool {
    head.len() >= HEAD_BYTES
        || (head.len() >= 6 && (!head.starts_with(b"<?xml") || head.contains(&b'>')))
}

/// The encoding of a document that begins with `head`, and how long its byte order mark is.
pub(super) fn detect(head: &[u8]) -> ParseResult<(Encoding, usize)> {
    let utf16 = |big_endian, marked| Encoding::Utf16 { big_endian, marked };
    match head {
        [0, 0, 0xFE, 0xFF, ..]
        | [0xFF, 0xFE, 0, 0, ..]
        | [0, 0, 0, b'<', ..]
        | [b'<', 0, 0, 0, ..] => refuse(
            error_codes::ENCODING_UNKNOWN,
            0,
            "the document is in UTF-32, which the reader does not decode",
        ),
        [0x4C, 0x6F, 0xA7, 0x94, ..] => refuse(
            error_codes::ENCODING_UNKNOWN,
            0,
            "the document is in EBCDIC, which the reader does not decode",
        ),
        [0xEF, 0xBB, 0xBF, ..] => Ok((Encoding::Utf8, 3)),
        [0xFE, 0xFF, ..] => Ok((utf16(true, true), 2)),
        [0xFF, 0xFE, ..] => Ok((utf16(false, true), 2)),
        [0, b'<', 0, b'?', ..] => Ok((utf16(true, false), 0)),
        [b'<', 0, b'?', 0, ..] => Ok((utf16(false, false), 0)),
        _ => match declared(head) {
            None => Ok((Encoding::Utf8, 0)),
            Some(label) => match named(label) {
                Some(encoding) => Ok((encoding, 0)),
                // It cannot be: these very letters are in one byte each.
                None if label.to_ascii_lowercase().starts_with("utf-16") => Ok((Encoding::Utf8, 0)),
                None => {
                    let message = format!("the encoding {} is not known", shown(label));
                    refuse(error_codes::ENCODING_UNKNOWN, 0, message)
                }
            },
        },
    }
}

/// What a declaration in ASCII declares. It is read again, strictly, once decoded.
fn declared(head: &[u8]) -> Option<&str> {
    let rest = head.strip_prefix(b"<?xml")?;
    let rest = &rest[..memchr::memchr(b'>', rest)?];
    let after = memchr::memmem::find(rest, b"encoding")? + "encoding".len();
    let rest = rest[after..].trim_ascii_start().strip_prefix(b"=")?;
    let rest = rest.trim_ascii_start();
    let quote = *rest.first().filter(|&&b| b == b'"' || b == b'\'')?;
    let label = &rest[1..];
    let label = &label[..memchr::memchr(quote, label)?];
    std::str::from_utf8(label)
        .ok()
        .filter(|label| !label.is_empty() && !label.bytes().any(is_space))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_mean_what_they_say() {
        assert_eq!(named("ISO-8859-1"), Some(Encoding::Latin1));
        assert_eq!(named("us-ascii"), Some(Encoding::Ascii));
        assert!(matches!(
            named("ISO-8859-9"),
            Some(Encoding::Other { iso: true, .. })
        ));
        assert!(matches!(
            named("windows-1254"),
            Some(Encoding::Other { iso: false, .. })
        ));
        assert!(matches!(
            named("Shift_JIS"),
            Some(Encoding::Other { iso: false, .. })
        ));
        // Labels that encoding_rs folds into something else, or that decode to nothing.
        for label in [
            "tis-620",
            "x-user-defined",
            "hz-gb-2312",
            "iso-2022-kr",
            "csisolatin1",
            "unicode-1-1-utf-8",
            "nonsense",
        ] {
            assert_eq!(named(label), None, "{label}");
        }
    }

    #[test]
    fn the_head_tells_the_encoding() {
        let utf16 = |big_endian, marked| Encoding::Utf16 { big_endian, marked };
        for (head, expected) in [
            (&b"<a/>"[..], (Encoding::Utf8, 0)),
            (b"\xEF\xBB\xBF<a/>", (Encoding::Utf8, 3)),
            (b"\xFF\xFE<\0", (utf16(false, true), 2)),
            (b"\xFE\xFF\0<", (utf16(true, true), 2)),
            (b"\0<\0?\0x", (utf16(true, false), 0)),
            (
                b"<?xml version='1.0' encoding = 'ISO-8859-1'?>",
                (Encoding::Latin1, 0),
            ),
            (b"", (Encoding::Utf8, 0)),
        ] {
            assert_eq!(detect(head).unwrap(), expected, "{head:?}");
        }
        assert!(detect(b"\0\0\0<").is_err());
        assert!(detect(b"<?xml version='1.0' encoding='klingon'?>").is_err());
    }
}
