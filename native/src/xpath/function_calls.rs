//! The part of the parser for function calls.

use super::ast::{DateType, Expr, Op, Path, StringCondition, StringFunction, StringTest};
use super::date::milliseconds;
use super::operands::{Operand, StringOf, Value};
use super::parser::Parser;
use super::query_refusal::{refuse, Parsed};
use super::regex::Pattern;
use super::string_functions::apply;

const XML_SCHEMA_NAMESPACE: &str = "http://www.w3.org/2001/XMLSchema";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    Not,
    Position,
    Last,
    Contains,
    StartsWith,
    EndsWith,
    Matches,
    NormalizeSpace,
    LowerCase,
    UpperCase,
    Translate,
    Length,
    Count,
    Date(DateType),
}

impl Function {
    /// The minimum and maximum number of arguments, and how to say it.
    fn arity(self) -> (usize, usize, &'static str) {
        match self {
            Function::NormalizeSpace | Function::Length => (0, 1, "at most 1 argument"),
            Function::Contains | Function::StartsWith | Function::EndsWith => (2, 2, "2 arguments"),
            Function::Matches => (2, 3, "2 or 3 arguments"),
            Function::Translate => (3, 3, "3 arguments"),
            _ => (1, 1, "1 argument"),
        }
    }

    /// Whether it has a value for a string in quotes; the others would have the same for every node.
    fn accepts_constants(self) -> bool {
        matches!(
            self,
            Function::NormalizeSpace
                | Function::LowerCase
                | Function::UpperCase
                | Function::Translate
                | Function::Date(_)
        )
    }
}

