//! Parses keyword queries: `storm warning coast` or `storm AND coast` for all words, `storm OR gale` for
//! any word.

use crate::keywords::token_sink::Mode;
use crate::tokenizer::case_folding::SHRINKING_MAX;
use crate::tokenizer::word_tokenizer::{TokenCollector, Tokenizer, WORD_BYTES_MAX};
use crate::xpath::QueryRefusal;

/// Maximum number of characters in a query.
pub const QUERY_CHARACTERS_MAX: usize = 65_536;

/// Maximum number of distinct words in a query.
pub const KEYWORDS_MAX: usize = 1_000;

/// Stands between words that must all occur, as do words without an operator.
const AND: &str = "AND";

/// Stands between words of which any suffices.
const OR: &str = "OR";

/// Refused, so that nobody takes it for an operator that works.
const NOT: &str = "NOT";

/// Quotation marks, at the beginning or end of a run between white space, but for punctuation.
const QUOTES: [char; 3] = ['"', '\u{201c}', '\u{201d}'];

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
    // Position of the first word, other than the very first, that no `OR` precedes; the last operator
    // if no word follows it yet; and the open quotation mark with the number of words before it.
    let mut unjoined = None;
    let mut open_operator: Option<(usize, &str)> = None;
    let mut quoted: Option<(usize, usize)> = None;
    for run in text
        .split(char::is_whitespace)
        .filter(|run| !run.is_empty())
    {
        let at = run.as_ptr() as usize - text.as_ptr() as usize;
        if let Some(star) = run.find('*') {
            let message = "`*` is not supported: words match exactly";
            return Err(unsupported(message, text, at + star));
        }
        if quoted.is_none() && (run == AND || run == OR) {
            if query.words.is_empty() || open_operator.is_some() {
                return Err(misplaced(run, text, at));
            }
            if run == OR {
                query.mode = Mode::Any;
            }
            open_operator = Some((at, run));
            continue;
        }
        if quoted.is_none() && run == NOT {
            let message = "`NOT` is not supported (write `not` for the word itself)";
            return Err(unsupported(message, text, at));
        }
        let quotable = run.trim_matches(|c: char| c.is_ascii_punctuation() && c != '"');
        let opens_quote = quoted.is_none() && quotable.starts_with(QUOTES);
        if opens_quote {
            quoted = Some((at, query.words.len()));
        }
        let mut words = TokenCollector::default();
        tokenizer.tokenize(&run.to_ascii_lowercase(), &mut words);
        if run.starts_with('-') && (quoted.is_none() || opens_quote) && !words.0.is_empty() {
            let message = "`-` is not supported: words cannot be excluded";
            return Err(unsupported(message, text, at));
        }
        for word in words.0 {
            if word.len() > WORD_BYTES_MAX {
                let message = format!(
                    "a word of {} bytes exceeds the limit of {WORD_BYTES_MAX}",
                    word.len()
                );
                return Err(refusal("keywords.word-too-long", message, text, at));
            }
            match open_operator.take() {
                Some((_, OR)) => {}
                Some((and, _)) => unjoined = unjoined.or(Some(and)),
                None if query.words.is_empty() => {}
                None => unjoined = unjoined.or(Some(at)),
            }
            query.words.push(word);
        }
        let is_one_mark = quotable.chars().count() == 1;
        let closes_quote = quotable.ends_with(QUOTES) && !(opens_quote && is_one_mark);
        if let (Some((start, before)), true) = (quoted, closes_quote) {
            if query.words.len() > before + 1 {
                let message = "phrases are not supported: write the words without quotation marks";
                return Err(unsupported(message, text, start));
            }
            quoted = None;
        }
    }
    if let Some((start, _)) = quoted {
        let message = "the quotation mark is not closed";
        return Err(unsupported(message, text, start));
    }
    if let Some((at, operator)) = open_operator {
        return Err(misplaced(operator, text, at));
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

fn misplaced(operator: &str, text: &str, at: usize) -> QueryRefusal {
    let word = operator.to_ascii_lowercase();
    let message =
        format!("`{operator}` must stand between two words (write `{word}` for the word itself)");
    refusal("keywords.mixed", message, text, at)
}

fn unsupported(message: &str, text: &str, at: usize) -> QueryRefusal {
    refusal("keywords.unsupported", message.to_owned(), text, at)
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
            ("storm AND surge", "storm surge"),
            ("storm AND surge tide", "storm surge tide"),
            ("storm and surge", "and storm surge"),
            ("(storm OR gale)", "gale OR storm"),
            ("(storm surge) tide", "storm surge tide"),
            ("\"Storm\" AND \u{201c}gale\u{201d}", "gale storm"),
            ("\"AND\" not", "and not"),
            ("5\" pipe", "5 pipe"),
            ("\"storm\", (\"coast\")!", "coast storm"),
            ("\u{5e6}\u{5d4}\"\u{5dc}", "\u{5e6}\u{5d4}\"\u{5dc}"),
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
            ("AND storm", "keywords.mixed", 0),
            ("storm AND", "keywords.mixed", 6),
            ("storm AND OR gale", "keywords.mixed", 10),
            ("storm OR gale AND surge", "keywords.mixed", 14),
            ("(storm OR gale) AND surge", "keywords.mixed", 16),
            ("storm NOT surge", "keywords.unsupported", 6),
            ("storm -surge", "keywords.unsupported", 6),
            ("é tide*", "keywords.unsupported", 6),
            ("\"storm surge\"", "keywords.unsupported", 0),
            ("é \"storm OR surge\"", "keywords.unsupported", 2),
            ("\"news-item\"", "keywords.unsupported", 0),
            ("(\"storm surge\")", "keywords.unsupported", 0),
            ("-\"storm surge\"", "keywords.unsupported", 0),
            ("storm \u{201c}surge", "keywords.unsupported", 6),
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
        fn a_canonical_text_parses_to_the_same_query(text in "(OR |AND |NOT |[a-cA-Cßéﬁ\u{301}'.\"*-]{1,4} ){0,6}") {
            if let Ok(query) = parse(&text) {
                prop_assert_eq!(parse(&canonical_text(&query)), Ok(query));
            }
        }
    }
}
