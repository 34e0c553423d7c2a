//! The indexed form of a query: linear branches with conjunctions of simple conditions.

use crate::xpath::ast::{Axis, NameTest, Op};

/// What a condition compares, relative to an element: a set of nodes, and a view of each of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// The attributes that pass the name test.
    Attribute(NameTest, View),
    /// The element itself.
    Value(View),
    /// The text nodes that are children of the element.
    Text(View),
    /// The inner operand of each child element that passes the name test.
    Child(NameTest, Box<Operand>),
    /// The inner operand of the element and of each of its descendants.
    Deep(Box<Operand>),
    /// The inner operand, of the first node in document order.
    First(Box<Operand>),
    /// The element itself, if it meets all of these conditions; only tested for existence.
    Compound(Vec<Atom>),
}

impl Operand {
    /// The view of its nodes.
    pub fn view(&self) -> View {
        match self {
            Operand::Attribute(_, view) | Operand::Value(view) | Operand::Text(view) => *view,
            Operand::Child(_, inner) | Operand::Deep(inner) | Operand::First(inner) => inner.view(),
            Operand::Compound(_) => View::Whole,
        }
    }
}

/// What of a node's string-value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum View {
    /// The string-value.
    Whole,
    /// Each literal that the string-value contains.
    Substrings,
    /// Each literal that the string-value starts with.
    Prefixes,
    /// Each literal that the folded string-value contains; see
    /// [`fold_case`](crate::xpath::string_functions::fold_case).
    CaselessSubstrings,
    /// The number of characters.
    Length,
    /// The point in time of a date; none is NaN.
    Date,
    /// The point in time of a date with a time; none is NaN.
    DateTime,
    /// The string-value after `normalize-space()`.
    NormalizedSpace,
}

/// A comparison of an operand; it holds if it holds for any value of the operand.
#[derive(Clone, Debug, PartialEq)]
pub enum AtomTest {
    /// There is a value.
    Exists,
    /// Equal as strings.
    EqText(Box<str>),
    /// Different as strings.
    NeText(Box<str>),
    /// A comparison of numbers.
    Number(Op, f64),
}

/// An atomic condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    /// What is compared.
    pub operand: Operand,
    /// The comparison.
    pub test: AtomTest,
}

/// One element step of a branch.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchStep {
    /// `/` or `//`.
    pub axis: Axis,
    /// The element's name.
    pub test: NameTest,
    /// The conditions on the element, all of which must hold.
    pub atoms: Vec<Atom>,
}

/// One of the alternatives in which a query matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branch {
    /// From the document node down; at least one.
    pub steps: Vec<BranchStep>,
    /// Whether the branch is weaker than the query, so that a document that matches it must be
    /// verified.
    pub verify: bool,
}
