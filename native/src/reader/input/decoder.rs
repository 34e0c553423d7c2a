//! Decodes documents into UTF-8 and records the original offset of each character.

use encoding_rs::DecoderResult;

use super::encoding::Encoding;
use super::offset_table::OffsetTable;

/// Decodes one document.
pub(super) enum Decoder {
    Utf16 {
        big_endian: bool,
    },
    /// A single-byte encoding: the text of each byte.
    SingleByte(Box<[EncodedCharacter; 256]>),
    /// A multi-byte encoding, possibly with state; and the number of bytes since the last character.
    MultiByte(Box<encoding_rs::Decoder>, usize),
}

/// A character in UTF-8 and its length; empty for a byte that the encoding does not have.
///
/// No single-byte encoding has characters of four bytes.
#[derive(Clone, Copy)]
pub(super) struct EncodedCharacter {
    bytes: [u8; 3],
    length: u8,
}

/// The bytes are invalid in the encoding.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Decoder {
    /// A decoder for an encoding other than UTF-8.
    pub(super) fn new(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Utf8 => unreachable!("UTF-8 is validated, not decoded"),
            Encoding::Utf16 { big_endian, .. } => Self::Utf16 { big_endian },
            Encoding::Ascii => {
                Self::SingleByte(byte_table(|byte| byte.is_ascii().then_some(byte as char)))
            }
            Encoding::Latin1 => Self::SingleByte(byte_table(|byte| Some(byte as char))),
            Encoding::Other { coder, iso } if coder.is_single_byte() => {
                Self::SingleByte(byte_table(|byte| {
                    if iso && (0x80..0xA0).contains(&byte) {
                        return Some(byte as char);
                    }
                    let bytes = [byte];
                    let text = coder.decode_without_bom_handling_and_without_replacement(&bytes)?;
                    text.chars().next()
                }))
            }
            Encoding::Other { coder, .. } => {
                Self::MultiByte(Box::new(coder.new_decoder_without_bom_handling()), 0)
            }
        }
    }

    /// Decodes `raw` and appends it to `text`; returns the number of bytes consumed. Unless `last`, an
    /// incomplete character at the end is not consumed. On failure, the text before the fault is
    /// appended.
    pub(super) fn decode(
        &mut self,
        raw: &[u8],
        last: bool,
        text: &mut Vec<u8>,
        offsets: &mut OffsetTable,
    ) -> Result<usize, Malformed> {
        match self {
            Self::Utf16 { big_endian } => utf16(raw, *big_endian, last, text, offsets),
            Self::SingleByte(table) => {
                single_byte(table, raw, text)?;
                Ok(raw.len())
            }
            Self::MultiByte(decoder, pending) => {
                multi_byte(decoder, pending, raw, last, text, offsets)
            }
        }
    }
}

fn byte_table(character: impl Fn(u8) -> Option<char>) -> Box<[EncodedCharacter; 256]> {
    Box::new(std::array::from_fn(|byte| {
        let mut bytes = [0; 3];
        let length = character(byte as u8).map_or(0, |it| it.encode_utf8(&mut bytes).len());
        EncodedCharacter {
            bytes,
            length: length as u8,
        }
    }))
}

#[inline]
fn push(character: char, original_width: usize, text: &mut Vec<u8>, offsets: &mut OffsetTable) {
    let mut buffer = [0; 4];
    let encoded = character.encode_utf8(&mut buffer).as_bytes();
    text.extend_from_slice(encoded);
    offsets.push(1, encoded.len(), original_width);
}

/// Bytes that are decoded into a buffer of fixed size at a time, so that no byte needs a reallocation.
const BYTES_AT_A_TIME: usize = 512;

/// Copies words of ASCII, which all single-byte encodings share, and looks up the bytes of all others.
fn single_byte(
    table: &[EncodedCharacter; 256],
    raw: &[u8],
    text: &mut Vec<u8>,
) -> Result<(), Malformed> {
    const WORD: usize = size_of::<u64>();
    const NOT_ASCII: u64 = 0x8080_8080_8080_8080;
    text.reserve(raw.len());
    let mut buffer = [0; 3 * BYTES_AT_A_TIME];
    for part in raw.chunks(BYTES_AT_A_TIME) {
        let mut end = 0;
        for word in part.chunks(WORD) {
            if let Ok(bytes) = <[u8; WORD]>::try_from(word) {
                if u64::from_ne_bytes(bytes) & NOT_ASCII == 0 {
                    buffer[end..end + WORD].copy_from_slice(&bytes);
                    end += WORD;
                    continue;
                }
            }
            for &byte in word {
                let character = table[usize::from(byte)];
                if character.length == 0 {
                    text.extend_from_slice(&buffer[..end]);
                    return Err(Malformed);
                }
                // Copies all three bytes: a copy of variable length would be a call.
                buffer[end..end + 3].copy_from_slice(&character.bytes);
                end += usize::from(character.length);
            }
        }
        text.extend_from_slice(&buffer[..end]);
    }
    Ok(())
}

