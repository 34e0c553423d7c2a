//! Buffers text and tokenizes it in batches: many short texts back to back, or a long text in
//! pieces.
//!
//! White space always ends a word, so it separates texts, and of an unfinished text only the run
//! since the last white space must be retained. Runs without white space are bounded, too: past a
//! limit, the tokens that later text cannot change are emitted, and an overlong word is replaced by
//! a shorter one with the same effect on the text that follows.

use unicode_segmentation::UnicodeSegmentation;

use crate::tokenizer::tokenizer_options::TokenizerOptions;
use crate::tokenizer::word_tokenizer::{TokenVisitor, Tokenizer};

/// Transparent to the rules of UAX #29 anywhere inside a word.
const TRANSPARENT_FILLER: char = '\u{301}';

/// Separates texts.
const SEPARATOR: char = '\n';

/// Capacity in bytes; a full buffer is tokenized before more text is added.
const BUFFER_BYTES_MAX: usize = 1 << 14;

/// Text waiting to be tokenized.
pub struct TextBuffer {
    tokenizer: Tokenizer,
    texts: String,
    /// Whether the next piece starts a new word: the buffer is empty or ends in white space.
    is_at_boundary: bool,
    bytes_max: usize,
}

impl Default for TextBuffer {
    fn default() -> TextBuffer {
        TextBuffer::new(Tokenizer::default(), BUFFER_BYTES_MAX)
    }
}

impl TextBuffer {
    fn new(tokenizer: Tokenizer, bytes_max: usize) -> TextBuffer {
        let buffer = TextBuffer {
            tokenizer,
            texts: String::new(),
            is_at_boundary: true,
            bytes_max,
        };
        assert!(
            buffer.retained_bytes_max() < bytes_max,
            "retained text leaves free space in the buffer"
        );
        buffer
    }

    /// Discards all text and replaces the options of the tokenizer.
    pub fn reset(&mut self, options: TokenizerOptions) {
        self.texts.clear();
        self.is_at_boundary = true;
        self.tokenizer.set_options(options);
    }

    /// Appends a piece of the current text. Returns the part that does not fit; call
    /// [`TextBuffer::tokenize`] and push it again.
    #[inline]
    #[must_use]
    pub fn push<'p>(&mut self, mut piece: &'p str) -> &'p str {
        if self.is_at_boundary {
            piece = &piece[piece.bytes().take_while(is_space).count()..];
        }
        let Some(&last) = piece.as_bytes().last() else {
            return piece;
        };
        if self.texts.len() + piece.len() > self.bytes_max {
            return self.push_prefix(piece);
        }
        self.texts.push_str(piece);
        self.is_at_boundary = is_space(&last);
        ""
    }

    /// Appends as much of a piece as fits and returns the rest.
    #[cold]
    fn push_prefix<'p>(&mut self, piece: &'p str) -> &'p str {
        // A separator may have been written past the limit.
        let free = self.bytes_max.saturating_sub(self.texts.len());
        let fits = |&at: &usize| piece.is_char_boundary(at);
        let taken = (0..=free).rev().find(fits).expect("a text begins at 0");
        self.texts.push_str(&piece[..taken]);
        self.update_boundary();
        &piece[taken..]
    }

    /// Ends the current text.
    #[inline]
    pub fn end_text(&mut self) {
        if !self.is_at_boundary {
            self.texts.push(SEPARATOR);
            self.is_at_boundary = true;
        }
    }

    /// Number of buffered bytes.
    #[inline]
    pub fn len_bytes(&self) -> usize {
        self.texts.len()
    }

    fn update_boundary(&mut self) {
        let last = self.texts.as_bytes().last();
        self.is_at_boundary = last.is_none_or(is_space);
    }

    /// Emits all tokens except those that the next piece may still change.
    pub fn tokenize<V: TokenVisitor>(&mut self, visitor: &mut V) {
        let mut spaces = self.texts.rmatch_indices(char::is_whitespace);
        let end = spaces.next().map_or(0, |(at, space)| at + space.len());
        self.texts.make_ascii_lowercase();
        self.tokenizer.tokenize(&self.texts[..end], visitor);
        self.texts.drain(..end);
        if self.texts.len() > self.retained_bytes_max() {
            self.compact_run(&mut OffsetVisitor { end, visitor });
        }
        self.update_boundary();
    }

    /// Exceeds the length of any two shortened segments.
    fn retained_bytes_max(&self) -> usize {
        self.tokenizer.unfolded_bytes_max() * 4 + 256
    }

    /// Emits the tokens of a run without white space that later text cannot change, and shortens a
    /// segment that is too long to be a word.
    ///
    /// Whether a segment boundary exists at a position depends on the two characters before and
    /// after it, not counting extending characters. So every boundary but the last is final, and
    /// the last is final if two non-extending characters follow it.
    #[cold]
    fn compact_run<V: TokenVisitor>(&mut self, visitor: &mut V) {
        let (mut before, mut last) = (0, 0);
        for (start, _) in self.texts.split_word_bound_indices() {
            (before, last) = (last, start);
        }
        let certain = match TrailingUnits::of(&self.texts[last..]).count {
            0 | 1 => before,
            _ => last,
        };
        self.tokenizer.tokenize(&self.texts[..certain], visitor);
        let shortened =
            [&self.texts[certain..last], &self.texts[last..]].map(|segment| self.shorten(segment));
        self.texts = shortened.concat();
    }

    /// Returns a segment with the same effect on the text that follows: the segment itself, or a
    /// shorter one that is still too long to be a word.
    fn shorten(&self, segment: &str) -> String {
        let bytes_max = self.tokenizer.unfolded_bytes_max();
        if segment.len() <= bytes_max {
            return segment.to_owned();
        }
        let filler: String = std::iter::repeat_n(
            TRANSPARENT_FILLER,
            bytes_max / TRANSPARENT_FILLER.len_utf8() + 1,
        )
        .collect();
        let units = TrailingUnits::of(segment);
        // Later text looks back two units; keep more if two alone would not form one segment.
        for count in 2..=units.count {
            let (first, rest) = units.last(count);
            let short = format!("{first}{rest}");
            if short.split_word_bounds().count() == 1 {
                return format!("{first}{filler}{rest}");
            }
        }
        let (first, rest) = units.last(units.count);
        format!("{first}{filler}{rest}")
    }
}

