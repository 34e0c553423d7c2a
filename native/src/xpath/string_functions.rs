//! Functions from strings to strings, applied to complete strings.

use super::ast::StringFunction;

/// The white space of XML.
const WHITE_SPACE: [char; 4] = ['\u{20}', '\u{9}', '\u{D}', '\u{A}'];

/// The value of a function.
pub fn apply(function: &StringFunction, text: &str) -> String {
    match function {
        StringFunction::NormalizeSpace => {
            let mut normal = String::with_capacity(text.len());
            SpaceNormalizer::default().feed(text, &mut normal, usize::MAX);
            normal
        }
        StringFunction::LowerCase => text.to_lowercase(),
        StringFunction::UpperCase => text.to_uppercase(),
        StringFunction::Translate(from, to) => {
            let replace = |character: char| match from.chars().position(|each| each == character) {
                Some(at) => to.chars().nth(at),
                None => Some(character),
            };
            text.chars().filter_map(replace).collect()
        }
    }
}

/// Normalizes the white space of a string that arrives in chunks.
#[derive(Clone, Debug, Default)]
pub struct SpaceNormalizer {
    /// Whether anything was output.
    started: bool,
    /// Whether a space is due before the next word.
    space_due: bool,
}

impl SpaceNormalizer {
    /// Appends what the next chunk becomes to `normal`. Stops before that has more than `bytes_max` bytes;
    /// returns whether there was room for all of it.
    pub fn feed(&mut self, chunk: &str, normal: &mut String, bytes_max: usize) -> bool {
        for (number, word) in chunk.split(WHITE_SPACE).enumerate() {
            self.space_due |= number > 0;
            if word.is_empty() {
                continue;
            }
            let has_space = self.started && self.space_due;
            if normal.len() + usize::from(has_space) + word.len() > bytes_max {
                return false;
            }
            if has_space {
                normal.push(' ');
            }
            (self.started, self.space_due) = (true, false);
            normal.push_str(word);
        }
        true
    }
}

/// Removes differences of case, character by character. If a text contains another one after
/// `lower-case()`, it does after folding both; only the forms of `σ` make a difference.
pub fn fold_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars()
        .flat_map(char::to_lowercase)
        .map(|each| if each == 'ς' { 'σ' } else { each })
        .collect()
}