fn utf16(
    raw: &[u8],
    big_endian: bool,
    last: bool,
    text: &mut Vec<u8>,
    offsets: &mut OffsetTable,
) -> Result<usize, Malformed> {
    let unit = |at: usize| {
        let pair: [u8; 2] = raw.get(at..at + 2)?.try_into().ok()?;
        Some(if big_endian {
            u16::from_be_bytes(pair)
        } else {
            u16::from_le_bytes(pair)
        })
    };
    let mut at = 0;
    while let Some(first) = unit(at) {
        let (character, width) = match (first, unit(at + 2)) {
            (0xD800..0xDC00, None) if !last => return Ok(at),
            (0xD800..0xDC00, Some(second @ 0xDC00..0xE000)) => {
                let value =
                    0x1_0000 + ((u32::from(first) - 0xD800) << 10) + (u32::from(second) - 0xDC00);
                (char::from_u32(value), 4)
            }
            // An unpaired surrogate is not a character.
            _ => (char::from_u32(u32::from(first)), 2),
        };
        push(character.ok_or(Malformed)?, width, text, offsets);
        at += width;
    }
    if last && at < raw.len() {
        return Err(Malformed);
    }
    Ok(at)
}

/// Decodes byte by byte, to know which bytes each character comes from.
fn multi_byte(
    decoder: &mut encoding_rs::Decoder,
    pending: &mut usize,
    raw: &[u8],
    last: bool,
    text: &mut Vec<u8>,
    offsets: &mut OffsetTable,
) -> Result<usize, Malformed> {
    let mut buffer = [0; 16];
    for at in 0..raw.len() {
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(&raw[at..=at], &mut buffer, false);
        if result != DecoderResult::InputEmpty || read != 1 {
            return Err(Malformed);
        }
        *pending += 1;
        if written > 0 {
            record(&buffer[..written], pending, text, offsets);
        }
    }
    if last {
        let (result, _, written) =
            decoder.decode_to_utf8_without_replacement(&[], &mut buffer, true);
        if result != DecoderResult::InputEmpty {
            return Err(Malformed);
        }
        record(&buffer[..written], pending, text, offsets);
    }
    Ok(raw.len())
}

/// Appends what `pending` bytes decoded to, which is usually one character. If there are several, the
/// last one came from the last byte. A shift between character sets belongs to the character after it.
fn record(decoded: &[u8], pending: &mut usize, text: &mut Vec<u8>, offsets: &mut OffsetTable) {
    text.extend_from_slice(decoded);
    let decoded = std::str::from_utf8(decoded).expect("encoding_rs decodes to UTF-8");
    let mut characters = decoded.chars().peekable();
    while let Some(character) = characters.next() {
        let width = if characters.peek().is_some() {
            *pending - 1
        } else {
            *pending
        };
        offsets.push(1, character.len_utf8(), width);
        *pending -= width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_single_byte_encoding_is_decoded() {
        let raw: Vec<u8> = (0..5).flat_map(|_| (0..=255).chain([b'a'; 43])).collect();
        let (mut text, mut offsets) = (Vec::new(), OffsetTable::default());
        let mut decoder = Decoder::new(Encoding::Latin1);
        assert_eq!(
            decoder.decode(&raw, true, &mut text, &mut offsets),
            Ok(raw.len())
        );
        let text = String::from_utf8(text).expect("UTF-8");
        let expected: String = raw.iter().map(|&byte| byte as char).collect();
        assert_eq!(text, expected);
        let mut decoder = Decoder::new(Encoding::Ascii);
        let mut text = Vec::new();
        let decoded = decoder.decode(b"ab\x80c", true, &mut text, &mut offsets);
        assert_eq!((decoded, &text[..]), (Err(Malformed), &b"ab"[..]));
    }
}
