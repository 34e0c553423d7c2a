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

/// The general categories of Unicode, except that of surrogates.
pub const CATEGORIES: [&str; 36] = [
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc",
    "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Z", "Zs", "Zl", "Zp", "S", "Sm", "Sc", "Sk", "So", "C",
    "Cc", "Cf", "Co", "Cn",
];

/// The characters of a general category, by its number in [`CATEGORIES`].
pub fn category(number: usize) -> ClassUnicode {
    static SETS: [OnceLock<ClassUnicode>; CATEGORIES.len()] =
        [const { OnceLock::new() }; CATEGORIES.len()];
    let name = CATEGORIES[number];
    SETS[number]
        .get_or_init(|| set_of(&format!(r"\p{{{name}}}")))
        .clone()
}

/// `\d`: digits of all scripts.
pub fn digit() -> ClassUnicode {
    let number = CATEGORIES.iter().position(|name| *name == "Nd");
    category(number.expect("it is a category"))
}

/// `\w`: no punctuation, separators and others.
pub fn word() -> ClassUnicode {
    static WORD: OnceLock<ClassUnicode> = OnceLock::new();
    WORD.get_or_init(|| set_of(r"[^\p{P}\p{Z}\p{C}]")).clone()
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
    let size: usize = set.iter().map(|range| range.len()).sum();
    let variants = case_variants();
    let added: Vec<char> = if size < variants.len() {
        let members = set.iter().flat_map(|range| range.start()..=range.end());
        members
            .filter_map(|member| variants.get(&member))
            .flatten()
            .copied()
            .collect()
    } else {
        let class = CharacterClass::new(set);
        let cased = variants.iter().filter(|(cased, _)| class.contains(**cased));
        cased.flat_map(|(_, others)| others).copied().collect()
    };
    set.union(&one_of(&added));
}

/// By character, the characters that share its lower case or its upper case; not for characters
/// without case variants.
fn case_variants() -> &'static HashMap<char, Vec<char>> {
    static VARIANTS: OnceLock<HashMap<char, Vec<char>>> = OnceLock::new();
    VARIANTS.get_or_init(|| {
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
        let mut variants: HashMap<char, Vec<char>> = HashMap::new();
        for group in groups.into_values().filter(|group| group.len() > 1) {
            for &character in &group {
                variants.entry(character).or_default().extend(&group);
            }
        }
        variants
    })
}
