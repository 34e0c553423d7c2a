//! String functions on a value that arrives in chunks.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::{StringValueWatcher, ValueTest, STEPS_PER_TRANSFORM, STEPS_PER_TRANSFORMED_BYTE};
use crate::xpath::ast::StringFunction;
use crate::xpath::string_functions::{apply, SpaceNormalizer};

/// Steps to find out what a character beyond ASCII means for a `Σ` beside it.
const STEPS_PER_SIGNIFICANCE: usize = 256;

/// Copying the state of a test takes at most this many times as long as feeding it a character.
const STEPS_PER_COPY: usize = 4;

type Replacements = HashMap<char, Option<char>, RandomState>;

/// A string function, prepared for values that arrive in chunks.
#[derive(Clone, Debug)]
pub enum Transform {
    NormalizeSpace,
    LowerCase,
    UpperCase,
    /// What each character of the first string becomes; `None` removes it.
    Translate(Replacements),
}

impl Transform {
    pub fn new(function: &StringFunction) -> Self {
        match function {
            StringFunction::NormalizeSpace => Self::NormalizeSpace,
            StringFunction::LowerCase => Self::LowerCase,
            StringFunction::UpperCase => Self::UpperCase,
            StringFunction::Translate(from, to) => {
                let mut replacements = Replacements::default();
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

fn translate(replacements: &Replacements, text: &str) -> String {
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
    /// For white space.
    spaces: SpaceNormalizer,
    /// For lower case: whether the last significant character has a case.
    follows_cased: bool,
    inner: StringValueWatcher,
    /// The test in case that the last `Σ` ends a word, while this is undecided.
    at_word_end: Option<StringValueWatcher>,
}

impl TransformedWatcher {
    pub fn new(test: &ValueTest) -> Self {
        Self {
            spaces: SpaceNormalizer::default(),
            follows_cased: false,
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

    /// Adds the next chunk of the value; `test` is the test of the transformed value. Returns the steps
    /// it took.
    pub fn feed(&mut self, transform: &Transform, test: &ValueTest, chunk: &str) -> usize {
        let steps = match transform {
            Transform::NormalizeSpace => {
                let mut normal = String::with_capacity(chunk.len() + 1);
                self.spaces.feed(chunk, &mut normal, usize::MAX);
                self.inner.feed(test, &normal)
            }
            Transform::UpperCase => self.inner.feed(test, &chunk.to_uppercase()),
            Transform::Translate(replacements) => {
                self.inner.feed(test, &translate(replacements, chunk))
            }
            Transform::LowerCase => {
                let mut segments = chunk.split('Σ');
                let first = segments.next().unwrap_or_default();
                let mut steps = self.lower_case(test, first);
                for segment in segments {
                    steps += self.lower_sigma(test);
                    steps += self.lower_case(test, segment);
                }
                steps
            }
        };
        steps + STEPS_PER_TRANSFORM + chunk.len() * STEPS_PER_TRANSFORMED_BYTE
    }

    /// Whether the test holds for the chunks so far, taken as the complete value. Adds the steps it takes
    /// to `steps`.
    pub fn finish(&self, test: &ValueTest, steps: &mut usize) -> bool {
        let inner = self.at_word_end.as_ref().unwrap_or(&self.inner);
        inner.finish(test, steps)
    }

    /// Adds a text without `Σ`. Returns the steps it took.
    fn lower_case(&mut self, test: &ValueTest, text: &str) -> usize {
        if text.is_empty() {
            return 0;
        }
        let mut steps = STEPS_PER_TRANSFORM;
        let mut significance = |character: char| {
            if !character.is_ascii() {
                steps += STEPS_PER_SIGNIFICANCE;
            }
            significance(character)
        };
        let last = text.chars().rev().find_map(&mut significance);
        let mut fed = 0;
        if let Some(at_word_end) = &mut self.at_word_end {
            match text.chars().find_map(significance) {
                None => fed = at_word_end.feed(test, &text.to_lowercase()),
                Some(Significance::Cased) => self.at_word_end = None,
                Some(Significance::Uncased) => {
                    self.inner = self.at_word_end.take().expect("just tested");
                }
            }
        }
        fed += self.inner.feed(test, &text.to_lowercase());
        if let Some(last) = last {
            self.follows_cased = last == Significance::Cased;
        }
        steps + fed
    }

    /// Adds a `Σ`. Returns the steps it took.
    fn lower_sigma(&mut self, test: &ValueTest) -> usize {
        // A letter follows the last one.
        self.at_word_end = None;
        let mut steps = STEPS_PER_TRANSFORM;
        if self.follows_cased {
            let mut at_word_end = self.inner.clone();
            steps += STEPS_PER_COPY * at_word_end.feed(test, "ς");
            self.at_word_end = Some(at_word_end);
        }
        self.follows_cased = true;
        steps + self.inner.feed(test, "σ")
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
