//! The open elements of a document being rewritten.

use super::mapping::{Destination, SchemaNodeId};
use super::tree_buffer::{BufferMark, NodeId};
use crate::events::Span;

/// The element's schema node has no operators.
const NO_STATE: u32 = u32::MAX;

/// An open element that is not buffered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub schema_node: SchemaNodeId,
    /// Index of the operators' state, or [`NO_STATE`].
    state: u32,
}

impl Frame {
    /// Whether the element's schema node has operators.
    #[inline]
    pub fn has_operators(&self) -> bool {
        self.state != NO_STATE
    }
}

/// The progress of the operators at an open element.
#[derive(Debug, Default)]
pub(super) struct OperatorState {
    /// Whether the element is inside another, so that children can be moved after it.
    pub can_upgrade: bool,
    /// Whether children are collected in `undecided` until the element ends.
    pub collects: bool,
    /// Whether the Downgrades have been applied.
    pub downgraded: bool,
    /// Whether the inserted path for streamed children is open.
    pub path_open: bool,
    /// Whether the end of the element has been sent: everything else goes after it.
    pub ended: bool,
    /// The element's span, or a placeholder while its end tag has not been read. Set only if the
    /// downstream handler uses spans.
    pub span: Option<Span>,
    /// What was buffered before the element.
    pub mark: BufferMark,
    /// Buffered children whose destination the Downgrades decide, in document order.
    pub undecided: Vec<NodeId>,
    /// Buffered children with their destinations, in document order.
    pub buffered: Vec<(Destination, NodeId)>,
}

impl OperatorState {
    /// Records a buffered child.
    #[inline]
    pub fn buffer(&mut self, destination: Destination, node: NodeId) {
        match destination {
            Destination::Undecided => self.undecided.push(node),
            _ => self.buffered.push((destination, node)),
        }
    }
}

/// The stack of open elements. The first frame is the virtual root. Operator states are pooled, so that
/// elements reuse the allocations of earlier ones.
#[derive(Default)]
pub(super) struct OpenElements {
    frames: Vec<Frame>,
    states: Vec<OperatorState>,
    /// How many states are in use.
    states_used: usize,
}

impl OpenElements {
    #[inline]
    pub fn clear(&mut self) {
        self.frames.clear();
        self.states_used = 0;
    }

    #[inline]
    pub fn top(&self) -> Frame {
        *self.frames.last().expect("the virtual root is open")
    }

    /// Whether only the virtual root is open.
    #[inline]
    pub fn is_at_root(&self) -> bool {
        self.frames.len() == 1
    }

    /// The state of the innermost element, whose schema node has operators.
    #[inline]
    pub fn state(&mut self) -> &mut OperatorState {
        let state = self.top().state;
        &mut self.states[state as usize]
    }

    /// Whether the innermost element collects its children until it ends.
    #[inline]
    pub fn collects(&self) -> bool {
        let state = self.top().state;
        state != NO_STATE && self.states[state as usize].collects
    }

    /// Opens an element whose schema node has no operators.
    #[inline]
    pub fn push_plain(&mut self, schema_node: SchemaNodeId) {
        self.frames.push(Frame {
            schema_node,
            state: NO_STATE,
        });
    }

    /// Opens an element whose schema node has operators.
    pub fn push_with_operators(
        &mut self,
        schema_node: SchemaNodeId,
        can_upgrade: bool,
        span: Option<Span>,
        mark: BufferMark,
    ) {
        if self.states.len() == self.states_used {
            self.states.push(OperatorState::default());
        }
        let state = &mut self.states[self.states_used];
        let (mut undecided, mut buffered) = (
            std::mem::take(&mut state.undecided),
            std::mem::take(&mut state.buffered),
        );
        undecided.clear();
        buffered.clear();
        *state = OperatorState {
            can_upgrade,
            span,
            mark,
            undecided,
            buffered,
            ..OperatorState::default()
        };
        self.frames.push(Frame {
            schema_node,
            state: u32::try_from(self.states_used).expect("depth is limited"),
        });
        self.states_used += 1;
    }

    /// Closes the innermost element.
    #[inline]
    pub fn pop(&mut self) {
        let frame = self.frames.pop();
        self.states_used -= usize::from(frame.is_some_and(|frame| frame.has_operators()));
    }
}
