//! Queries for Python, as nested tuples, which `native_tree.py` turns into dataclasses.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::xpath::ast::{
    Axis, Expr, Kind, Literal, Path, Query, Step, StringCondition, StringFunction,
};
use crate::xpath::{normalise, parse, Namespaces};

type Outcome<'py> = (
    Option<Bound<'py, PyTuple>>,
    Option<(&'static str, String, Option<usize>)>,
);

/// Parses a query and normalises it if `normal` is set. Returns the tree, or the refusal: code, message,
/// offset in characters.
#[pyfunction]
pub fn parse_query<'py>(
    py: Python<'py>,
    text: &str,
    namespaces: Vec<(String, String)>,
    default_namespace: &str,
    normal: bool,
) -> PyResult<Outcome<'py>> {
    let bindings = namespaces
        .iter()
        .map(|(prefix, uri)| (prefix.as_str(), uri.as_str()));
    let namespaces = match Namespaces::new(bindings, default_namespace) {
        Ok(namespaces) => namespaces,
        Err(problem) => return Ok((None, Some(("query.namespaces", problem, None)))),
    };
    match parse(text, &namespaces) {
        Ok(query) if normal => Ok((Some(query_tuple(py, &normalise(query))?), None)),
        Ok(query) => Ok((Some(query_tuple(py, &query)?), None)),
        Err(refusal) => {
            let offset = Some(refusal.offset_characters);
            Ok((None, Some((refusal.code, refusal.message, offset))))
        }
    }
}

/// A query as nested tuples.
pub fn query_tuple<'py>(py: Python<'py>, query: &Query) -> PyResult<Bound<'py, PyTuple>> {
    tuple_of(py, &query.branches, path_tuple)
}

fn path_tuple<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyTuple>> {
    tuple_of(py, &path.steps, step_tuple)
}

fn step_tuple<'py>(py: Python<'py>, step: &Step) -> PyResult<Bound<'py, PyTuple>> {
    let axis = match step.axis {
        Axis::Child => "/",
        Axis::Descendant => "//",
    };
    let kind = match step.kind {
        Kind::Element => "element",
        Kind::Attribute => "attribute",
        Kind::Text => "text",
    };
    let predicates = tuple_of(py, &step.predicates, expr_tuple)?;
    (
        axis,
        kind,
        step.test.uri.as_deref(),
        step.test.local.as_deref(),
        predicates,
    )
        .into_pyobject(py)
}

fn expr_tuple<'py>(py: Python<'py>, expr: &Expr) -> PyResult<Bound<'py, PyTuple>> {
    match expr {
        Expr::And(items) => ("and", tuple_of(py, items, expr_tuple)?).into_pyobject(py),
        Expr::Or(items) => ("or", tuple_of(py, items, expr_tuple)?).into_pyobject(py),
        Expr::Not(item) => ("not", expr_tuple(py, item)?).into_pyobject(py),
        Expr::Exists(path) => ("exists", path_tuple(py, path)?).into_pyobject(py),
        Expr::Compare(path, op, literal) => {
            let path = path_tuple(py, path)?;
            match literal {
                Literal::Text(text) => ("compare", path, op.text(), &**text).into_pyobject(py),
                Literal::Number(number) => ("compare", path, op.text(), number).into_pyobject(py),
            }
        }
        Expr::Contains(path, text) => {
            ("contains", path_tuple(py, path)?, &**text).into_pyobject(py)
        }
        Expr::StartsWith(path, text) => {
            ("starts-with", path_tuple(py, path)?, &**text).into_pyobject(py)
        }
        Expr::String(test) => {
            let path = path_tuple(py, &test.path)?;
            let functions = tuple_of(py, &test.functions, function_tuple)?;
            let condition = condition_tuple(py, &test.condition)?;
            ("string", path, functions, condition).into_pyobject(py)
        }
        Expr::Count(path, op, number) => {
            ("count", path_tuple(py, path)?, op.text(), number).into_pyobject(py)
        }
        Expr::ComparePaths(left, op, right) => (
            "compare-paths",
            path_tuple(py, left)?,
            op.text(),
            path_tuple(py, right)?,
        )
            .into_pyobject(py),
        Expr::Position(op, number) => ("position", op.text(), number).into_pyobject(py),
        Expr::PositionLast(op) => ("position-last", op.text()).into_pyobject(py),
        Expr::Last(op, number) => ("last", op.text(), number).into_pyobject(py),
    }
}

fn function_tuple<'py>(
    py: Python<'py>,
    function: &StringFunction,
) -> PyResult<Bound<'py, PyTuple>> {
    match function {
        StringFunction::NormalizeSpace => ("normalize-space",).into_pyobject(py),
        StringFunction::LowerCase => ("lower-case",).into_pyobject(py),
        StringFunction::UpperCase => ("upper-case",).into_pyobject(py),
        StringFunction::Translate(from, to) => ("translate", &**from, &**to).into_pyobject(py),
    }
}

fn condition_tuple<'py>(
    py: Python<'py>,
    condition: &StringCondition,
) -> PyResult<Bound<'py, PyTuple>> {
    match condition {
        StringCondition::Compare(op, Literal::Text(text)) => {
            ("compare", op.text(), &**text).into_pyobject(py)
        }
        StringCondition::Compare(op, Literal::Number(number)) => {
            ("compare", op.text(), number).into_pyobject(py)
        }
        StringCondition::Contains(text) => ("contains", &**text).into_pyobject(py),
        StringCondition::StartsWith(text) => ("starts-with", &**text).into_pyobject(py),
        StringCondition::EndsWith(text) => ("ends-with", &**text).into_pyobject(py),
        StringCondition::Matches(pattern, flags) => {
            ("matches", &**pattern, &**flags).into_pyobject(py)
        }
        StringCondition::Length(op, number) => ("length", op.text(), number).into_pyobject(py),
        StringCondition::Date(date_type, op, text) => {
            ("date", date_type.text(), op.text(), &**text).into_pyobject(py)
        }
    }
}

fn tuple_of<'py, T>(
    py: Python<'py>,
    items: &[T],
    convert: impl Fn(Python<'py>, &T) -> PyResult<Bound<'py, PyTuple>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let items = items
        .iter()
        .map(|item| convert(py, item))
        .collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, items)
}
