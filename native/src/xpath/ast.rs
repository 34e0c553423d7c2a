//! A query as a tree. Prefixes are resolved: names carry namespace URIs.
//!
//! The context of a query is the document node, so `a/b` and `/a/b` are the same query. `//x` is
//! XPath 1.0's `/descendant-or-self::node()/child::x`; hence `position()` always counts the
//! children of one parent, and `a//@id` includes the attributes of `a` itself.

/// A union of one or more paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// At least one.
    pub branches: Vec<Path>,
}

/// Steps from a context node; no step is `.`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Attribute and text steps are last, or absent.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// How the step leaves its context.
    pub axis: Axis,
    /// What kind of node it selects.
    pub kind: Kind,
    /// Which names; any for text.
    pub test: NameTest,
    /// Filters, applied in order.
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

/// What a step selects.
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
    /// At least two.
    And(Vec<Expr>),
    /// At least two.
    Or(Vec<Expr>),
    /// `not(e)`
    Not(Box<Expr>),
    /// A nested path; true where it selects something.
    Exists(Path),
    /// `path op literal`, existential over the nodes of the path; the empty path is `.`.
    Compare(Path, Op, Literal),
    /// `contains(path, text)`: of the first node's string-value, `""` where there is none.
    Contains(Path, Box<str>),
    /// `starts-with(path, text)`, likewise.
    StartsWith(Path, Box<str>),
    /// `position() op n`; `[n]` is `position() = n`.
    Position(Op, f64),
    /// `position() op last()`; `[last()]` is `position() = last()`.
    PositionLast(Op),
    /// `last() op n`.
    Last(Op, f64),
}

/// A comparison.
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

/// What a path is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `'text'`; for `<` and its kin it is compared as a number, as XPath 1.0 says.
    Text(Box<str>),
    /// `10`, `-1.5`
    Number(f64),
}

impl Expr {
    /// Whether this asks for the position of the node that it filters. What a nested path's own
    /// predicates ask is another node's position.
    pub fn is_positional(&self) -> bool {
        match self {
            Expr::Position(..) | Expr::PositionLast(_) | Expr::Last(..) => true,
            Expr::And(items) | Expr::Or(items) => items.iter().any(Expr::is_positional),
            Expr::Not(item) => item.is_positional(),
            Expr::Exists(_) | Expr::Compare(..) | Expr::Contains(..) | Expr::StartsWith(..) => {
                false
            }
        }
    }
}

impl Op {
    /// As a query writes it.
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

    /// Of two numbers, `a op.negated() b` is `not(a op b)`.
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

    /// `a op b` is `b op.flipped() a`.
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