/// ASCII white space as defined by XML.
#[inline]
fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

/// Adds an offset to token positions.
struct OffsetVisitor<'w, V> {
    /// Length of the text already emitted.
    end: usize,
    visitor: &'w mut V,
}

impl<V: TokenVisitor> TokenVisitor for OffsetVisitor<'_, V> {
    fn token(&mut self, start: usize, token: &[u8]) {
        self.visitor.token(self.end + start, token);
    }

    fn overlong(&mut self, start: usize) {
        self.visitor.overlong(self.end + start);
    }
}

/// The last units of a segment. A unit is a non-extending character and the last of its extending
/// characters.
struct TrailingUnits {
    /// Last unit first.
    units: [(Option<char>, Option<char>); TrailingUnits::MAX],
    count: usize,
    /// Last extending character of a segment that has no unit.
    extension: Option<char>,
}

impl TrailingUnits {
    /// Four always suffice: among four units, two adjacent ones form a segment without being only a
    /// link between others.
    const MAX: usize = 4;

    fn of(segment: &str) -> TrailingUnits {
        let mut units = TrailingUnits {
            units: [(None, None); TrailingUnits::MAX],
            count: 0,
            extension: None,
        };
        for character in segment.chars().rev() {
            if is_extension(character) {
                units.extension = units.extension.or(Some(character));
                continue;
            }
            units.units[units.count] = (Some(character), units.extension.take());
            units.count += 1;
            if units.count == TrailingUnits::MAX {
                return units;
            }
        }
        units
    }

    /// Returns the first character of the last `count` units and everything after it.
    fn last(&self, count: usize) -> (String, String) {
        let mut units = self.units[..count].iter().rev();
        let Some((first, extension)) = units.next() else {
            return (String::new(), self.extension.iter().collect());
        };
        let others = units.flat_map(|(character, extension)| [character, extension]);
        let rest = std::iter::once(extension).chain(others);
        (
            first.iter().collect(),
            rest.flat_map(|character| character.iter()).collect(),
        )
    }
}

