//! Parses keyword queries: `storm warning coast` or `storm AND coast` for all words, `storm OR gale` for
//! any word, `"storm surge"` for words next to each other.

use crate::keywords::phrase_automaton::{PHRASE_SEPARATOR, PHRASE_WORDS_MAX};
use crate::keywords::token_sink::Mode;
use crate::tokenizer::tokenizer_options::TokenizerOptions;
use crate::tokenizer::word_tokenizer::{TokenVisitor, Tokenizer, WORD_BYTES_MAX};
use crate::xpath::QueryRefusal;

/// Maximum number of characters in a query.
pub const QUERY_CHARACTERS_MAX: usize = 65_536;

/// Maximum number of distinct words and phrases in a query.
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
    /// Words in the common form of their spellings, and phrases with a space between their words: ascending, distinct, at least one.
    pub keywords: Vec<String>,
    /// How many keywords an answer must contain; [`Mode::All`] for a single keyword.
    pub mode: Mode,
}

/// Parses a query, whose words are tokenized with `options`.
pub fn parse(text: &str, options: TokenizerOptions) -> Result<KeywordQuery, QueryRefusal> {
    if text.len() > QUERY_CHARACTERS_MAX {
        if let Some((at, _)) = text.char_indices().nth(QUERY_CHARACTERS_MAX) {
            let message = format!("more than {QUERY_CHARACTERS_MAX} characters");
            return Err(refusal("keywords.too-long", message, text, at));
        }
    }
    let mut tokenizer = Tokenizer::new(options, WORD_BYTES_MAX);
    let mut builder = QueryBuilder::default();
    // The open quotation mark: its position and the words since.
    let mut quoted: Option<(usize, Vec<String>)> = None;
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
            builder.operator(run, text, at)?;
            continue;
        }
        if quoted.is_none() && run == NOT {
            let message = "`NOT` is not supported (write `not` for the word itself)";
            return Err(unsupported(message, text, at));
        }
        let run = QuotedRun::of(run, quoted.is_some());
        let mut tokens = RunTokens::default();
        tokenizer.tokenize(&run.content.to_ascii_lowercase(), &mut tokens);
        let RunTokens {
            words,
            has_overlong,
        } = tokens;
        let has_word = has_overlong || !words.is_empty();
        let may_exclude = quoted.is_none() && (run.opens || has_word);
        if may_exclude && text[at..].starts_with('-') {
            let message = "`-` is not supported: words cannot be excluded";
            return Err(unsupported(message, text, at));
        }
        if has_overlong {
            let message = format!("a word has more than {WORD_BYTES_MAX} bytes");
            return Err(refusal("keywords.word-too-long", message, text, at));
        }
        if run.opens {
            quoted = Some((at, Vec::new()));
        }
        let Some((start, mut phrase)) = quoted.take() else {
            words.into_iter().for_each(|word| builder.keyword(word, at));
            continue;
        };
        if count_marks(run.content) > words.iter().map(|word| count_marks(word)).sum() {
            let message = "quotation marks must enclose whole words";
            return Err(unsupported(message, text, at));
        }
        phrase.extend(words);
        if !run.closes {
            quoted = Some((start, phrase));
            continue;
        }
        if phrase.len() > PHRASE_WORDS_MAX {
            let count = phrase.len();
            let message =
                format!("a phrase of {count} words exceeds the limit of {PHRASE_WORDS_MAX}");
            return Err(refusal("keywords.too-many", message, text, start));
        }
        if !phrase.is_empty() {
            builder.keyword(phrase.join(PHRASE_SEPARATOR), start);
        }
    }
    if let Some((start, _)) = quoted {
        let message = "the quotation mark is not closed";
        return Err(unsupported(message, text, start));
    }
    builder.finish(text)
}

/// The words of a run of characters without white space.
#[derive(Default)]
struct RunTokens {
    words: Vec<String>,
    /// Whether it has a word that is too long.
    has_overlong: bool,
}

impl TokenVisitor for RunTokens {
    fn token(&mut self, _: usize, word: &[u8]) {
        let text = std::str::from_utf8(word);
        self.words.push(text.expect("words are UTF-8").to_owned());
    }

