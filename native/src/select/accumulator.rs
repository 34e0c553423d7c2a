//! Tests of several nodes together: how many there are, and how the values of two paths compare.
//!
//! Neither takes more than constant time per node. Two paths are compared without looking at pairs:
//! `=` looks each value up among those of the other path, `!=` needs one value of each path and whether
//! there is another, and an order comparison needs the least or greatest number of each path.

use std::collections::HashSet;

use crate::xpath::ast::Op;

/// Which of two compared paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// The value of a node of a compared path.
#[derive(Clone, Debug)]
pub(super) enum ComparedValue {
    Text(Box<str>),
    Number(f64),
}

impl ComparedValue {
    /// The bytes that storing it takes, roughly.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len() + VALUE_BYTES,
            Self::Number(_) => 0,
        }
    }
}

/// What a stored string takes besides its text.
pub(super) const VALUE_BYTES: usize = 64;

/// What is known about the nodes so far.
#[derive(Debug)]
pub(super) enum Accumulator {
    Count {
        op: Op,
        n: f64,
        count: u64,
        /// The document-order numbers of the counted nodes, if one may arrive twice.
        seen: Option<HashSet<u64>>,
    },
    Equal([HashSet<Box<str>>; 2]),
    /// The first value of each path, and whether the path has another one.
    Unequal([Option<(Box<str>, bool)>; 2]),
    /// The number of each path that is most likely to compare; NaN before the first.
    Ordered(Op, [f64; 2]),
}

impl Accumulator {
    pub fn of_count(op: Op, n: f64, may_repeat: bool) -> Self {
        Self::Count {
            op,
            n,
            count: 0,
            seen: may_repeat.then(HashSet::new),
        }
    }

    pub fn of_comparison(op: Op) -> Self {
        match op {
            Op::Eq => Self::Equal(Default::default()),
            Op::Ne => Self::Unequal(Default::default()),
            Op::Lt | Op::Le | Op::Gt | Op::Ge => Self::Ordered(op, [f64::NAN; 2]),
        }
    }

    /// Counts a node; whether it is new, and how many more bytes are stored.
    pub fn count(&mut self, order: u64) -> (bool, usize) {
        let Self::Count { count, seen, .. } = self else {
            unreachable!("only counts receive nodes without a value");
        };
        let is_new = seen.as_mut().is_none_or(|seen| seen.insert(order));
        *count += u64::from(is_new);
        let bytes = if seen.is_some() { VALUE_BYTES } else { 0 };
        (is_new, usize::from(is_new) * bytes)
    }

    /// Adds a value of a path; returns how many more bytes are stored.
    pub fn add(&mut self, side: Side, value: &ComparedValue) -> usize {
        let own = side as usize;
        match (self, value) {
            (Self::Equal(values), ComparedValue::Text(text)) => {
                if values[own].contains(text) {
                    return 0;
                }
                values[own].insert(text.clone());
                text.len() + VALUE_BYTES
            }
            (Self::Unequal(values), ComparedValue::Text(text)) => match &mut values[own] {
                None => {
                    values[own] = Some((text.clone(), false));
                    text.len() + VALUE_BYTES
                }
                Some((first, has_another)) => {
                    *has_another |= **first != **text;
                    0
                }
            },
            (Self::Ordered(op, numbers), ComparedValue::Number(number)) => {
                // The least number of the side that must be less, the greatest of the other.
                let wants_least = (own == 0) == matches!(op, Op::Lt | Op::Le);
                let best = &mut numbers[own];
                // `min` and `max` ignore NaN.
                *best = if wants_least {
                    best.min(*number)
                } else {
                    best.max(*number)
                };
                0
            }
            _ => unreachable!("the operator decides the type of the values"),
        }
    }

    /// Whether the test holds for the nodes so far.
    pub fn holds(&self) -> bool {
        match self {
            Self::Count { op, n, count, .. } => op.compare(*count as f64, *n),
            Self::Equal([left, right]) => {
                let (fewer, more) = if left.len() < right.len() {
                    (left, right)
                } else {
                    (right, left)
                };
                fewer.iter().any(|value| more.contains(value))
            }
            Self::Unequal([Some((left, more_left)), Some((right, more_right))]) => {
                *more_left || *more_right || left != right
            }
            Self::Unequal(_) => false,
            Self::Ordered(op, [left, right]) => op.compare(*left, *right),
        }
    }

    /// The result, if no further node can change it; `last` is the value that arrived last.
    pub fn decided(&self, last: Option<(Side, &ComparedValue)>) -> Option<bool> {
        match self {
            Self::Count { op, n, count, .. } => {
                let count = *count as f64;
                let is_final = count > *n || (count >= *n && matches!(op, Op::Ge | Op::Lt));
                is_final.then(|| op.compare(count, *n))
            }
            // Only the last value can have made a difference.
            Self::Equal(values) => match last {
                Some((side, ComparedValue::Text(text))) => {
                    let other = &values[usize::from(side == Side::Left)];
                    other.contains(text).then_some(true)
                }
                _ => None,
            },
            Self::Unequal(_) | Self::Ordered(..) => self.holds().then_some(true),
        }
    }

    /// The bytes of the stored values, roughly.
    pub fn bytes(&self) -> usize {
        let of_text = |text: &str| text.len() + VALUE_BYTES;
        match self {
            Self::Equal(values) => values.iter().flatten().map(|text| of_text(text)).sum(),
            Self::Unequal(values) => values.iter().flatten().map(|(text, _)| of_text(text)).sum(),
            Self::Count { seen, .. } => seen.as_ref().map_or(0, |seen| seen.len() * VALUE_BYTES),
            Self::Ordered(..) => 0,
        }
    }
}
