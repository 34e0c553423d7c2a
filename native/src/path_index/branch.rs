//! What the shared engine files of a query: linear branches with simple conditions.

use crate::xpath::ast::{Axis, NameTest, Op};

/// What a condition looks at, seen from an element: some nodes, and what of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Slot {
    /// The attributes that meet the test.
    Attribute(NameTest, View),
    /// The element itself.
    Value(View),
    /// Each text node that is a child of the element.
    Text(View),
    /// What the inner slot has in each child element that meets the test.
    Child(NameTest, Box<Slot>),
    /// What the inner slot has in the element and in each element below it.
    Deep(Box<Slot>),
    /// What the inner slot has from the first node in document order.
    First(Box<Slot>),
    /// The element itself, if it meets all of these; only ever tested for existence.
    Joint(Vec<Atom>),
}

impl Slot {
    /// What it looks at of its nodes.
    pub fn view(&self) -> View {
        match self {
            Slot::Attribute(_, view) | Slot::Value(view) | Slot::Text(view) => *view,
            Slot::Child(_, inner) | Slot::Deep(inner) | Slot::First(inner) => inner.view(),
            Slot::Joint(_) => View::Whole,
        }
    }
}

/// What is looked at of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum View {
    /// Its string-value.
    Whole,
    /// Each literal that its string-value contains.
    Parts,
    /// Each literal that its string-value starts with.
    Starts,
}

/// A condition on one value of a slot; it holds when it holds for any of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// There is a value.
    Exists,
    /// It equals, as a string.
    EqText(Box<str>),
    /// It differs, as a string.
    NeText(Box<str>),
    /// It compares, as a number.
    Number(Op, f64),
}

/// A slot and a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    /// Where to look.
    pub slot: Slot,
    /// What must hold.
    pub test: Test,
}

/// One element step of a branch.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchStep {
    /// `/` or `//`.
    pub axis: Axis,
    /// The element's name.
    pub test: NameTest,
    /// All of these must hold.
    pub atoms: Vec<Atom>,
}

/// One way for a query to match, as far as the shared engine decides it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branch {
    /// From the document node down; at least one.
    pub steps: Vec<BranchStep>,
    /// Whether the branch says less than the query: a document that passes must be verified.
    pub verify: bool,
}
