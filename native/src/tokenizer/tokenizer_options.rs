//! Which spellings of a word are the same word.

use bytemuck::NoUninit;

/// Options of the tokenizer. The queries of an index and the documents that are matched with it are
/// tokenized with the same options, which are stored in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct TokenizerOptions {
    /// Whether `Zürich` and `zurich` are the same word.
    pub fold_diacritics: bool,
    /// Whether the element name `eventCode` also contains the words of its parts, `event` and `code`.
    pub split_names: bool,
    /// Whether `don’t` and `don't` are the same word.
    pub unify_apostrophes: bool,
    /// Whether `U.S.A.` and `usa` are the same word.
    pub unify_abbreviations: bool,
}

impl Default for TokenizerOptions {
    fn default() -> TokenizerOptions {
        TokenizerOptions::from_flags([true; TokenizerOptions::COUNT])
    }
}

impl TokenizerOptions {
    /// Number of options.
    pub const COUNT: usize = 4;

    /// The options in the order of the fields.
    pub fn from_flags(flags: [bool; TokenizerOptions::COUNT]) -> TokenizerOptions {
        let [fold_diacritics, split_names, unify_apostrophes, unify_abbreviations] = flags;
        TokenizerOptions {
            fold_diacritics,
            split_names,
            unify_apostrophes,
            unify_abbreviations,
        }
    }

    /// The inverse of [`TokenizerOptions::from_flags`].
    pub fn flags(self) -> [bool; TokenizerOptions::COUNT] {
        let TokenizerOptions {
            fold_diacritics,
            split_names,
            unify_apostrophes,
            unify_abbreviations,
        } = self;
        [
            fold_diacritics,
            split_names,
            unify_apostrophes,
            unify_abbreviations,
        ]
    }

    /// The options as they are stored in an index file: a byte each, 0 or 1.
    pub fn from_bytes(bytes: [u8; TokenizerOptions::COUNT]) -> Option<TokenizerOptions> {
        let are_flags = bytes.iter().all(|&byte| byte <= 1);
        are_flags.then(|| TokenizerOptions::from_flags(bytes.map(|byte| byte == 1)))
    }

    /// Every combination of the options, for tests and comparisons.
    pub fn combinations() -> impl Iterator<Item = TokenizerOptions> {
        (0..1 << TokenizerOptions::COUNT).map(TokenizerOptions::combination)
    }

    /// The combination with a number, whose low bits are the options.
    pub fn combination(number: usize) -> TokenizerOptions {
        let bit = |at: usize| number >> at & 1 == 1;
        TokenizerOptions::from_flags(std::array::from_fn(bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_stored_as_a_byte_each() {
        for options in TokenizerOptions::combinations() {
            let bytes: [u8; TokenizerOptions::COUNT] =
                bytemuck::cast(options.flags().map(u8::from));
            assert_eq!(bytemuck::bytes_of(&options), bytes);
            assert_eq!(TokenizerOptions::from_bytes(bytes), Some(options));
            assert_eq!(TokenizerOptions::from_flags(options.flags()), options);
        }
        assert_eq!(TokenizerOptions::combinations().count(), 16);
        assert_eq!(TokenizerOptions::from_bytes([1, 1, 2, 1]), None);
    }
}
