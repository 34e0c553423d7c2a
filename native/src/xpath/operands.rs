//! Operands of expressions, and comparisons of two operands.

use super::ast::{DateType, Expr, Literal, Op, Path, StringCondition, StringFunction};
use super::query_refusal::{refuse, Parsed};

/// The value of an operand.
pub(super) enum Value {
    Nodes(Path),
    /// At least two paths.
    Union(Vec<Path>),
    Text(Box<str>),
    Number(f64),
    Position,
    Last,
    String(StringOf),
    /// `string-length()`
    Length(StringOf),
    /// `count()`
    Count(Path),
    /// `xs:date()` or `xs:dateTime()` of a path
    Date(DateType, StringOf),
    /// The same of a string in quotes, which is valid.
    DateLiteral(DateType, Box<str>),
    Truth(Expr),
}

/// The string-value of the first node of a path, after functions.
pub(super) struct StringOf {
    pub path: Path,
    pub functions: Vec<StringFunction>,
}

/// A value and the offset where it starts.
pub(super) struct Operand {
    pub value: Value,
    pub start: usize,
}

/// The condition `left op right` with the operator at `at`; refuses unsupported operands.
pub(super) fn compare(left: Operand, op: Op, right: Operand, at: usize) -> Parsed<Expr> {
    use Value::{
        Count, Date, DateLiteral, Last, Length, Nodes, Number, Position, String, Text, Truth, Union,
    };
    let problem = match (left.value, right.value) {
        (Truth(_), _) | (_, Truth(_)) => "a condition cannot be compared",
        (Date(one, string), DateLiteral(two, text)) if one == two => {
            return Ok(string.test(StringCondition::Date(one, op, text)))
        }
        (DateLiteral(one, text), Date(two, string)) if one == two => {
            return Ok(string.test(StringCondition::Date(one, op.flipped(), text)))
        }
        (Date(..) | DateLiteral(..), _) | (_, Date(..) | DateLiteral(..)) => {
            "a date of a path can only be compared with a date of the same type of a string"
        }
        (Count(path), Number(n)) => return Ok(Expr::Count(path, op, n)),
        (Number(n), Count(path)) => return Ok(Expr::Count(path, op.flipped(), n)),
        (Length(string), Number(n)) => return Ok(string.test(StringCondition::Length(op, n))),
        (Number(n), Length(string)) => {
            return Ok(string.test(StringCondition::Length(op.flipped(), n)))
        }
        (Count(_) | Length(_), _) | (_, Count(_) | Length(_)) => {
            "`count()` and `string-length()` can only be compared with numbers"
        }
        (String(string), Text(text)) => {
            return Ok(string.test(StringCondition::Compare(op, Literal::Text(text))))
        }
        (String(string), Number(n)) => {
            return Ok(string.test(StringCondition::Compare(op, Literal::Number(n))))
        }
        (Text(text), String(string)) => {
            let literal = Literal::Text(text);
            return Ok(string.test(StringCondition::Compare(op.flipped(), literal)));
        }
        (Number(n), String(string)) => {
            let literal = Literal::Number(n);
            return Ok(string.test(StringCondition::Compare(op.flipped(), literal)));
        }
        (String(_), _) | (_, String(_)) => {
            "the result of a string function can only be compared with a string or a number"
        }
        (Nodes(left), Nodes(right)) => return Ok(Expr::ComparePaths(left, op, right)),
        (Union(_), Nodes(_) | Union(_)) | (Nodes(_), Union(_)) => "a union cannot be compared",
        (Nodes(path), Text(text)) => return Ok(Expr::Compare(path, op, Literal::Text(text))),
        (Nodes(path), Number(n)) => return Ok(Expr::Compare(path, op, Literal::Number(n))),
        (Text(text), Nodes(path)) => {
            return Ok(Expr::Compare(path, op.flipped(), Literal::Text(text)))
        }
        (Number(n), Nodes(path)) => {
            return Ok(Expr::Compare(path, op.flipped(), Literal::Number(n)))
        }
        (Union(_), Text(_) | Number(_)) | (Text(_) | Number(_), Union(_)) => {
            "a union cannot be compared"
        }
        (Position, Number(n)) => return Ok(Expr::Position(op, n)),
        (Number(n), Position) => return Ok(Expr::Position(op.flipped(), n)),
        (Position, Last) => return Ok(Expr::PositionLast(op)),
        (Last, Position) => return Ok(Expr::PositionLast(op.flipped())),
        (Last, Number(n)) => return Ok(Expr::Last(op, n)),
        (Number(n), Last) => return Ok(Expr::Last(op.flipped(), n)),
        (Position | Last, Nodes(_) | Union(_) | Text(_))
        | (Nodes(_) | Union(_) | Text(_), Position | Last) => {
            "`position()` and `last()` can only be compared with numbers and each other"
        }
        (Text(_) | Number(_), Text(_) | Number(_)) | (Position, Position) | (Last, Last) => {
            let message = "the comparison has the same value for every node";
            return refuse("query.constant", message, left.start);
        }
    };
    refuse("query.comparison", problem, at)
}