/// Whether a character always extends the preceding one.
fn is_extension(character: char) -> bool {
    !character.is_ascii() && format!("!{character}").as_str().split_word_bounds().count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::word_tokenizer::TokenCollector;
    use proptest::prelude::*;

    const WORD_BYTES_MAX: usize = 8;

    /// Keeps the spellings of all words, so that tests see the text.
    const PLAIN: TokenizerOptions = TokenizerOptions {
        fold_diacritics: false,
        split_names: false,
        unify_apostrophes: false,
        unify_abbreviations: false,
    };

    /// A small and a large buffer.
    fn buffers() -> [TextBuffer; 2] {
        [400, 4_000]
            .map(|bytes_max| TextBuffer::new(Tokenizer::new(PLAIN, WORD_BYTES_MAX), bytes_max))
    }

    fn tokenize_pieces(pieces: &[&str]) -> Vec<String> {
        let [small, large] = buffers().map(|mut buffer| {
            let mut collected = TokenCollector::default();
            for piece in pieces {
                let mut rest = buffer.push(piece);
                while !rest.is_empty() {
                    buffer.tokenize(&mut collected);
                    assert!(buffer.len_bytes() <= buffer.retained_bytes_max());
                    rest = buffer.push(rest);
                }
            }
            buffer.end_text();
            buffer.tokenize(&mut collected);
            assert_eq!(buffer.len_bytes(), 0);
            collected.0
        });
        assert_eq!(small, large);
        small
    }

    fn tokenize_at_once(text: &str) -> Vec<String> {
        let mut collected = TokenCollector::default();
        Tokenizer::new(PLAIN, WORD_BYTES_MAX).tokenize(&text.to_ascii_lowercase(), &mut collected);
        collected.0
    }

    /// Collects token positions.
    struct TokenStarts(Vec<usize>);

    impl TokenVisitor for TokenStarts {
        fn token(&mut self, start: usize, _: &[u8]) {
            self.0.push(start);
        }
    }

    #[test]
    fn token_starts_are_buffer_offsets() {
        let runs = [("日", Some(11)), ("été.", None), ("ab!", Some(11))];
        for (long, first) in runs.map(|(run, first)| (run.repeat(200), first)) {
            let [mut buffer, _] = buffers();
            for text in ["a bc ", "\n d", "Ça"] {
                assert_eq!(buffer.push(text), "");
                buffer.end_text();
            }
            let left = buffer.push(&long).len();
            let mut starts = TokenStarts(Vec::new());
            buffer.tokenize(&mut starts);
            assert!(left > 0);
            assert_eq!(starts.0[..4], [0, 2, 5, 7]);
            // Unfinished and overlong words are not emitted.
            assert_eq!(starts.0.get(4), first.as_ref());
            assert!(starts.0.is_sorted());
        }
    }

    #[test]
    fn pieces_join_into_tokens() {
        assert_eq!(
            tokenize_pieces(&["st", "orm", " wa", "rn ing"]),
            ["storm", "warn", "ing"]
        );
        assert_eq!(tokenize_pieces(&["can", "'", "t"]), ["can't"]);
        assert_eq!(tokenize_pieces(&["can", "'", " t"]), ["can", "t"]);
        assert_eq!(tokenize_pieces(&["é", "té!", "été"]), ["été", "été"]);
    }

    #[test]
    fn a_text_that_fills_the_buffer_ends_normally() {
        let [mut buffer, _] = buffers();
        let filling = "a ".repeat(199) + "bc";
        assert_eq!(buffer.push(&filling), "");
        buffer.end_text();
        assert_eq!(buffer.push("d"), "d");
        let mut collected = TokenCollector::default();
        buffer.tokenize(&mut collected);
        assert_eq!(buffer.push("d"), "");
        buffer.end_text();
        buffer.tokenize(&mut collected);
        assert_eq!(collected.0[198..], ["a", "bc", "d"]);
    }

    #[test]
    fn trailing_underscores_join_the_next_piece() {
        assert_eq!(tokenize_pieces(&["__", "éa"]), ["__éa"]);
        assert_eq!(tokenize_pieces(&["a __", "b"]), ["a", "__b"]);
        assert_eq!(tokenize_pieces(&["a __", " b"]), ["a", "b"]);
    }

    #[test]
    fn unbounded_token_is_dropped_in_bounded_memory() {
        let long = "a".repeat(100_000);
        assert_eq!(tokenize_pieces(&["b ", &long, &long, " c"]), ["b", "c"]);
        assert_eq!(tokenize_pieces(&[&long, ".", &long, "!d"]), ["d"]);
        assert_eq!(tokenize_pieces(&["e ", &long]), ["e"]);
        assert_eq!(tokenize_pieces(&[&format!("e {long}.")]), ["e"]);
        let extended = format!("a{}", "\u{301}".repeat(100_000));
        assert_eq!(tokenize_pieces(&[&extended, &extended, "-e"]), ["e"]);
        assert_eq!(
            tokenize_pieces(&[&"日本".repeat(10_000), "!"]).len(),
            20_000
        );
    }

    /// Texts over a small alphabet, some characters repeated many times.
    fn texts() -> impl Strategy<Value = Vec<String>> {
        let characters = prop::sample::select(vec![
            "a",
            "Z",
            "1",
            "_",
            ".",
            ":",
            ",",
            "'",
            "\"",
            "!",
            " ",
            "\n",
            "é",
            "ß",
            "\u{301}",
            "\u{200d}",
            "\u{345}",
            "ア",
            "ア\u{3099}",
            "א",
            "日",
            "🇦",
            "👩",
            "Ⓜ",
            "\u{2003}",
            "\u{ad}",
            "١",
            "·",
        ]);
        let times = prop_oneof![8 => 1..3_usize, 1 => 30..200_usize];
        let runs = prop::collection::vec((characters, times), 1..12);
        let text = runs.prop_map(|runs| {
            let repeated = runs
                .into_iter()
                .map(|(character, times)| character.repeat(times));
            repeated.collect::<String>()
        });
        prop::collection::vec(text, 1..5)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn tokens_do_not_depend_on_piece_boundaries(pieces in texts()) {
            let borrowed: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(tokenize_pieces(&borrowed), tokenize_at_once(&pieces.concat()));
        }
    }
}
