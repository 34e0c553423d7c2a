//! Lexical rules for names, numbers and white space.

const START: u8 = 1;
const CONTINUE: u8 = 2;

/// Whether an ASCII byte can start or continue a name.
const ASCII: [u8; 128] = {
    let mut classes = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => START | CONTINUE,
            b'0'..=b'9' | b'-' | b'.' => CONTINUE,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// The end of the name without a colon that starts at `at`; `at` if there is none.
pub(super) fn ncname_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = at;
    let mut class = START;
    while let Some(&byte) = bytes.get(end) {
        if byte < 0x80 {
            if ASCII[byte as usize] & class == 0 {
                break;
            }
            end += 1;
        } else {
            let character = text[end..].chars().next().expect("not at the end");
            let fits =
                is_name_start(character) || (class == CONTINUE && is_name_continue(character));
            if !fits {
                break;
            }
            end += character.len_utf8();
        }
        class = CONTINUE;
    }
    end
}

/// Whether `text` is a name without a colon.
pub(super) fn is_ncname(text: &str) -> bool {
    !text.is_empty() && ncname_end(text, 0) == text.len()
}

// XML 1.0, fifth edition, productions 4 and 4a, beyond ASCII.
fn is_name_start(character: char) -> bool {
    matches!(character,
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}'
        | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}'
        | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

fn is_name_continue(character: char) -> bool {
    matches!(character, '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// The end of the white space that starts at `at`.
pub(super) fn space_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = at;
    while matches!(bytes.get(end), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        end += 1;
    }
    end
}

/// The end of the number without sign and exponent that starts at `at`; `at` if there is none.
pub(super) fn number_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let digits_end = |from: usize| {
        let digits = bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        from + digits.count()
    };
    let integer_end = digits_end(at);
    if bytes.get(integer_end) != Some(&b'.') {
        return integer_end;
    }
    let fraction_end = digits_end(integer_end + 1);
    // A point alone is not a number.
    if integer_end == at && fraction_end == integer_end + 1 {
        at
    } else {
        fraction_end
    }
}

/// The first character that XML does not allow, with its offset.
pub(super) fn find_forbidden(text: &str) -> Option<(usize, char)> {
    // Only control characters and two non-characters (EF BF BE, EF BF BF) are candidates.
    let suspect = |byte: u8| (byte < 0x20 && !matches!(byte, 9 | 10 | 13)) || byte == 0xef;
    if !text.bytes().any(suspect) {
        return None;
    }
    text.char_indices().find(|&(_, character)| {
        (character < ' ' && !matches!(character, '\t' | '\n' | '\r'))
            || matches!(character, '\u{fffe}' | '\u{ffff}')
    })
}
