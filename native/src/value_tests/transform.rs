//! String functions on a value that arrives in chunks.

use super::{StringValueWatcher, ValueTest};
use crate::xpath::ast::StringFunction;
use crate::xpath::string_functions::apply;

use std::collections::HashMap;

/// A string function, prepared for values that arrive in chunks.
#[derive(Clone, Debug)]
pub enum Transform {
    NormalizeSpace,
    LowerCase,
    UpperCase,
    /// What each character of the first string becomes; `None` removes it.
    Translate(HashMap<char, Option<char>>),
}

impl Transform {
    pub fn new(function: &StringFunction) -> Self {
        match function {
            StringFunction::NormalizeSpace => Self::NormalizeSpace,
            StringFunction::LowerCase => Self::LowerCase,
            StringFunction::UpperCase => Self::UpperCase,
            StringFunction::Translate(from, to) => {
                let mut replacements = HashMap::new();
                let mut to = to.chars();
                for character in from.chars() {
                    let replacement = to.next();
                    replacements.entry(character).or_insert(replacement);
                }
                Self::Translate(replacements)
            }
        }
    }

    /// The transform of a complete value.
    pub fn apply(&self, value: &str) -> String {
        match self {
            Self::NormalizeSpace => apply(&StringFunction::NormalizeSpace, value),
            Self::LowerCase => apply(&StringFunction::LowerCase, value),
            Self::UpperCase => apply(&StringFunction::UpperCase, value),
            Self::Translate(replacements) => translate(replacements, value),
        }
    }
}

fn translate(replacements: &HashMap<char, Option<char>>, text: &str) -> String {
    text.chars()
        .filter_map(|each| replacements.get(&each).copied().unwrap_or(Some(each)))
        .collect()
}

/// The state of a test of a transformed value while the value arrives.
///
/// Only one transform looks ahead: `Σ` at the end of a word becomes `ς` in lower case, and `σ` elsewhere.
/// While that is undecided, both cases are tested, so that nothing is stored.
#[derive(Clone, Debug)]
pub struct TransformedWatcher {
    /// For white space: whether anything was output, and whether a space is due before the next word.
    /// For lower case: whether the last significant character has a case.
    started: bool,
    space_due: bool,
    inner: StringValueWatcher,
    /// The test in case that the last `Σ` ends a word, while this is undecided.
    at_word_end: Option<StringValueWatcher>,
}

impl TransformedWatcher {
    pub fn new(test: &ValueTest) -> Self {
        Self {
            started: false,
            space_due: false,
            inner: StringValueWatcher::new(test),
            at_word_end: None,
        }
    }

    /// The decision, if there is one.
    pub fn decided(&self) -> Option<bool> {
        match (&self.inner, &self.at_word_end) {
            (StringValueWatcher::Decided(holds), None) => Some(*holds),
            _ => None,
        }
    }

    /// Adds the next chunk of the value; `test` is the test of the transformed value.
    pub fn feed(&mut self, transform: &Transform, test: &ValueTest, chunk: &str) {
        match transform {
            Transform::NormalizeSpace => {
                let normal = self.normalize_space(chunk);
                self.inner.feed(test, &normal);
            }
            Transform::UpperCase => {
                self.inner.feed(test, &chunk.to_uppercase());
            }
            Transform::Translate(replacements) => {
                self.inner.feed(test, &translate(replacements, chunk));
            }
            Transform::LowerCase => {
                let mut segments = chunk.split('Σ');
                let first = segments.next().unwrap_or_default();
                self.lower_case(test, first);
                for segment in segments {
                    self.lower_sigma(test);
                    self.lower_case(test, segment);
                }
            }
        }
    }

    pub fn finish(&self, test: &ValueTest) -> bool {
        self.at_word_end
            .as_ref()
            .unwrap_or(&self.inner)
            .finish(test)
    }

    fn normalize_space(&mut self, chunk: &str) -> String {
        let mut normal = String::with_capacity(chunk.len());
        for (number, word) in chunk.split([' ', '\t', '\r', '\n']).enumerate() {
            self.space_due |= number > 0;
            if word.is_empty() {
                continue;
            }
            if self.started && self.space_due {
                normal.push(' ');
            }
            (self.started, self.space_due) = (true, false);
            normal.push_str(word);
        }
        normal
    }

    /// Adds a text without `Σ`.
    fn lower_case(&mut self, test: &ValueTest, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(at_word_end) = &mut self.at_word_end {
            match text.chars().find_map(significance) {
                None => {
                    at_word_end.feed(test, &text.to_lowercase());
                }
                Some(Significance::Cased) => self.at_word_end = None,
                Some(Significance::Uncased) => {
                    self.inner = self.at_word_end.take().expect("just tested");
                }
            }
        }
        self.inner.feed(test, &text.to_lowercase());
        if let Some(last) = text.chars().rev().find_map(significance) {
            self.started = last == Significance::Cased;
        }
    }

    fn lower_sigma(&mut self, test: &ValueTest) {
        // A letter follows the last one.
        self.at_word_end = None;
        if self.started {
            let mut at_word_end = self.inner.clone();
            at_word_end.feed(test, "ς");
            self.at_word_end = Some(at_word_end);
        }
        self.inner.feed(test, "σ");
        self.started = true;
    }
}

/// What a character means for a `Σ` beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Significance {
    Cased,
    Uncased,
}

/// What a character means for a `Σ` beside it; `None` if Unicode ignores it (`Case_Ignorable`).
fn significance(character: char) -> Option<Significance> {
    if character.is_ascii() {
        return match character {
            '\'' | '.' | ':' | '^' | '`' => None,
            'a'..='z' | 'A'..='Z' => Some(Significance::Cased),
            _ => Some(Significance::Uncased),
        };
    }
    // The standard library does not export the property, but it uses it.
    let is_inner = |text: String| text.to_lowercase().starts_with("aσ");
    if is_inner(format!("aΣ{character}")) {
        Some(Significance::Cased)
    } else if is_inner(format!("aΣ{character}a")) {
        None
    } else {
        Some(Significance::Uncased)
    }
}
