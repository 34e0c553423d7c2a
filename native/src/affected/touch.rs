//! Changes, as the label paths of the nodes that they touch.

/// An expanded name: namespace URI and local name.
pub type Name = (String, String);

/// Number of an element of a [`LabelTree`].
pub type ElementNumber = u32;

/// The parent of a root in a [`LabelTree`].
pub const NO_PARENT: ElementNumber = ElementNumber::MAX;

/// The label paths of a change: elements with their names, parents first.
#[derive(Clone, Debug, Default)]
pub struct LabelTree {
    /// Parent and name of each element.
    pub elements: Vec<(ElementNumber, Name)>,
}

impl LabelTree {
    /// Whether each parent precedes its children.
    pub fn is_valid(&self) -> bool {
        let parents = self.elements.iter().map(|(parent, _)| *parent);
        (0..)
            .zip(parents)
            .all(|(at, parent)| parent == NO_PARENT || parent < at)
    }
}

/// A node that a change touches: it is inserted, removed or renamed, or its value changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Touch {
    /// The element itself, or the parent of another node.
    pub element: ElementNumber,
    /// Which node.
    pub node: TouchedNode,
}

/// The kind of node that is touched, and how.
#[derive(Clone, Debug, PartialEq)]
pub enum TouchedNode {
    /// The element.
    Element {
        /// Whether unknown nodes below it are touched too.
        below: bool,
        /// Whether the string-values of its ancestors may change.
        text: bool,
    },
    /// An attribute of the element.
    Attribute(Name),
    /// A text of the element: inserted, removed or changed.
    Text,
    /// Texts of the element are joined or split, so that its string-value stays.
    TextBoundary,
    /// A comment or processing instruction, which no query selects by itself.
    Other,
}
