//! Texts whose words are cut together: many short ones, one behind the other, or pieces of a long one.
//!
//! White space always ends a word, so that texts are kept apart by it, and of a text that goes on only the
//! run since the last of it is kept. Text without white space is bounded, too: past a limit, what is
//! certain is handed out, and a word that is too long to be one is kept only as what it means for the
//! text that follows.

use unicode_segmentation::UnicodeSegmentation;

use crate::tokenizer::word_tokenizer::{Cutter, Words};

/// Transparent to the rules of UAX #29 wherever it stands inside of a word.
const FILLER: char = '\u{301}';

/// Stands between texts.
const BETWEEN: char = '\n';

/// So many bytes of text are cut together.
const TEXT_BYTES_MAX: usize = 1 << 14;

/// Texts to be cut.
pub struct Pieces {
    cutter: Cutter,
    texts: String,
    /// Whether nothing is there that the next piece could belong to.
    is_between: bool,
    bytes_max: usize,
}

impl Default for Pieces {
    fn default() -> Pieces {
        Pieces::new(Cutter::default(), TEXT_BYTES_MAX)
    }
}

impl Pieces {
    fn new(cutter: Cutter, bytes_max: usize) -> Pieces {
        let pieces = Pieces {
            cutter,
            texts: String::new(),
            is_between: true,
            bytes_max,
        };
        assert!(
            pieces.kept_bytes_max() < bytes_max,
            "there is room for more"
        );
        pieces
    }

    /// Another piece of the text; what of it there is no room for before the texts are cut.
    #[inline]
    #[must_use]
    pub fn piece<'p>(&mut self, mut piece: &'p str) -> &'p str {
        if self.is_between {
            piece = &piece[piece.bytes().take_while(is_space).count()..];
        }
        let Some(&last) = piece.as_bytes().last() else {
            return piece;
        };
        if self.texts.len() + piece.len() > self.bytes_max {
            return self.part(piece);
        }
        self.texts.push_str(piece);
        self.is_between = is_space(&last);
        ""
    }

    /// As much of a piece as there is room for; the rest.
    #[cold]
    fn part<'p>(&mut self, piece: &'p str) -> &'p str {
        // The end of a text may stand behind what there is room for.
        let room = self.bytes_max.saturating_sub(self.texts.len());
        let fits = |&at: &usize| piece.is_char_boundary(at);
        let taken = (0..=room).rev().find(fits).expect("a text begins at 0");
        self.texts.push_str(&piece[..taken]);
        self.find_between();
        &piece[taken..]
    }

    /// The text ends.
    #[inline]
    pub fn end(&mut self) {
        if !self.is_between {
            self.texts.push(BETWEEN);
            self.is_between = true;
        }
    }

    /// How many bytes of text there are to be cut.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.texts.len()
    }

    fn find_between(&mut self) {
        let last = self.texts.as_bytes().last();
        self.is_between = last.is_none_or(is_space);
    }

    /// Hands out all words but those that the next piece may change.
    pub fn cut<W: Words>(&mut self, words: &mut W) {
        let mut spaces = self.texts.rmatch_indices(char::is_whitespace);
        let end = spaces.next().map_or(0, |(at, space)| at + space.len());
        self.texts.make_ascii_lowercase();
        self.cutter.cut(&self.texts[..end], words);
        self.texts.drain(..end);
        if self.texts.len() > self.kept_bytes_max() {
            self.relieve(&mut Behind { end, words });
        }
        self.find_between();
    }

    /// Forgets all texts.
    pub fn clear(&mut self) {
        self.texts.clear();
        self.is_between = true;
    }

    /// More than two shortened segments ever have.
    fn kept_bytes_max(&self) -> usize {
        self.cutter.unfolded_bytes_max() * 4 + 256
    }

    /// Hands out what later text cannot change of a run without white space, and shortens what is too long
    /// to be a word.
    ///
    /// Whether a segment begins at a place depends on the two characters before and the two after it, not
    /// counting those that only extend others. So it is certain of each segment but the last, and of
    /// the last one if it has two characters that count.
    #[cold]
    fn relieve<W: Words>(&mut self, words: &mut W) {
        let (mut before, mut last) = (0, 0);
        for (start, _) in self.texts.split_word_bound_indices() {
            (before, last) = (last, start);
        }
        let certain = match Units::of(&self.texts[last..]).count {
            0 | 1 => before,
            _ => last,
        };
        self.cutter.cut(&self.texts[..certain], words);
        let shortened = [&self.texts[certain..last], &self.texts[last..]]
            .map(|segment| self.shortened(segment));
        self.texts = shortened.concat();
    }

    /// A segment that means the same to the text that follows: itself, or one that is still too long to be
    /// a word, but not longer than that.
    fn shortened(&self, segment: &str) -> String {
        let bytes_max = self.cutter.unfolded_bytes_max();
        if segment.len() <= bytes_max {
            return segment.to_owned();
        }
        let filler: String =
            std::iter::repeat_n(FILLER, bytes_max / FILLER.len_utf8() + 1).collect();
        let units = Units::of(segment);
        // What follows looks back two units; more are kept where two alone would not hold together.
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

/// White space of ASCII, as XML has it.
#[inline]
fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

/// Words of text that stands behind other text.
struct Behind<'w, W> {
    /// Where that ends.
    end: usize,
    words: &'w mut W,
}

impl<W: Words> Words for Behind<'_, W> {
    fn word(&mut self, at: usize, word: &[u8]) {
        self.words.word(self.end + at, word);
    }
}

