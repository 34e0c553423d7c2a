//! Parses keyword queries: `storm warning coast` for all words, `storm OR gale` for any word.

use crate::keywords::token_sink::Mode;
use crate::tokenizer::case_folding::SHRINKING_MAX;
use crate::tokenizer::word_tokenizer::{TokenCollector, Tokenizer, WORD_BYTES_MAX};
use crate::xpath::QueryRefusal;

/// Maximum number of characters in a query.
pub const QUERY_CHARACTERS_MAX: usize = 65_536;

/// Maximum number of distinct words in a query.
pub const KEYWORDS_MAX: usize = 1_000;

/// Separates words of which any suffices.
const OR: &str = "OR";

/// A parsed keyword query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeywordQuery {
    /// Folded, ascending, distinct, at least one.
    pub words: Vec<String>,
    /// How many words an answer must contain; [`Mode::All`] for a single word.
    pub mode: Mode,
}

/// Parses a query.
pub fn parse(text: &str) -> Result<KeywordQuery, QueryRefusal> {
    if text.len() > QUERY_CHARACTERS_MAX {
        if let Some((at, _)) = text.char_indices().nth(QUERY_CHARACTERS_MAX) {
            let message = format!("more than {QUERY_CHARACTERS_MAX} characters");
            return Err(refusal("keywords.too-long", message, text, at));
        }
    }
    let mut tokenizer = Tokenizer::new(usize::MAX / SHRINKING_MAX);
    let mut query = KeywordQuery {
        words: Vec::new(),
        mode: Mode::All,
    };
    // Position of the first word, other than the very first, that no `OR` precedes; and the last
    // `OR` if no word follows it yet.
    let mut unjoined = None;
    let mut open_or = None;
    for run in text
        .split(char::is_whitespace)
        .filter(|run| !run.is_empty())
    {
        let at = run.as_ptr() as usize - text.as_ptr() as usize;
        if run == OR {
            if query.words.is_empty() || open_or.is_some() {
                return Err(misplaced_or(text, at));
            }
            open_or = Some(at);
            query.mode = Mode::Any;
            continue;
        }
        let mut words = TokenCollector::default();
        tokenizer.tokenize(&run.to_ascii_lowercase(), &mut words);
        for word in words.0 {
            if word.len() > WORD_BYTES_MAX {
                let message = format!(
                    "a word of {} bytes exceeds the limit of {WORD_BYTES_MAX}",
                    word.len()
                );
                return Err(refusal("keywords.word-too-long", message, text, at));
            }
            if open_or.take().is_none() && !query.words.is_empty() {
                unjoined = unjoined.or(Some(at));
            }
            query.words.push(word);
        }
    }
    if let Some(at) = open_or {
        return Err(misplaced_or(text, at));
    }
    if query.words.is_empty() {
        let message = "the query contains no word".to_owned();
        return Err(refusal("keywords.none", message, text, 0));
    }
    if let (Mode::Any, Some(at)) = (query.mode, unjoined) {
        let message = "`OR` must join all words of a query or none".to_owned();
        return Err(refusal("keywords.mixed", message, text, at));
    }
    query.words.sort_unstable();
    query.words.dedup();
    if query.words.len() > KEYWORDS_MAX {
        let count = query.words.len();
        let message = format!("{count} words exceed the limit of {KEYWORDS_MAX}");
        return Err(refusal("keywords.too-many", message, text, 0));
    }
    if query.words.len() == 1 {
        query.mode = Mode::All;
    }
    Ok(query)
}

fn misplaced_or(text: &str, at: usize) -> QueryRefusal {
    let message = "`OR` must stand between two words (write `or` for the word itself)".to_owned();
    refusal("keywords.mixed", message, text, at)
}

fn refusal(code: &'static str, message: String, text: &str, at: usize) -> QueryRefusal {
    QueryRefusal {
        code,
        message,
        offset_bytes: at,
        offset_characters: text[..at].chars().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The canonical spelling of a query.
    fn canonical_text(query: &KeywordQuery) -> String {
        query.words.join(match query.mode {
            Mode::All => " ",
            Mode::Any => " OR ",
        })
    }

    fn canonical(text: &str) -> String {
        canonical_text(&parse(text).expect("a query"))
    }

    #[test]
    fn equal_queries_have_one_canonical_text() {
        for (text, expected) in [
            ("storm warning coast", "coast storm warning"),
            ("  Coast\tSTORM, warning storm ", "coast storm warning"),
            ("storm OR gale", "gale OR storm"),
            ("storm OR Storm", "storm"),
            ("storm or gale", "gale or storm"),
            ("news-item", "item news"),
            ("-- storm !", "storm"),
            ("Été", "été"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn a_single_word_has_mode_all() {
        assert_eq!(parse("storm OR storm").expect("a query").mode, Mode::All);
        assert_eq!(parse("storm OR gale").expect("a query").mode, Mode::Any);
    }

    #[test]
    fn invalid_queries_are_rejected_at_the_position_of_the_error() {
        let long = format!("é {}", "x".repeat(WORD_BYTES_MAX + 1));
        let many: String = (0..=KEYWORDS_MAX).map(|at| format!("w{at} ")).collect();
        for (text, code, at) in [
            ("", "keywords.none", 0),
            (" .. -- !", "keywords.none", 0),
            ("storm OR gale warning", "keywords.mixed", 14),
            ("é storm OR gale", "keywords.mixed", 2),
            ("storm OR gale-warning", "keywords.mixed", 9),
            ("OR storm", "keywords.mixed", 0),
            ("storm OR", "keywords.mixed", 6),
            ("storm OR OR gale", "keywords.mixed", 9),
            ("storm OR -- OR gale", "keywords.mixed", 12),
            (long.as_str(), "keywords.word-too-long", 2),
            (many.as_str(), "keywords.too-many", 0),
        ] {
            let refused = parse(text).expect_err(text);
            assert_eq!(
                (refused.code, refused.offset_characters),
                (code, at),
                "{text}"
            );
        }
        let most: String = (0..KEYWORDS_MAX).map(|at| format!("w{at} ")).collect();
        assert_eq!(parse(&most).expect("a query").words.len(), KEYWORDS_MAX);
    }

    proptest! {
        #[test]
        fn a_canonical_text_parses_to_the_same_query(text in "(OR |[a-cA-Cßéﬁ\u{301}'.-]{1,4} ){0,6}") {
            if let Ok(query) = parse(&text) {
                prop_assert_eq!(parse(&canonical_text(&query)), Ok(query));
            }
        }
    }
}
