//! Functions from strings to strings, applied to complete strings.

use super::ast::StringFunction;

/// The white space of XML.
const WHITE_SPACE: [char; 4] = ['\u{20}', '\u{9}', '\u{D}', '\u{A}'];

/// The value of a function.
pub fn apply(function: &StringFunction, text: &str) -> String {
    match function {
        StringFunction::NormalizeSpace => {
            let words: Vec<&str> = text
                .split(WHITE_SPACE)
                .filter(|word| !word.is_empty())
                .collect();
            words.join(" ")
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
