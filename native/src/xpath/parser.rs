//! Parses queries by recursive descent, with one function per production of XPath 1.0's grammar.
//!
//! The parser works on bytes without a separate tokenizer. XPath's rule that `*`, `and`, `or`, `div` and
//! `mod` are operators after an operand and names elsewhere needs none: each is only tried where it is
//! allowed. The parser in Python (`xpath/reference`) is the reference: trees, codes, messages and offsets
//! are the same.

use super::ast::{Expr, Op, Path, Query, StringCondition};
use super::lexical_rules::find_forbidden;
use super::limits::{MAX_CANONICAL_NESTING, MAX_NESTING, MAX_QUERY_CHARACTERS};
use super::namespaces::Namespaces;
use super::operands::{compare, Operand, Value};
use super::path_parser::NODE_TYPES;
use super::query_refusal::{refuse, Parsed, QueryRefusal};
use super::scanner::Scanner;

/// Parses a query.
///
/// # Errors
/// The reason for a refusal, and its position.
pub fn parse(text: &str, namespaces: &Namespaces) -> Result<Query, QueryRefusal> {
    let scanner = Scanner::new(text, MAX_NESTING);
    let mut parser = Parser {
        scanner,
        namespaces,
        canonical: false,
    };
    parser
        .checked_query()
        .map_err(|refused| refused.into_refusal(text))
}

/// Parses the output of [`super::canonical_text`].
///
/// # Errors
/// If `text` is not canonical text.
pub fn parse_canonical(text: &str) -> Result<Query, QueryRefusal> {
    let scanner = Scanner::new(text, MAX_CANONICAL_NESTING);
    let namespaces = Namespaces::default();
    let mut parser = Parser {
        scanner,
        namespaces: &namespaces,
        canonical: true,
    };
    parser.query().map_err(|refused| refused.into_refusal(text))
}

pub(super) struct Parser<'a> {
    pub(super) scanner: Scanner<'a>,
    pub(super) namespaces: &'a Namespaces,
    /// Whether to accept canonical text: `Q{uri}n`, and a doubled quote in a string as one quote.
    pub(super) canonical: bool,
}