impl Parser<'_> {
    /// Parses the call of the function `name`, which is next.
    pub(super) fn call(&mut self, name: &str) -> Parsed<Value> {
        let start = self.scanner.at;
        let Some(function) = self.function(name) else {
            let message = format!("the function `{name}()` is not supported");
            return refuse("query.function", message, start);
        };
        self.scanner.at += name.len();
        self.scanner.skip();
        self.scanner.enter()?;
        self.scanner.at += 1;
        let value = match function {
            Function::Not => {
                let item = self.or()?;
                Value::Truth(Expr::Not(Box::new(self.condition_of(item)?)))
            }
            Function::Position => Value::Position,
            Function::Last => Value::Last,
            _ => self.value_of_call(function, name, start)?,
        };
        self.scanner.expect(")")?;
        self.scanner.leave();
        Ok(value)
    }

    fn function(&self, name: &str) -> Option<Function> {
        if let Some((prefix, local)) = name.split_once(':') {
            let uri = self.namespaces.resolve(prefix);
            let is_schema = uri.map_or(prefix == "xs", |uri| uri == XML_SCHEMA_NAMESPACE);
            return match local {
                "date" if is_schema => Some(Function::Date(DateType::Date)),
                "dateTime" if is_schema => Some(Function::Date(DateType::DateTime)),
                _ => None,
            };
        }
        Some(match name {
            "not" => Function::Not,
            "position" => Function::Position,
            "last" => Function::Last,
            "contains" => Function::Contains,
            "starts-with" => Function::StartsWith,
            "ends-with" => Function::EndsWith,
            "matches" => Function::Matches,
            "normalize-space" => Function::NormalizeSpace,
            "lower-case" => Function::LowerCase,
            "upper-case" => Function::UpperCase,
            "translate" => Function::Translate,
            "string-length" => Function::Length,
            "count" => Function::Count,
            _ => return None,
        })
    }

    fn value_of_call(&mut self, function: Function, name: &str, start: usize) -> Parsed<Value> {
        let mut arguments = self.arguments()?.into_iter();
        let (min, max, arity) = function.arity();
        if !(min..=max).contains(&arguments.len()) {
            return refuse("query.function", format!("`{name}()` takes {arity}"), start);
        }
        let first = arguments.next().unwrap_or(Operand {
            value: Value::Nodes(Path::default()),
            start,
        });
        let first_start = first.start;
        let string = match first.value {
            Value::Nodes(path) if function == Function::Count => return Ok(Value::Count(path)),
            Value::Nodes(path) => Ok(StringOf {
                path,
                functions: Vec::new(),
            }),
            Value::String(string) if function != Function::Count => Ok(string),
            Value::Text(text) if function.accepts_constants() => Err(text),
            _ => return wrong_first_argument(name, first_start),
        };
        let mut texts = Vec::with_capacity(2);
        for (argument, ordinal) in arguments.zip(["second", "third"]) {
            let Value::Text(text) = argument.value else {
                let message =
                    format!("the {ordinal} argument of `{name}()` must be a string in quotes");
                return refuse("query.function", message, argument.start);
            };
            texts.push((text, argument.start));
        }
        let mut texts = texts.into_iter();
        let mut text = || texts.next().expect("the arity is checked").0;
        let converted = match function {
            Function::NormalizeSpace => StringFunction::NormalizeSpace,
            Function::LowerCase => StringFunction::LowerCase,
            Function::UpperCase => StringFunction::UpperCase,
            Function::Translate => StringFunction::Translate(text(), text()),
            Function::Date(date_type) => return date_value(date_type, string, first_start),
            _ => {
                let string =
                    string.expect("only functions with a constant result accept constants");
                if function == Function::Length {
                    return Ok(Value::Length(string));
                }
                let texts: Vec<_> = texts.collect();
                self.scanner.count_conditions(start, 1)?;
                return Ok(Value::Truth(self.string_test(function, string, &texts)?));
            }
        };
        Ok(match string {
            Ok(mut string) => {
                string.functions.push(converted);
                Value::String(string)
            }
            Err(constant) => Value::Text(apply(&converted, &constant).into()),
        })
    }

    fn arguments(&mut self) -> Parsed<Vec<Operand>> {
        let mut arguments = Vec::new();
        self.scanner.skip();
        if self.scanner.peek() == b')' {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.or()?);
            self.scanner.skip();
            if !self.scanner.take(",") {
                return Ok(arguments);
            }
        }
    }

    fn string_test(
        &self,
        function: Function,
        string: StringOf,
        texts: &[(Box<str>, usize)],
    ) -> Parsed<Expr> {
        let text = texts[0].0.clone();
        if string.functions.is_empty() {
            match function {
                Function::Contains => return Ok(Expr::Contains(string.path, text)),
                Function::StartsWith => return Ok(Expr::StartsWith(string.path, text)),
                _ => {}
            }
        }
        let condition = match function {
            Function::Contains => StringCondition::Contains(text),
            Function::StartsWith => StringCondition::StartsWith(text),
            Function::EndsWith => StringCondition::EndsWith(text),
            _ => {
                let flags = texts
                    .get(1)
                    .map_or_else(Box::default, |flags| flags.0.clone());
                if let Err(refusal) = Pattern::compile(&text, &flags) {
                    let argument = texts[usize::from(refusal.in_flags)].1;
                    // A literal has no escapes, so an offset in it is one in the query.
                    let quoted = matches!(self.scanner.text.as_bytes()[argument], b'\'' | b'"');
                    let at = argument + if quoted { 1 + refusal.offset } else { 0 };
                    return refuse(refusal.code, refusal.message, at);
                }
                StringCondition::Matches(text, flags)
            }
        };
        Ok(string.test(condition))
    }
}

impl StringOf {
    pub(super) fn test(self, condition: StringCondition) -> Expr {
        Expr::String(Box::new(StringTest {
            path: self.path,
            functions: self.functions,
            condition,
        }))
    }

    /// The condition that the string is not empty.
    pub(super) fn not_empty(self) -> Expr {
        self.test(StringCondition::Compare(
            Op::Ne,
            super::ast::Literal::Text("".into()),
        ))
    }
}

fn date_value(
    date_type: DateType,
    string: Result<StringOf, Box<str>>,
    start: usize,
) -> Parsed<Value> {
    match string {
        Ok(string) => Ok(Value::Date(date_type, string)),
        Err(text) if milliseconds(date_type, &text).is_some() => {
            Ok(Value::DateLiteral(date_type, text))
        }
        Err(_) => refuse(
            "query.date",
            format!("the string is not a valid `{}`", date_type.text()),
            start,
        ),
    }
}

fn wrong_first_argument<T>(name: &str, at: usize) -> Parsed<T> {
    let message = format!("the first argument of `{name}()` must be one path");
    refuse("query.function", message, at)
}