/// The last units of a segment: a character that counts, and of those that extend it the last.
struct Units {
    /// From the end backwards.
    units: [(Option<char>, Option<char>); Units::MAX],
    count: usize,
    /// Where there are none: the last of the characters that would extend others.
    extension: Option<char>,
}

impl Units {
    /// No more are ever needed: of four, two hold together that are no mere link between others.
    const MAX: usize = 4;

    fn of(segment: &str) -> Units {
        let mut units = Units {
            units: [(None, None); Units::MAX],
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
            if units.count == Units::MAX {
                return units;
            }
        }
        units
    }

    /// The first character of the last `count` units, and all that follows it.
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

/// Whether a character only extends the one before it, whichever that is.
fn is_extension(character: char) -> bool {
    !character.is_ascii() && format!("!{character}").as_str().split_word_bounds().count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::word_tokenizer::Folded;
    use proptest::prelude::*;

    const WORD_BYTES_MAX: usize = 8;

    /// With little room, or with much.
    fn cutters() -> [Pieces; 2] {
        [400, 4_000].map(|bytes_max| Pieces::new(Cutter::new(WORD_BYTES_MAX), bytes_max))
    }

    fn in_pieces(pieces: &[&str]) -> Vec<String> {
        let [little, much] = cutters().map(|mut cutter| {
            let mut heard = Folded::default();
            for piece in pieces {
                let mut rest = cutter.piece(piece);
                while !rest.is_empty() {
                    cutter.cut(&mut heard);
                    assert!(cutter.bytes() <= cutter.kept_bytes_max());
                    rest = cutter.piece(rest);
                }
            }
            cutter.end();
            cutter.cut(&mut heard);
            assert_eq!(cutter.bytes(), 0);
            heard.0
        });
        assert_eq!(little, much);
        little
    }

    fn at_once(text: &str) -> Vec<String> {
        let mut heard = Folded::default();
        Cutter::new(WORD_BYTES_MAX).cut(&text.to_ascii_lowercase(), &mut heard);
        heard.0
    }

    /// Where words begin.
    struct Beginnings(Vec<usize>);

    impl Words for Beginnings {
        fn word(&mut self, at: usize, _: &[u8]) {
            self.0.push(at);
        }
    }

    #[test]
    fn each_word_is_told_with_its_place_among_the_texts() {
        let runs = [("日", Some(11)), ("été.", None), ("ab!", Some(11))];
        for (long, first) in runs.map(|(run, first)| (run.repeat(200), first)) {
            let [mut pieces, _] = cutters();
            for text in ["a bc ", "\n d", "Ça"] {
                assert_eq!(pieces.piece(text), "");
                pieces.end();
            }
            let left = pieces.piece(&long).len();
            let mut beginnings = Beginnings(Vec::new());
            pieces.cut(&mut beginnings);
            assert!(left > 0);
            assert_eq!(beginnings.0[..4], [0, 2, 5, 7]);
            // A word that may go on is not told, nor one that is too long.
            assert_eq!(beginnings.0.get(4), first.as_ref());
            assert!(beginnings.0.is_sorted());
        }
    }

    #[test]
    fn pieces_join_to_words() {
        assert_eq!(
            in_pieces(&["st", "orm", " wa", "rn ing"]),
            ["storm", "warn", "ing"]
        );
        assert_eq!(in_pieces(&["can", "'", "t"]), ["can't"]);
        assert_eq!(in_pieces(&["can", "'", " t"]), ["can", "t"]);
        assert_eq!(in_pieces(&["é", "té!", "été"]), ["été", "été"]);
    }

    #[test]
    fn a_text_that_fills_all_room_ends_like_any_other() {
        let [mut pieces, _] = cutters();
        let filling = "a ".repeat(199) + "bc";
        assert_eq!(pieces.piece(&filling), "");
        pieces.end();
        assert_eq!(pieces.piece("d"), "d");
        let mut heard = Folded::default();
        pieces.cut(&mut heard);
        assert_eq!(pieces.piece("d"), "");
        pieces.end();
        pieces.cut(&mut heard);
        assert_eq!(heard.0[198..], ["a", "bc", "d"]);
    }

    #[test]
    fn underscores_that_a_piece_ends_in_are_of_the_word_that_follows() {
        assert_eq!(in_pieces(&["__", "éa"]), ["__éa"]);
        assert_eq!(in_pieces(&["a __", "b"]), ["a", "__b"]);
        assert_eq!(in_pieces(&["a __", " b"]), ["a", "b"]);
    }

    #[test]
    fn a_word_that_never_ends_is_no_word_and_takes_no_memory() {
        let long = "a".repeat(100_000);
        assert_eq!(in_pieces(&["b ", &long, &long, " c"]), ["b", "c"]);
        assert_eq!(in_pieces(&[&long, ".", &long, "!d"]), ["d"]);
        assert_eq!(in_pieces(&["e ", &long]), ["e"]);
        assert_eq!(in_pieces(&[&format!("e {long}.")]), ["e"]);
        let extended = format!("a{}", "\u{301}".repeat(100_000));
        assert_eq!(in_pieces(&[&extended, &extended, "-e"]), ["e"]);
        assert_eq!(in_pieces(&[&"日本".repeat(10_000), "!"]).len(), 20_000);
    }

    /// Texts of few kinds of characters, some of them over and over.
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
        fn however_a_text_is_cut_into_pieces_its_words_are_the_same(pieces in texts()) {
            let borrowed: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(in_pieces(&borrowed), at_once(&pieces.concat()));
        }
    }
}
