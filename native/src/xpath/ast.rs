//! The syntax tree of queries. Prefixes are resolved to namespace URIs.
//!
//! The context of a query is the document node, so `a/b` and `/a/b` are the same query. As in XPath 1.0,
//! `//x` means `/descendant-or-self::node()/child::x`; hence `position()` always counts the children of
//! one parent, and `a//@id` includes the attributes of `a` itself.

/// A union of one or more paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// At least one path.
    pub branches: Vec<Path>,
}

/// Steps from a context node; no step is `.`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Only the last step may select attributes or text.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The axis of the step.
    pub axis: Axis,
    /// The kind of node it selects.
    pub kind: Kind,
    /// The names it accepts; any for text.
    pub test: NameTest,
    /// The predicates, applied in order.
    pub predicates: Vec<Expr>,
}

/// `/` or `//`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Axis {
    /// `/x`, `/@x`, `/text()`
    Child,
    /// `//x`, `//@x`, `//text()`
    Descendant,
}

/// The kind of node that a step selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `x`
    Element,
    /// `@x`
    Attribute,
    /// `text()`
    Text,
}

/// `n`, `p:n`, `*`, `p:*`, `*:n`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameTest {
    /// `None`: any namespace; `Some("")`: no namespace.
    pub uri: Option<Box<str>>,
    /// `None`: any local name.
    pub local: Option<Box<str>>,
}

/// A predicate.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A conjunction of at least two expressions.
    And(Vec<Expr>),
    /// A disjunction of at least two expressions.
    Or(Vec<Expr>),
    /// `not(e)`
    Not(Box<Expr>),
    /// A nested path: true if it selects something.
    Exists(Path),
    /// `path op literal`: true if some node of the path compares. The empty path is `.`.
    Compare(Path, Op, Literal),
    /// `contains(path, text)`: tests the string-value of the first node, or `""` if there is none.
    Contains(Path, Box<str>),
    /// `starts-with(path, text)`, likewise.
    StartsWith(Path, Box<str>),
    /// Another test of a string, or one of a transformed string.
    String(Box<StringTest>),
    /// `count(path) op n`.
    Count(Path, Op, f64),
    /// `path op path`: true if some node of the first compares with some node of the second.
    ComparePaths(Path, Op, Path),
    /// `position() op n`; `[n]` is `position() = n`.
    Position(Op, f64),
    /// `position() op last()`; `[last()]` is `position() = last()`.
    PositionLast(Op),
    /// `last() op n`.
    Last(Op, f64),
}

/// A test of one string: the string-value of the first node of a path, or `""` if there is none, after
/// string functions. Without a function, the condition is none of the first three: other variants of
/// [`Expr`] express these, and a comparison without a function would be one of all nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct StringTest {
    /// The path; the empty one is `.`.
    pub path: Path,
    /// The functions, in the order in which they are applied.
    pub functions: Vec<StringFunction>,
    /// What the result is tested for.
    pub condition: StringCondition,
}

/// A function from strings to strings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StringFunction {
    /// `normalize-space(s)`
    NormalizeSpace,
    /// `lower-case(s)`
    LowerCase,
    /// `upper-case(s)`
    UpperCase,
    /// `translate(s, from, to)`
    Translate(Box<str>, Box<str>),
}

/// A test of a string.
#[derive(Clone, Debug, PartialEq)]
pub enum StringCondition {
    /// `s op literal`
    Compare(Op, Literal),
    /// `contains(s, text)`
    Contains(Box<str>),
    /// `starts-with(s, text)`
    StartsWith(Box<str>),
    /// `ends-with(s, text)`
    EndsWith(Box<str>),
    /// `matches(s, pattern, flags)`; the pattern is valid.
    Matches(Box<str>, Box<str>),
    /// `string-length(s) op n`
    Length(Op, f64),
    /// `xs:date(s) op xs:date(text)`, or the same with `xs:dateTime`; the text is valid. Never true if
    /// the string is not.
    Date(DateType, Op, Box<str>),
}

/// A type of points in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DateType {
    /// `xs:date`
    Date,
    /// `xs:dateTime`
    DateTime,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A literal that a path is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `'text'`; compared as a number by `<`, `<=`, `>` and `>=`, as XPath 1.0 demands.
    Text(Box<str>),
    /// `10`, `-1.5`
    Number(f64),
}

impl Expr {
    /// Whether it tests the position of the node that it filters. Predicates of nested paths test the
    /// positions of other nodes.
    pub fn is_positional(&self) -> bool {
        match self {
            Expr::Position(..) | Expr::PositionLast(_) | Expr::Last(..) => true,
            Expr::And(items) | Expr::Or(items) => items.iter().any(Expr::is_positional),
            Expr::Not(item) => item.is_positional(),
            Expr::Exists(_)
            | Expr::Compare(..)
            | Expr::Contains(..)
            | Expr::StartsWith(..)
            | Expr::String(_)
            | Expr::Count(..)
            | Expr::ComparePaths(..) => false,
        }
    }
}

impl DateType {
    /// The name of its constructor function.
    pub fn text(self) -> &'static str {
        match self {
            DateType::Date => "xs:date",
            DateType::DateTime => "xs:dateTime",
        }
    }
}

impl Op {
    /// The operator as in a query.
    pub fn text(self) -> &'static str {
        match self {
            Op::Eq => "=",
            Op::Ne => "!=",
            Op::Lt => "<",
            Op::Le => "<=",
            Op::Gt => ">",
            Op::Ge => ">=",
        }
    }

    /// `left op right` as in IEEE 754: with NaN, only `!=` is true.
    pub fn compare(self, left: f64, right: f64) -> bool {
        match self {
            Op::Eq => left == right,
            Op::Ne => left != right,
            Op::Lt => left < right,
            Op::Le => left <= right,
            Op::Gt => left > right,
            Op::Ge => left >= right,
        }
    }

    /// The operator such that `a op.negated() b` equals `not(a op b)` for numbers.
    pub fn negated(self) -> Op {
        match self {
            Op::Eq => Op::Ne,
            Op::Ne => Op::Eq,
            Op::Lt => Op::Ge,
            Op::Le => Op::Gt,
            Op::Gt => Op::Le,
            Op::Ge => Op::Lt,
        }
    }

    /// The operator such that `b op.flipped() a` equals `a op b`.
    pub fn flipped(self) -> Op {
        match self {
            Op::Eq | Op::Ne => self,
            Op::Lt => Op::Gt,
            Op::Le => Op::Ge,
            Op::Gt => Op::Lt,
            Op::Ge => Op::Le,
        }
    }
}