    fn overlong(&mut self, _: usize) {
        self.has_overlong = true;
    }
}

/// A keyword as it is written in a query: in quotation marks if it is a phrase, or a word that begins with
/// syntax, because an accent that is a letter extends any character.
pub fn spelled(keyword: &str) -> String {
    match keyword.contains(PHRASE_SEPARATOR)
        || keyword.starts_with(QUOTES)
        || keyword.starts_with('-')
    {
        true => format!("\"{keyword}\""),
        false => keyword.to_owned(),
    }
}

/// A run of characters without white space, and the quotation marks around it.
struct QuotedRun<'t> {
    /// Whether a quotation begins here.
    opens: bool,
    /// Whether the quotation ends here.
    closes: bool,
    /// The run without these marks and the punctuation outside of them.
    content: &'t str,
}

impl<'t> QuotedRun<'t> {
    /// `is_quoted` says whether a quotation is open before the run.
    fn of(run: &'t str, is_quoted: bool) -> QuotedRun<'t> {
        let is_outside = |c: char| c.is_ascii_punctuation() && c != '"';
        let inside = run.trim_start_matches(is_outside).strip_prefix(QUOTES);
        let opening = inside.filter(|_| !is_quoted);
        let content = opening.unwrap_or(run);
        let inside = content.trim_end_matches(is_outside).strip_suffix(QUOTES);
        let closing = inside.filter(|_| is_quoted || opening.is_some());
        QuotedRun {
            opens: opening.is_some(),
            closes: closing.is_some(),
            content: closing.unwrap_or(content),
        }
    }
}

fn count_marks(text: &str) -> usize {
    text.matches(QUOTES).count()
}

/// Collects the keywords and operators of a query.
#[derive(Default)]
struct QueryBuilder<'t> {
    keywords: Vec<String>,
    is_any: bool,
    /// Position of the first keyword, other than the very first, that no `OR` precedes.
    unjoined: Option<usize>,
    /// The last operator, if no keyword follows it yet.
    open_operator: Option<(usize, &'t str)>,
}

impl<'t> QueryBuilder<'t> {
    fn operator(&mut self, operator: &'t str, text: &str, at: usize) -> Result<(), QueryRefusal> {
        if self.keywords.is_empty() || self.open_operator.is_some() {
            return Err(misplaced(operator, text, at));
        }
        self.is_any |= operator == OR;
        self.open_operator = Some((at, operator));
        Ok(())
    }

    fn keyword(&mut self, keyword: String, at: usize) {
        match self.open_operator.take() {
            Some((_, OR)) => {}
            Some((and, _)) => self.unjoined = self.unjoined.or(Some(and)),
            None if self.keywords.is_empty() => {}
            None => self.unjoined = self.unjoined.or(Some(at)),
        }
        self.keywords.push(keyword);
    }

    fn finish(mut self, text: &str) -> Result<KeywordQuery, QueryRefusal> {
        if let Some((at, operator)) = self.open_operator {
            return Err(misplaced(operator, text, at));
        }
        if self.keywords.is_empty() {
            let message = "the query contains no word".to_owned();
            return Err(refusal("keywords.none", message, text, 0));
        }
        if let (true, Some(at)) = (self.is_any, self.unjoined) {
            let message = "`OR` must join all words of a query or none".to_owned();
            return Err(refusal("keywords.mixed", message, text, at));
        }
        self.keywords.sort_unstable();
        self.keywords.dedup();
        let count = self.keywords.len();
        if count > KEYWORDS_MAX {
            let message = format!("{count} words exceed the limit of {KEYWORDS_MAX}");
            return Err(refusal("keywords.too-many", message, text, 0));
        }
        Ok(KeywordQuery {
            keywords: self.keywords,
            mode: match self.is_any && count > 1 {
                true => Mode::Any,
                false => Mode::All,
            },
        })
    }
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

    const OPTIONS: TokenizerOptions = TokenizerOptions {
        fold_diacritics: true,
        split_names: true,
        unify_apostrophes: true,
        unify_abbreviations: true,
    };

    /// The canonical spelling of a query.
    fn canonical_text(query: &KeywordQuery) -> String {
        let keywords = query.keywords.iter().map(|keyword| spelled(keyword));
        keywords.collect::<Vec<String>>().join(match query.mode {
            Mode::All => " ",
            Mode::Any => " OR ",
        })
    }

