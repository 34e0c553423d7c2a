//! Relations between queries. A query is converted from Python's syntax tree once, and kept with it.

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::xpath::query_tuple;
use crate::relations::{self, Domain};
use crate::xpath::ast::{
    Axis, DateType, Expr, Kind, Literal, NameTest, Op, Path, Query, Step, StringCondition,
    StringFunction, StringTest,
};
use crate::xpath::limits::{MAX_CANONICAL_NESTING, MAX_PREDICATES, MAX_STEPS};

/// A query compiled for relations to others with the same single-valued elements.
#[pyclass(frozen, module = "penstock._native")]
pub struct CompiledQuery {
    pub(super) compiled: relations::CompiledQuery,
}

#[pymethods]
impl CompiledQuery {
    /// Compiles a syntax tree; a `ValueError` if it exceeds the limits of parsed queries or contains a
    /// lone surrogate.
    #[new]
    fn new(query: &Bound<'_, PyAny>, single_valued: Vec<(String, String)>) -> PyResult<Self> {
        let query = TreeReader::default().query(query)?;
        let domain = Domain::new(single_valued);
        Ok(CompiledQuery {
            compiled: relations::CompiledQuery::new(query, domain),
        })
    }

    /// Whether each document that matches `other` provably matches this query.
    fn contains(&self, other: &CompiledQuery) -> bool {
        relations::contains(&self.compiled, &other.compiled)
    }

    /// Whether each node selected by `other` is provably at or under one selected by this query.
    fn covers(&self, other: &CompiledQuery) -> bool {
        relations::covers(&self.compiled, &other.compiled)
    }

    /// Whether the two cannot be proved disjoint.
    fn overlaps(&self, other: &CompiledQuery) -> bool {
        relations::overlaps(&self.compiled, &other.compiled)
    }

    /// A specific query that contains both, as nested tuples.
    fn generalise<'py>(
        &self,
        py: Python<'py>,
        other: &CompiledQuery,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let general = py.detach(|| relations::generalise(&self.compiled, &other.compiled));
        query_tuple(py, &general)
    }
}

/// Reads Python's syntax tree, within the limits of parsed queries, which bound recursion.
#[derive(Default)]
struct TreeReader {
    steps: usize,
    predicates: usize,
    nesting: usize,
}

impl TreeReader {
    fn query(&mut self, query: &Bound<'_, PyAny>) -> PyResult<Query> {
        let py = query.py();
        let branches = self.list(&query.getattr(intern!(py, "branches"))?, Self::path)?;
        if branches.iter().any(|branch| branch.steps.is_empty()) {
            return Err(PyValueError::new_err("a branch has no steps"));
        }
        Ok(Query { branches })
    }

    fn list<T>(
        &mut self,
        items: &Bound<'_, PyAny>,
        read: fn(&mut Self, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> PyResult<Vec<T>> {
        let items = items.cast::<PyTuple>()?;
        items.iter().map(|item| read(self, &item)).collect()
    }

    fn path(&mut self, path: &Bound<'_, PyAny>) -> PyResult<Path> {
        let steps = self.list(&path.getattr(intern!(path.py(), "steps"))?, Self::step)?;
        Ok(Path { steps })
    }

    fn step(&mut self, step: &Bound<'_, PyAny>) -> PyResult<Step> {
        let py = step.py();
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(PyValueError::new_err("the query has too many steps"));
        }
        let axis = match name_of(step, intern!(py, "axis"))?.as_str() {
            "CHILD" => Axis::Child,
            _ => Axis::Descendant,
        };
        let kind = match name_of(step, intern!(py, "kind"))?.as_str() {
            "ELEMENT" => Kind::Element,
            "ATTRIBUTE" => Kind::Attribute,
            _ => Kind::Text,
        };
        let test = step.getattr(intern!(py, "test"))?;
        let part = |name: &Bound<'_, PyString>| -> PyResult<Option<Box<str>>> {
            let part: Option<String> = test.getattr(name)?.extract()?;
            Ok(part.map(String::into_boxed_str))
        };
        Ok(Step {
            axis,
            kind,
            test: NameTest {
                uri: part(intern!(py, "uri"))?,
                local: part(intern!(py, "local"))?,
            },
            predicates: self.list(&step.getattr(intern!(py, "predicates"))?, Self::expr)?,
        })
    }

    fn expr(&mut self, expr: &Bound<'_, PyAny>) -> PyResult<Expr> {
        self.predicates += 1;
        if self.predicates > 2 * MAX_PREDICATES || self.nesting == MAX_CANONICAL_NESTING {
            let message = "the query has too many conditions, or is nested too deeply";
            return Err(PyValueError::new_err(message));
        }
        self.nesting += 1;
        let read = self.expr_within(expr);
        self.nesting -= 1;
        read
    }

