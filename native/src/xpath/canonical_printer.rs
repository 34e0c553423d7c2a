//! Prints queries as canonical text, which needs no prefixes.
//!
//! Canonical text is the query language with three extensions: names in a namespace are `Q{uri}n`, a
//! closing brace in a URI is doubled, and so is a single quote in a string. Indexes store it;
//! [`super::parse_canonical`] parses it.

use std::fmt::Write;

use super::ast::{
    Axis, Expr, Kind, Literal, NameTest, Op, Path, Query, Step, StringCondition, StringFunction,
    StringTest,
};

/// The query as canonical text. Two trees have the same text if and only if they are equal.
pub fn canonical_text(query: &Query) -> String {
    let mut out = String::with_capacity(64);
    for (number, branch) in query.branches.iter().enumerate() {
        if number > 0 {
            out.push('|');
        }
        for step in &branch.steps {
            write_step(&mut out, step, axis_text(step.axis));
        }
    }
    out
}

/// A step as canonical text, with its axis. Two steps have the same text if and only if they are equal.
pub(crate) fn canonical_step(step: &Step) -> String {
    let mut out = String::new();
    write_step(&mut out, step, axis_text(step.axis));
    out
}

/// A predicate as canonical text. Two predicates have the same text if and only if they are equal.
pub(crate) fn canonical_predicate(expr: &Expr) -> String {
    let mut out = String::new();
    write_expr(&mut out, expr);
    out
}

fn axis_text(axis: Axis) -> &'static str {
    match axis {
        Axis::Child => "/",
        Axis::Descendant => "//",
    }
}

fn write_nested(out: &mut String, path: &Path) {
    let Some((first, more)) = path.steps.split_first() else {
        out.push('.');
        return;
    };
    write_step(
        out,
        first,
        if first.axis == Axis::Child { "" } else { ".//" },
    );
    for step in more {
        write_step(out, step, axis_text(step.axis));
    }
}

fn write_step(out: &mut String, step: &Step, lead: &str) {
    out.push_str(lead);
    match step.kind {
        Kind::Text => out.push_str("text()"),
        Kind::Attribute => {
            out.push('@');
            write_name_test(out, &step.test);
        }
        Kind::Element => write_name_test(out, &step.test),
    }
    for predicate in &step.predicates {
        out.push('[');
        match predicate {
            Expr::Position(Op::Eq, number) => write_number(out, *number),
            Expr::PositionLast(Op::Eq) => out.push_str("last()"),
            _ => write_expr(out, predicate),
        }
        out.push(']');
    }
}

fn write_name_test(out: &mut String, test: &NameTest) {
    match (test.uri.as_deref(), test.local.as_deref()) {
        (None, None) => {}
        (None, Some(_)) => out.push_str("*:"),
        (Some(""), Some(_)) => {}
        (Some(uri), _) => {
            out.push_str("Q{");
            write_doubling(out, uri, '}');
            out.push('}');
        }
    }
    out.push_str(test.local.as_deref().unwrap_or("*"));
}

fn write_expr(out: &mut String, expr: &Expr) {
    match expr {
        Expr::And(items) => write_joined(out, items, " and ", |item| {
            matches!(item, Expr::And(_) | Expr::Or(_))
        }),
        Expr::Or(items) => write_joined(out, items, " or ", |item| matches!(item, Expr::Or(_))),
        Expr::Not(item) => {
            out.push_str("not(");
            write_expr(out, item);
            out.push(')');
        }
        Expr::Exists(path) => write_nested(out, path),
        Expr::Compare(path, op, literal) => {
            write_nested(out, path);
            out.push_str(op.text());
            write_literal(out, literal);
        }
        Expr::Contains(path, text) => write_text_test(out, "contains(", path, text),
        Expr::StartsWith(path, text) => write_text_test(out, "starts-with(", path, text),
        Expr::String(test) => write_string_test(out, test),
        Expr::Count(path, op, number) => {
            out.push_str("count(");
            write_nested(out, path);
            out.push(')');
            out.push_str(op.text());
            write_number(out, *number);
        }
        Expr::ComparePaths(left, op, right) => {
            write_nested(out, left);
            out.push_str(op.text());
            write_nested(out, right);
        }
        Expr::Position(op, number) => {
            out.push_str("position()");
            out.push_str(op.text());
            write_number(out, *number);
        }
        Expr::PositionLast(op) => {
            out.push_str("position()");
            out.push_str(op.text());
            out.push_str("last()");
        }
        Expr::Last(op, number) => {
            out.push_str("last()");
            out.push_str(op.text());
            write_number(out, *number);
        }
    }
}