impl Parser<'_> {
    fn checked_query(&mut self) -> Parsed<Query> {
        let text = self.scanner.text;
        // Counts characters only if there are enough bytes to exceed the limit.
        if text.len() > MAX_QUERY_CHARACTERS {
            if let Some((at, _)) = text.char_indices().nth(MAX_QUERY_CHARACTERS) {
                let message = format!("more than {MAX_QUERY_CHARACTERS} characters");
                return refuse("query.limit", message, at);
            }
        }
        if let Some((at, character)) = find_forbidden(text) {
            let message = format!("U+{:04X} is not allowed in XML", u32::from(character));
            return refuse("query.character", message, at);
        }
        self.scanner.skip();
        if self.scanner.at == text.len() {
            return refuse("query.empty", "the query is empty", 0);
        }
        self.query()
    }

    fn query(&mut self) -> Parsed<Query> {
        let operand = self.or()?;
        self.scanner.skip();
        if self.scanner.at < self.scanner.text.len() {
            return self.scanner.unexpected();
        }
        match operand.value {
            Value::Nodes(path) => Ok(Query {
                branches: vec![path],
            }),
            Value::Union(branches) => Ok(Query { branches }),
            _ => refuse(
                "query.not-nodes",
                "the query does not select nodes",
                operand.start,
            ),
        }
    }

    // Expressions, in order of increasing precedence.

    pub(super) fn or(&mut self) -> Parsed<Operand> {
        self.joined("or", Self::and, Expr::Or)
    }

    fn and(&mut self) -> Parsed<Operand> {
        self.joined("and", Self::equality, Expr::And)
    }

    fn joined(
        &mut self,
        word: &str,
        part: impl Fn(&mut Self) -> Parsed<Operand>,
        join: impl Fn(Vec<Expr>) -> Expr,
    ) -> Parsed<Operand> {
        let first = part(self)?;
        if !self.scanner.take_word(word) {
            return Ok(first);
        }
        let start = first.start;
        let mut items = vec![self.condition_of(first)?];
        loop {
            let next = part(self)?;
            items.push(self.condition_of(next)?);
            if !self.scanner.take_word(word) {
                return Ok(Operand {
                    value: Value::Truth(join(items)),
                    start,
                });
            }
        }
    }

    fn equality(&mut self) -> Parsed<Operand> {
        self.compared(&[("!=", Op::Ne), ("=", Op::Eq)], Self::relational)
    }

    fn relational(&mut self) -> Parsed<Operand> {
        let operators = &[("<=", Op::Le), (">=", Op::Ge), ("<", Op::Lt), (">", Op::Gt)];
        self.compared(operators, Self::arithmetic)
    }

    fn compared(
        &mut self,
        operators: &[(&str, Op)],
        part: impl Fn(&mut Self) -> Parsed<Operand>,
    ) -> Parsed<Operand> {
        let mut left = part(self)?;
        loop {
            self.scanner.skip();
            let at = self.scanner.at;
            let Some(&(_, op)) = operators
                .iter()
                .find(|(symbol, _)| self.scanner.take(symbol))
            else {
                return Ok(left);
            };
            let start = left.start;
            let right = part(self)?;
            let expr = compare(left, op, right, at)?;
            self.scanner.count_conditions(start, 1)?;
            left = Operand {
                value: Value::Truth(expr),
                start,
            };
        }
    }

    fn arithmetic(&mut self) -> Parsed<Operand> {
        let operand = self.signed()?;
        self.scanner.skip();
        let at = self.scanner.at;
        match self.scanner.peek() {
            b'+' => no_arithmetic("+", at),
            b'-' => no_arithmetic("-", at),
            b'*' => no_arithmetic("*", at),
            b'd' if self.scanner.take_word("div") => no_arithmetic("div", at),
            b'm' if self.scanner.take_word("mod") => no_arithmetic("mod", at),
            _ => Ok(operand),
        }
    }

    fn signed(&mut self) -> Parsed<Operand> {
        self.scanner.skip();
        let start = self.scanner.at;
        let mut negative = false;
        while self.scanner.take("-") {
            negative = !negative;
            self.scanner.skip();
        }
        let signed = self.scanner.at > start;
        let operand = self.union()?;
        if !signed {
            return Ok(operand);
        }
        let Value::Number(number) = operand.value else {
            return no_arithmetic("-", start);
        };
        // Adding 0 turns -0 into 0.
        let value = if negative { -number } else { number } + 0.0;
        Ok(Operand {
            value: Value::Number(value),
            start,
        })
    }

    fn union(&mut self) -> Parsed<Operand> {
        let first = self.primary()?;
        self.scanner.skip();
        if self.scanner.peek() != b'|' {
            return Ok(first);
        }
        let start = first.start;
        let mut paths = Vec::new();
        add_paths(first, &mut paths)?;
        while self.scanner.take("|") {
            add_paths(self.primary()?, &mut paths)?;
            self.scanner.skip();
        }
        Ok(Operand {
            value: Value::Union(paths),
            start,
        })
    }

    fn primary(&mut self) -> Parsed<Operand> {
        self.scanner.skip();
        let start = self.scanner.at;
        let value = match self.scanner.peek() {
            b'(' => self.parenthesised()?,
            quote @ (b'\'' | b'"') => Value::Text(self.scanner.literal(quote, self.canonical)?),
            b'0'..=b'9' | b'.' if self.scanner.number_ahead() => {
                Value::Number(self.scanner.number())
            }
            b'$' => return refuse("query.variable", "variables are not supported", start),
            _ => match self.scanner.name_before("(") {
                Some(called) if !NODE_TYPES.contains(&called) => self.call(called)?,
                _ => {
                    return Ok(Operand {
                        value: Value::Nodes(self.path()?),
                        start,
                    })
                }
            },
        };
        self.scanner.skip();
        if matches!(self.scanner.peek(), b'[' | b'/') {
            let message = "predicates and steps are not supported here";
            return refuse("query.filter", message, self.scanner.at);
        }
        Ok(Operand { value, start })
    }

    fn parenthesised(&mut self) -> Parsed<Value> {
        self.scanner.enter()?;
        self.scanner.at += 1;
        let inner = self.or()?;
        self.scanner.expect(")")?;
        self.scanner.leave();
        Ok(inner.value)
    }

    // Conditions.

    pub(super) fn condition_of(&mut self, operand: Operand) -> Parsed<Expr> {
        match operand.value {
            Value::Truth(expr) => Ok(expr),
            Value::Nodes(path) => {
                self.scanner.count_conditions(operand.start, 1)?;
                Ok(Expr::Exists(path))
            }
            Value::Union(paths) => {
                self.scanner.count_conditions(operand.start, paths.len())?;
                Ok(Expr::Or(paths.into_iter().map(Expr::Exists).collect()))
            }
            Value::String(string) => {
                self.scanner.count_conditions(operand.start, 1)?;
                Ok(string.not_empty())
            }
            Value::Length(string) => {
                self.scanner.count_conditions(operand.start, 1)?;
                Ok(string.test(StringCondition::Length(Op::Ne, 0.0)))
            }
            Value::Count(path) => {
                self.scanner.count_conditions(operand.start, 1)?;
                Ok(Expr::Count(path, Op::Ne, 0.0))
            }
            Value::Date(..) | Value::DateLiteral(..) => refuse(
                "query.comparison",
                "a date is not a condition",
                operand.start,
            ),
            Value::Text(_) | Value::Number(_) | Value::Position | Value::Last => refuse(
                "query.constant",
                "the predicate has the same value for every node",
                operand.start,
            ),
        }
    }

    /// Parses a predicate with its brackets.
    pub(super) fn predicate(&mut self) -> Parsed<Expr> {
        self.scanner.enter()?;
        self.scanner.at += 1;
        self.scanner.predicates_open += 1;
        let operand = self.or()?;
        self.scanner.expect("]")?;
        self.scanner.predicates_open -= 1;
        self.scanner.leave();
        let positional = match operand.value {
            Value::Number(number) => Expr::Position(Op::Eq, number),
            Value::Last => Expr::PositionLast(Op::Eq),
            Value::Count(_) | Value::Length(_) => {
                let message = "a number in a predicate would be compared with the position";
                return refuse("query.comparison", message, operand.start);
            }
            _ => return self.condition_of(operand),
        };
        self.scanner.count_conditions(operand.start, 1)?;
        Ok(positional)
    }
}

fn add_paths(operand: Operand, paths: &mut Vec<Path>) -> Parsed<()> {
    match operand.value {
        Value::Nodes(path) => paths.push(path),
        Value::Union(more) => paths.extend(more),
        _ => {
            return refuse(
                "query.syntax",
                "only paths can be joined by `|`",
                operand.start,
            )
        }
    }
    Ok(())
}

#[cold]
fn no_arithmetic<T>(operator: &str, at: usize) -> Parsed<T> {
    refuse(
        "query.arithmetic",
        format!("arithmetic (`{operator}`) is not supported"),
        at,
    )
}