    fn expr_within<'py>(&mut self, expr: &Bound<'py, PyAny>) -> PyResult<Expr> {
        let py = expr.py();
        let class = expr.get_type().name()?;
        let get = |name: &Bound<'py, PyString>| expr.getattr(name);
        let path = |reader: &mut Self| reader.path(&get(intern!(py, "path"))?);
        let op = || op_of(expr);
        let number = || get(intern!(py, "value"))?.extract::<f64>();
        Ok(match class.to_str()? {
            "And" => Expr::And(self.list(&get(intern!(py, "items"))?, Self::expr)?),
            "Or" => Expr::Or(self.list(&get(intern!(py, "items"))?, Self::expr)?),
            "Not" => Expr::Not(Box::new(self.expr(&get(intern!(py, "item"))?)?)),
            "Exists" => Expr::Exists(path(self)?),
            "Compare" => Expr::Compare(path(self)?, op()?, literal_of(expr)?),
            "Contains" => Expr::Contains(path(self)?, text_of(expr, intern!(py, "text"))?),
            "StartsWith" => Expr::StartsWith(path(self)?, text_of(expr, intern!(py, "text"))?),
            "StringTest" => Expr::String(Box::new(StringTest {
                path: path(self)?,
                functions: self.list(&get(intern!(py, "functions"))?, Self::function)?,
                condition: condition_of(&get(intern!(py, "condition"))?)?,
            })),
            "Count" => Expr::Count(path(self)?, op()?, number()?),
            "ComparePaths" => Expr::ComparePaths(
                self.path(&get(intern!(py, "left"))?)?,
                op()?,
                self.path(&get(intern!(py, "right"))?)?,
            ),
            "Position" => Expr::Position(op()?, number()?),
            "PositionLast" => Expr::PositionLast(op()?),
            "Last" => Expr::Last(op()?, number()?),
            other => {
                let message = format!("unknown condition {other:?}");
                return Err(PyValueError::new_err(message));
            }
        })
    }

    fn function(&mut self, function: &Bound<'_, PyAny>) -> PyResult<StringFunction> {
        let py = function.py();
        Ok(match function.get_type().name()?.to_str()? {
            "NormalizeSpace" => StringFunction::NormalizeSpace,
            "LowerCase" => StringFunction::LowerCase,
            "UpperCase" => StringFunction::UpperCase,
            _ => StringFunction::Translate(
                text_of(function, intern!(py, "source"))?,
                text_of(function, intern!(py, "target"))?,
            ),
        })
    }
}

fn condition_of(condition: &Bound<'_, PyAny>) -> PyResult<StringCondition> {
    let py = condition.py();
    let text = || text_of(condition, intern!(py, "text"));
    Ok(match condition.get_type().name()?.to_str()? {
        "ComparesWith" => StringCondition::Compare(op_of(condition)?, literal_of(condition)?),
        "ContainsText" => StringCondition::Contains(text()?),
        "StartsWithText" => StringCondition::StartsWith(text()?),
        "EndsWithText" => StringCondition::EndsWith(text()?),
        "MatchesPattern" => StringCondition::Matches(
            text_of(condition, intern!(py, "pattern"))?,
            text_of(condition, intern!(py, "flags"))?,
        ),
        "HasLength" => {
            let value = condition.getattr(intern!(py, "value"))?;
            StringCondition::Length(op_of(condition)?, value.extract()?)
        }
        _ => {
            let date_type = match name_of(condition, intern!(py, "date_type"))?.as_str() {
                "DATE" => DateType::Date,
                _ => DateType::DateTime,
            };
            StringCondition::Date(date_type, op_of(condition)?, text()?)
        }
    })
}

/// The name of an attribute's enumeration member.
fn name_of(object: &Bound<'_, PyAny>, attribute: &Bound<'_, PyString>) -> PyResult<String> {
    let member = object.getattr(attribute)?;
    member.getattr(intern!(object.py(), "_name_"))?.extract()
}

fn text_of(object: &Bound<'_, PyAny>, attribute: &Bound<'_, PyString>) -> PyResult<Box<str>> {
    let text: String = object.getattr(attribute)?.extract()?;
    Ok(text.into_boxed_str())
}

fn op_of(object: &Bound<'_, PyAny>) -> PyResult<Op> {
    Ok(
        match name_of(object, intern!(object.py(), "op"))?.as_str() {
            "EQ" => Op::Eq,
            "NE" => Op::Ne,
            "LT" => Op::Lt,
            "LE" => Op::Le,
            "GT" => Op::Gt,
            _ => Op::Ge,
        },
    )
}

fn literal_of(object: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let literal = object.getattr(intern!(object.py(), "literal"))?;
    if literal.is_instance_of::<PyString>() {
        let text: String = literal.extract()?;
        return Ok(Literal::Text(text.into_boxed_str()));
    }
    Ok(Literal::Number(literal.extract()?))
}
