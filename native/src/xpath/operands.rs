//! Operands of expressions, and comparisons of two operands.

use super::ast::{Expr, Literal, Op, Path};
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
    Truth(Expr),
}

/// A value and the offset where it starts.
pub(super) struct Operand {
    pub value: Value,
    pub start: usize,
}

/// The condition `left op right` with the operator at `at`; refuses unsupported operands.
pub(super) fn compare(left: Operand, op: Op, right: Operand, at: usize) -> Parsed<Expr> {
    use Value::{Last, Nodes, Number, Position, Text, Truth, Union};
    let problem = match (left.value, right.value) {
        (Truth(_), _) | (_, Truth(_)) => "a condition cannot be compared",
        (Nodes(_) | Union(_), Nodes(_) | Union(_)) => {
            "two paths cannot be compared with each other"
        }
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
