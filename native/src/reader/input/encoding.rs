//! Detection and labels of encodings.

use crate::reader::char_classes::is_space;
use crate::reader::error_codes;
use crate::reader::parse_error::{quote, refuse, ParseResult};

/// An encoding that the reader supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::reader) enum Encoding {
    Utf8,
    Utf16 {
        big_endian: bool,
        has_mark: bool,
    },
    Ascii,
    Latin1,
    /// Decoded by encoding_rs. If `iso`, the bytes 0x80 to 0x9F are control characters; encoding_rs uses
    /// a Windows encoding instead, which has letters there.
    Other {
        coder: &'static encoding_rs::Encoding,
        iso: bool,
    },
}

impl Encoding {
    /// A label that [`Encoding::for_label`] accepts.
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

    /// Whether each byte is a character; all such encodings extend ASCII.
    pub(in crate::reader) fn is_single_byte(self) -> bool {
        match self {
            Self::Ascii | Self::Latin1 => true,
            Self::Other { coder, .. } => coder.is_single_byte(),
            Self::Utf8 | Self::Utf16 { .. } => false,
        }
    }

    /// The encoding with this label.
    pub(in crate::reader) fn for_label(label: &str) -> Option<Self> {
        let utf16 = |big_endian| Self::Utf16 {
            big_endian,
            has_mark: false,
        };
        match label.to_ascii_lowercase().as_str() {
            "utf-16le" => Some(utf16(false)),
            "utf-16be" => Some(utf16(true)),
            _ => encoding_for(label),
        }
    }

    /// Checks that the declared label, if any, agrees with the encoding of the bytes.
    pub(in crate::reader) fn check_declared(self, label: Option<&str>) -> ParseResult<()> {
        let fits = match (self, label) {
            (Self::Utf8, None) => true,
            // Without a declaration and a byte order mark, the encoding is not specified.
            (Self::Utf16 { has_mark, .. }, None) => has_mark,
            (
                Self::Utf16 {
                    big_endian,
                    has_mark,
                },
                Some(label),
            ) => match label.to_ascii_lowercase().as_str() {
                "utf-16" | "iso-10646-ucs-2" => true,
                "utf-16le" => !big_endian || !has_mark,
                "utf-16be" => big_endian || !has_mark,
                _ => false,
            },
            (_, Some(label)) => encoding_for(label) == Some(self),
            (_, None) => false,
        };
        if fits {
            return Ok(());
        }
        let message = match label {
            Some(label) => format!(
                "the document declares the encoding {} but uses another",
                quote(label)
            ),
            None => "the document is in UTF-16 but does not declare it".to_owned(),
        };
        refuse(error_codes::ENCODING_MISMATCH, 0, message)
    }
}

/// The encoding with this label, except UTF-16, if the reader can decode it exactly.
fn encoding_for(label: &str) -> Option<Encoding> {
    let label = label.to_ascii_lowercase();
    Some(match label.as_str() {
        "utf-8" | "utf8" => Encoding::Utf8,
        "us-ascii" | "ascii" | "ansi_x3.4-1968" | "iso646-us" | "iso-ir-6" => Encoding::Ascii,
        "iso-8859-1" | "iso_8859-1" | "latin1" | "l1" | "iso-ir-100" | "ibm819" | "cp819" => {
            Encoding::Latin1
        }
        // encoding_rs decodes these two as Windows encodings with letters in 0x80 to 0x9F.
        "iso-8859-9" | "iso_8859-9" | "latin5" => other("windows-1254", true)?,
        "iso-8859-11" => other("windows-874", true)?,
        "windows-1252" | "cp1252" | "windows-1254" | "cp1254" | "windows-874" => {
            other(&label, false)?
        }
        _ => match encoding_rs::Encoding::for_label(label.as_bytes())? {
            // encoding_rs maps other labels to these encodings although they mean different ones.
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

/// The number of bytes that suffices to detect the encoding.
pub(super) const HEAD_BYTES: usize = 1024;

/// Whether `head` suffices to detect the encoding.
pub(super) fn is_sufficient(head: &[u8]) -> bool {
    head.len() >= HEAD_BYTES
        || (head.len() >= 6 && (!head.starts_with(b"<?xml") || head.contains(&b'>')))
}

/// The encoding of a document that starts with `head`, and the length of its byte order mark.
pub(super) fn detect(head: &[u8]) -> ParseResult<(Encoding, usize)> {
    let utf16 = |big_endian, has_mark| Encoding::Utf16 {
        big_endian,
        has_mark,
    };
    match head {
        [0, 0, 0xFE, 0xFF, ..]
        | [0xFF, 0xFE, 0, 0, ..]
        | [0, 0, 0, b'<', ..]
        | [b'<', 0, 0, 0, ..] => refuse(
            error_codes::ENCODING_UNKNOWN,
            0,
            "the document is in UTF-32, which is not supported",
        ),
        [0x4C, 0x6F, 0xA7, 0x94, ..] => refuse(
            error_codes::ENCODING_UNKNOWN,
            0,
            "the document is in EBCDIC, which is not supported",
        ),
        [0xEF, 0xBB, 0xBF, ..] => Ok((Encoding::Utf8, 3)),
        [0xFE, 0xFF, ..] => Ok((utf16(true, true), 2)),
        [0xFF, 0xFE, ..] => Ok((utf16(false, true), 2)),
        [0, b'<', 0, b'?', ..] => Ok((utf16(true, false), 0)),
        [b'<', 0, b'?', 0, ..] => Ok((utf16(false, false), 0)),
        _ => match declared(head) {
            None => Ok((Encoding::Utf8, 0)),
            Some(label) => match encoding_for(label) {
                Some(encoding) => Ok((encoding, 0)),
                // The label is wrong, since its own characters take one byte each.
                None if label.to_ascii_lowercase().starts_with("utf-16") => Ok((Encoding::Utf8, 0)),
                None => {
                    let message = format!("the encoding {} is not known", quote(label));
                    refuse(error_codes::ENCODING_UNKNOWN, 0, message)
                }
            },
        },
    }
}

/// The label in an XML declaration in ASCII. The declaration is parsed strictly after decoding.
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
    fn labels_map_to_exact_encodings() {
        assert_eq!(encoding_for("ISO-8859-1"), Some(Encoding::Latin1));
        assert_eq!(encoding_for("us-ascii"), Some(Encoding::Ascii));
        assert!(matches!(
            encoding_for("ISO-8859-9"),
            Some(Encoding::Other { iso: true, .. })
        ));
        assert!(matches!(
            encoding_for("windows-1254"),
            Some(Encoding::Other { iso: false, .. })
        ));
        assert!(matches!(
            encoding_for("Shift_JIS"),
            Some(Encoding::Other { iso: false, .. })
        ));
        // Labels that encoding_rs maps to another encoding or to a replacement.
        for label in [
            "tis-620",
            "x-user-defined",
            "hz-gb-2312",
            "iso-2022-kr",
            "csisolatin1",
            "unicode-1-1-utf-8",
            "nonsense",
        ] {
            assert_eq!(encoding_for(label), None, "{label}");
        }
    }

    #[test]
    fn the_first_bytes_determine_the_encoding() {
        let utf16 = |big_endian, has_mark| Encoding::Utf16 {
            big_endian,
            has_mark,
        };
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
