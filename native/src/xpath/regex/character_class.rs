//! Sets of characters.

use std::collections::HashMap;
use std::sync::OnceLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// A set of characters, with a bitmap of those in ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharacterClass {
    ascii: u128,
    /// The characters beyond ASCII, as sorted ranges that do not touch.
    ranges: Box<[(char, char)]>,
}

impl CharacterClass {
    pub fn new(set: &ClassUnicode) -> Self {
        let mut ascii = 0;
        let mut ranges = Vec::new();
        for range in set.ranges() {
            for byte in range.start()..=range.end().min('\u{7f}') {
                ascii |= 1 << u32::from(byte);
            }
            if range.end() > '\u{7f}' {
                ranges.push((range.start().max('\u{80}'), range.end()));
            }
        }
        Self {
            ascii,
            ranges: ranges.into_boxed_slice(),
        }
    }

    #[inline]
    pub fn contains(&self, character: char) -> bool {
        if character.is_ascii() {
            return self.ascii & (1 << u32::from(character)) != 0;
        }
        let after = self.ranges.partition_point(|range| range.1 < character);
        self.ranges
            .get(after)
            .is_some_and(|range| range.0 <= character)
    }
}

/// The characters from `first` to `last`.
pub fn range(first: char, last: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(first, last)])
}

/// The characters of a list.
pub fn one_of(characters: &[char]) -> ClassUnicode {
    ClassUnicode::new(
        characters
            .iter()
            .map(|&each| ClassUnicodeRange::new(each, each)),
    )
}

/// Every character.
pub fn any() -> ClassUnicode {
    range('\0', char::MAX)
}

pub fn negated(mut set: ClassUnicode) -> ClassUnicode {
    set.negate();
    set
}

/// The characters of a general category such as `Lu`, which must be known.
pub fn category(name: &str) -> ClassUnicode {
    set_of(&format!(r"\p{{{name}}}"))
}

/// `\w`: no punctuation, separators and others.
pub fn word() -> ClassUnicode {
    set_of(r"[^\p{P}\p{Z}\p{C}]")
}

/// `\i`: what can start a name in XML.
pub fn name_start() -> ClassUnicode {
    ranges_of(&[
        (':', ':'),
        ('A', 'Z'),
        ('_', '_'),
        ('a', 'z'),
        ('\u{c0}', '\u{d6}'),
        ('\u{d8}', '\u{f6}'),
        ('\u{f8}', '\u{2ff}'),
        ('\u{370}', '\u{37d}'),
        ('\u{37f}', '\u{1fff}'),
        ('\u{200c}', '\u{200d}'),
        ('\u{2070}', '\u{218f}'),
        ('\u{2c00}', '\u{2fef}'),
        ('\u{3001}', '\u{d7ff}'),
        ('\u{f900}', '\u{fdcf}'),
        ('\u{fdf0}', '\u{fffd}'),
        ('\u{10000}', '\u{effff}'),
    ])
}

/// `\c`: what can continue a name in XML.
pub fn name_character() -> ClassUnicode {
    let mut set = name_start();
    set.union(&ranges_of(&[
        ('-', '.'),
        ('0', '9'),
        ('\u{b7}', '\u{b7}'),
        ('\u{300}', '\u{36f}'),
        ('\u{203f}', '\u{2040}'),
    ]));
    set
}

fn ranges_of(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(
        ranges
            .iter()
            .map(|&(first, last)| ClassUnicodeRange::new(first, last)),
    )
}

fn set_of(pattern: &str) -> ClassUnicode {
    let tree = regex_syntax::parse(pattern).expect("the pattern is one known class");
    match tree.into_kind() {
        HirKind::Class(Class::Unicode(set)) => set,
        other => unreachable!("{other:?} is not a class"),
    }
}

/// Adds the case variants of all members: the characters with the same lower or upper case.
pub fn add_case_variants(set: &mut ClassUnicode) {
    let class = CharacterClass::new(set);
    let variants: Vec<char> = case_groups()
        .iter()
        .filter(|group| group.iter().any(|&each| class.contains(each)))
        .flatten()
        .copied()
        .collect();
    set.union(&one_of(&variants));
}

/// The sets of characters that are case variants of one another: those that share their lower case,
/// and those that share their upper case.
fn case_groups() -> &'static [Vec<char>] {
    static GROUPS: OnceLock<Vec<Vec<char>>> = OnceLock::new();
    GROUPS.get_or_init(|| {
        // No character beyond this plane has a case.
        const LAST_CASED: char = '\u{1ffff}';
        let mut groups: HashMap<(bool, String), Vec<char>> = HashMap::new();
        for character in '\0'..=LAST_CASED {
            let lower: String = character.to_lowercase().collect();
            let upper: String = character.to_uppercase().collect();
            if lower != upper {
                groups.entry((false, lower)).or_default().push(character);
                groups.entry((true, upper)).or_default().push(character);
            }
        }
        groups
            .into_values()
            .filter(|group| group.len() > 1)
            .collect()
    })
}
