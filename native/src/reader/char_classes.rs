//! Character classes of XML 1.0, fifth edition.

/// Whether `c` is allowed in a document (production `Char`).
pub(crate) fn is_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

/// White space (production `S`), as a byte.
#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_name_start(c: char) -> bool {
    matches!(c, ':' | '_' | 'A'..='Z' | 'a'..='z'
        | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}' | '\u{370}'..='\u{37D}'
        | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}'
        | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}'
        | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

/// Whether `c` is allowed in a name (production `NameChar`).
pub(crate) fn is_name_char(c: char) -> bool {
    is_name_start(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{B7}'
            | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

/// Whether `text` is a name (production `Name`).
pub(crate) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(is_name_start) && chars.all(is_name_char)
}

/// The number of bytes at the start of `text` that are name characters.
pub(super) fn name_len(text: &str) -> usize {
    text.char_indices()
        .find(|&(_, c)| !is_name_char(c))
        .map_or(text.len(), |(i, _)| i)
}

/// The character that a reference with the body `#123` or `#x1F` stands for.
pub(super) fn referenced_char(body: &str) -> Option<char> {
    let digits = body.strip_prefix('#')?;
    let (digits, radix) = match digits.strip_prefix('x') {
        Some(hex) => (hex, 16),
        None => (digits, 10),
    };
    // `from_str_radix` would accept a sign.
    if digits.is_empty() || !digits.bytes().all(|b| (b as char).is_digit(radix)) {
        return None;
    }
    char::from_u32(u32::from_str_radix(digits, radix).ok()?).filter(|&c| is_char(c))
}

/// The largest character boundary in `text` that is not greater than `at`.
pub(super) fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut start = at.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    start
}

/// Offset of the first character of `text` that XML does not allow.
///
/// A vectorised pass over each block finds suspicious bytes; only then is the exact position searched.
pub(super) fn find_forbidden(text: &str) -> Option<usize> {
    const BLOCK: usize = 256;
    let bytes = text.as_bytes();
    for (number, block) in bytes.chunks(BLOCK).enumerate() {
        let mut suspect = 0_u8;
        for &byte in block {
            // U+FFFE and U+FFFF start with 0xEF, and so do allowed characters.
            let control = byte < 0x20 && byte != b'\t' && byte != b'\n' && byte != b'\r';
            suspect |= u8::from(control) | u8::from(byte == 0xEF);
        }
        if suspect != 0 {
            let start = number * BLOCK;
            for (i, &byte) in block.iter().enumerate() {
                let at = start + i;
                let control = byte < 0x20 && !is_space(byte);
                if control || (byte == 0xEF && matches!(bytes[at + 1..at + 3], [0xBF, 0xBE | 0xBF]))
                {
                    return Some(at);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_characters_are_found_at_their_offset() {
        for bad in ['\0', '\u{B}', '\u{1F}', '\u{FFFE}', '\u{FFFF}'] {
            for before in [0, 1, 254, 255, 256, 257, 600] {
                let text = format!("{}{bad}\u{1}", "x".repeat(before));
                assert_eq!(
                    find_forbidden(&text),
                    Some(before),
                    "{bad:?} after {before}"
                );
            }
        }
        assert_eq!(
            find_forbidden("\t\n\r \u{7F}\u{85}\u{FFFD}\u{F000}\u{10FFFF}"),
            None
        );
    }

    #[test]
    fn character_references_consist_of_digits() {
        assert_eq!(referenced_char("#65"), Some('A'));
        assert_eq!(referenced_char("#x1F600"), Some('\u{1F600}'));
        for bad in [
            "#",
            "#x",
            "#+65",
            "#X41",
            "#0",
            "#xD800",
            "#xFFFE",
            "#x110000",
            "#99999999999",
            "65",
        ] {
            assert_eq!(referenced_char(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_follow_the_fifth_edition() {
        for good in ["a", "_", ":", "a-b.c7", "é", "\u{10000}"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "-a", "7", "a b", "\u{D7}", "\u{F0000}"] {
            assert!(!is_name(bad), "{bad}");
        }
        assert_eq!(name_len("ab=c"), 2);
    }
}