fn write_joined(out: &mut String, items: &[Expr], word: &str, wrapped: impl Fn(&Expr) -> bool) {
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push_str(word);
        }
        if wrapped(item) {
            out.push('(');
            write_expr(out, item);
            out.push(')');
        } else {
            write_expr(out, item);
        }
    }
}

fn write_text_test(out: &mut String, call: &str, path: &Path, text: &str) {
    out.push_str(call);
    write_nested(out, path);
    out.push(',');
    write_string(out, text);
    out.push(')');
}

fn write_string_test(out: &mut String, test: &StringTest) {
    let call = |out: &mut String, name: &str, texts: &[&str]| {
        out.push_str(name);
        out.push('(');
        write_transformed(out, &test.path, &test.functions);
        for text in texts {
            out.push(',');
            write_string(out, text);
        }
        out.push(')');
    };
    match &test.condition {
        StringCondition::Compare(op, literal) => {
            write_transformed(out, &test.path, &test.functions);
            out.push_str(op.text());
            write_literal(out, literal);
        }
        StringCondition::Contains(text) => call(out, "contains", &[text]),
        StringCondition::StartsWith(text) => call(out, "starts-with", &[text]),
        StringCondition::EndsWith(text) => call(out, "ends-with", &[text]),
        StringCondition::Matches(pattern, flags) if flags.is_empty() => {
            call(out, "matches", &[pattern]);
        }
        StringCondition::Matches(pattern, flags) => call(out, "matches", &[pattern, flags]),
        StringCondition::Length(op, number) => {
            call(out, "string-length", &[]);
            out.push_str(op.text());
            write_number(out, *number);
        }
        StringCondition::Date(date_type, op, text) => {
            call(out, date_type.text(), &[]);
            out.push_str(op.text());
            out.push_str(date_type.text());
            out.push('(');
            write_string(out, text);
            out.push(')');
        }
    }
}

/// Writes the calls of string functions around a path; the last function is the outermost call.
fn write_transformed(out: &mut String, path: &Path, functions: &[StringFunction]) {
    let Some((last, before)) = functions.split_last() else {
        write_nested(out, path);
        return;
    };
    out.push_str(match last {
        StringFunction::NormalizeSpace => "normalize-space(",
        StringFunction::LowerCase => "lower-case(",
        StringFunction::UpperCase => "upper-case(",
        StringFunction::Translate(..) => "translate(",
    });
    write_transformed(out, path, before);
    if let StringFunction::Translate(from, to) = last {
        out.push(',');
        write_string(out, from);
        out.push(',');
        write_string(out, to);
    }
    out.push(')');
}

fn write_literal(out: &mut String, literal: &Literal) {
    match literal {
        Literal::Text(text) => write_string(out, text),
        Literal::Number(number) => write_number(out, *number),
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('\'');
    write_doubling(out, text, '\'');
    out.push('\'');
}

fn write_doubling(out: &mut String, text: &str, doubled: char) {
    for (number, part) in text.split(doubled).enumerate() {
        if number > 0 {
            out.push(doubled);
            out.push(doubled);
        }
        out.push_str(part);
    }
}

/// Writes the shortest decimal that parses as `number`. Infinity is written as a number of 310 digits,
/// which is the only way a query can contain it; a query never contains NaN.
fn write_number(out: &mut String, number: f64) {
    debug_assert!(!number.is_nan());
    if number.is_infinite() {
        let sign = if number < 0.0 { "-" } else { "" };
        write!(out, "{sign}1{:0>309}", 0).expect("writing to a string cannot fail");
    } else {
        // Rust writes floats without exponents; adding 0 turns -0 into 0.
        write!(out, "{}", number + 0.0).expect("writing to a string cannot fail");
    }
}