    fn canonical(text: &str) -> String {
        canonical_text(&parse(text, OPTIONS).expect("a query"))
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
            ("Été Ete U.S. us", "ete us"),
            ("\"Storm  surge\"", "\"storm surge\""),
            ("tide \"Storm-Surge\" storm", "storm \"storm surge\" tide"),
            (
                "(\"storm surge\") OR \u{201c}high tide!\u{201d}",
                "\"high tide\" OR \"storm surge\"",
            ),
            ("\"storm surge\" AND \"storm  surge\"", "\"storm surge\""),
            ("\" storm\nOR -surge \"", "\"storm or surge\""),
            ("\"\u{6771}\u{4eac}\"", "\"\u{6771} \u{4eac}\""),
            (
                "\"\u{5e6}\u{5d4}\"\u{5dc} 5\"",
                "\"\u{5e6}\u{5d4}\"\u{5dc} 5\"",
            ),
            ("\"\" storm \" \"", "storm"),
            ("o\"\u{93f}", "\"\"\u{93f}\" o"),
            ("o-\u{93f}", "\"-\u{93f}\" o"),
            ("\"o\"\u{93f} o\"", "\"o \"\u{93f} o\""),
            ("\"\u{93f}\u{915} a\"", "\"\u{93f} \u{915} a\""),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn a_single_word_has_mode_all() {
        assert_eq!(
            parse("storm OR storm", OPTIONS).expect("a query").mode,
            Mode::All
        );
        assert_eq!(
            parse("storm OR gale", OPTIONS).expect("a query").mode,
            Mode::Any
        );
    }

    #[test]
    fn invalid_queries_are_rejected_at_the_position_of_the_error() {
        let long = format!("é {}", "x".repeat(WORD_BYTES_MAX + 1));
        let marked = format!("a{}", "\u{334}".repeat(WORD_BYTES_MAX / 2));
        let excluded = format!("-{marked}");
        let many: String = (0..=KEYWORDS_MAX).map(|at| format!("w{at} ")).collect();
        let long_phrase = format!("é \"{}\"", "a ".repeat(PHRASE_WORDS_MAX + 1));
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
            ("-\"storm surge\"", "keywords.unsupported", 0),
            ("-\" storm\"", "keywords.unsupported", 0),
            ("\"storm surge\"\"tide gale\"", "keywords.unsupported", 7),
            ("\"storm\"surge\"", "keywords.unsupported", 0),
            ("\"storm surge\" OR gale tide", "keywords.mixed", 22),
            ("gale OR tide \"storm surge\"", "keywords.mixed", 13),
            ("gale OR \"\"", "keywords.mixed", 5),
            ("\"\"", "keywords.none", 0),
            (long_phrase.as_str(), "keywords.too-many", 2),
            ("storm \u{201c}surge", "keywords.unsupported", 6),
            (long.as_str(), "keywords.word-too-long", 2),
            (marked.as_str(), "keywords.word-too-long", 0),
            (excluded.as_str(), "keywords.unsupported", 0),
            (many.as_str(), "keywords.too-many", 0),
        ] {
            let refused = parse(text, OPTIONS).expect_err(text);
            assert_eq!(
                (refused.code, refused.offset_characters),
                (code, at),
                "{text}"
            );
        }
        let most: String = (0..KEYWORDS_MAX).map(|at| format!("w{at} ")).collect();
        assert_eq!(
            parse(&most, OPTIONS).expect("a query").keywords.len(),
            KEYWORDS_MAX
        );
    }

    proptest! {
        #[test]
        fn a_canonical_text_parses_to_the_same_query(text in "(OR |AND |NOT |[a-cA-Cßéﬁæи\u{2019}\u{301}\u{306}\u{363}\u{93f}\u{6771}\u{5d0}'._\"-]{1,4} ){0,6}") {
            for options in TokenizerOptions::combinations() {
                if let Ok(query) = parse(&text, options) {
                    prop_assert_eq!(parse(&canonical_text(&query), options), Ok(query));
                }
            }
        }
    }
}
