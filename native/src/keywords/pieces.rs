//! Words of text that comes in pieces: a word that a piece ends in is kept until the text goes on.
//!
//! White space always ends a word, so that what is kept is the run of text since the last of it. Text
//! without white space is bounded, too: past a limit, what is certain is handed out, and a word that is
//! too long to be one is kept only as what it means for the text that follows.

use unicode_segmentation::UnicodeSegmentation;

use super::scan::PlainWord;
use super::words::{Cutter, Rest, Words};

/// Transparent to the rules of UAX #29 wherever it stands inside of a word.
const FILLER: char = '\u{301}';

/// Cuts text that comes in pieces.
pub struct Pieces {
    cutter: Cutter,
    kept: String,
    /// What that is.
    rest: Rest,
}

impl Default for Pieces {
    fn default() -> Pieces {
        Pieces::new(Cutter::default())
    }
}

impl Pieces {
    fn new(cutter: Cutter) -> Pieces {
        Pieces {
            cutter,
            kept: String::new(),
            rest: Rest::Mark(0),
        }
    }

    /// Hands out the words of a text that goes on neither before nor after.
    #[inline]
    pub fn whole<W: Words>(&mut self, text: &str, words: &mut W) -> Result<(), W::Stop> {
        self.cutter.cut(text, words)
    }

    /// Another piece of the text.
    #[inline]
    pub fn piece<W: Words>(&mut self, mut piece: &str, words: &mut W) -> Result<(), W::Stop> {
        if !self.kept.is_empty() {
            match memchr::memchr3(b' ', b'\n', b'\t', piece.as_bytes()) {
                None => return self.keep(piece, words),
                Some(space) => {
                    self.keep(&piece[..space], words)?;
                    self.end(words)?;
                    piece = &piece[space..];
                }
            }
        }
        let rest = self.cutter.cut_open(piece, words)?;
        let (Rest::Mark(start) | Rest::Word(PlainWord { start, .. }) | Rest::Other(start)) = rest;
        let kept = &piece[start..];
        self.keep(kept, words)?;
        if kept.len() > self.kept_bytes_max() {
            // Something else is kept in its place.
            return Ok(());
        }
        self.rest = match rest {
            Rest::Mark(_) => Rest::Mark(0),
            Rest::Word(word) => Rest::Word(PlainWord {
                start: 0,
                end: word.end - start,
                ..word
            }),
            Rest::Other(_) => Rest::Other(0),
        };
        Ok(())
    }

    /// The text ends.
    #[inline]
    pub fn end<W: Words>(&mut self, words: &mut W) -> Result<(), W::Stop> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let cut = match self.rest {
            Rest::Mark(_) => Ok(()),
            Rest::Word(word) => self.cutter.tell(self.kept.as_bytes(), word, words),
            Rest::Other(_) => self.cutter.cut(&self.kept, words),
        };
        self.clear();
        cut
    }

    /// Forgets what is kept.
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    /// More than two shortened segments ever have.
    fn kept_bytes_max(&self) -> usize {
        self.cutter.unfolded_bytes_max() * 4 + 256
    }

    #[inline]
    fn keep<W: Words>(&mut self, mut piece: &str, words: &mut W) -> Result<(), W::Stop> {
        self.rest = Rest::Other(0);
        while self.kept.len() + piece.len() > self.kept_bytes_max() {
            let room = self.kept_bytes_max() - self.kept.len();
            let fits = |&at: &usize| piece.is_char_boundary(at);
            let end = (0..=room).rev().find(fits).expect("a text begins at 0");
            self.kept.push_str(&piece[..end]);
            piece = &piece[end..];
            self.relieve(words)?;
        }
        self.kept.push_str(piece);
        Ok(())
    }

    /// Hands out what later text cannot change, and shortens what is too long to be a word.
    ///
    /// Whether a segment begins at a place depends on the two characters before and the two after it, not
    /// counting those that only extend others. So it is certain of each segment but the last, and of
    /// the last one if it has two characters that count.
    #[cold]
    fn relieve<W: Words>(&mut self, words: &mut W) -> Result<(), W::Stop> {
        if let Some((at, space)) = self.kept.rmatch_indices(char::is_whitespace).next() {
            let end = at + space.len();
            self.cutter.cut(&self.kept[..at], words)?;
            self.kept.drain(..end);
        }
        let (mut before, mut last) = (0, 0);
        for (start, _) in self.kept.split_word_bound_indices() {
            (before, last) = (last, start);
        }
        let certain = match Units::of(&self.kept[last..]).count {
            0 | 1 => before,
            _ => last,
        };
        self.cutter.cut(&self.kept[..certain], words)?;
        let shortened =
            [&self.kept[certain..last], &self.kept[last..]].map(|segment| self.shortened(segment));
        self.kept = shortened.concat();
        Ok(())
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
    use crate::keywords::words::Folded;
    use proptest::prelude::*;

    const WORD_BYTES_MAX: usize = 8;

    fn in_pieces(pieces: &[&str]) -> Vec<String> {
        let mut heard = Folded::default();
        let mut cutter = Pieces::new(Cutter::new(WORD_BYTES_MAX));
        for piece in pieces {
            let Ok(()) = cutter.piece(piece, &mut heard);
            assert!(cutter.kept.len() <= cutter.kept_bytes_max());
        }
        let Ok(()) = cutter.end(&mut heard);
        heard.0
    }

    fn at_once(text: &str) -> Vec<String> {
        let mut heard = Folded::default();
        let Ok(()) = Cutter::new(WORD_BYTES_MAX).cut(text, &mut heard);
        heard.0
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
