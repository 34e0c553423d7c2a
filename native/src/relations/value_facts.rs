//! Facts about one string-value, and whether several can hold together.
//!
//! A fact is a predicate on strings: `. = 'x'`, `. < 5`, `contains(., 'x')`, `starts-with(., 'x')`, or a
//! negation. Numbers follow XPath 1.0: a string that is not a number is NaN, which is unequal to every
//! number and neither less nor greater.

use crate::xpath::ast::{Literal, Op};
use crate::xpath::number::number;

/// A test of `.`.
#[derive(Clone, Debug, PartialEq)]
pub enum ValuePredicate {
    Compare(Op, Literal),
    Contains(Box<str>),
    StartsWith(Box<str>),
}

/// Whether a test holds for a string-value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueFact {
    pub predicate: ValuePredicate,
    pub holds: bool,
}

/// A [`ValueFact`] by reference, so that its negation needs no copy.
#[derive(Clone, Copy, PartialEq)]
pub struct ValueFactRef<'a> {
    predicate: &'a ValuePredicate,
    holds: bool,
}

impl ValueFact {
    pub fn new(predicate: ValuePredicate) -> Self {
        ValueFact {
            predicate,
            holds: true,
        }
    }

    /// The fact that a string is not empty, as a text node never is.
    pub fn not_empty() -> Self {
        ValueFact::new(ValuePredicate::Compare(Op::Ne, Literal::Text("".into())))
    }

    pub fn view(&self) -> ValueFactRef<'_> {
        ValueFactRef {
            predicate: &self.predicate,
            holds: self.holds,
        }
    }
}

impl<'a> ValueFactRef<'a> {
    fn opposite(self) -> Self {
        ValueFactRef {
            holds: !self.holds,
            ..self
        }
    }

    fn accepts(self, value: &str) -> bool {
        let bare = match self.predicate {
            ValuePredicate::Contains(text) => value.contains(&**text),
            ValuePredicate::StartsWith(text) => value.starts_with(&**text),
            ValuePredicate::Compare(Op::Eq, Literal::Text(text)) => value == &**text,
            ValuePredicate::Compare(Op::Ne, Literal::Text(text)) => value != &**text,
            ValuePredicate::Compare(op, Literal::Text(text)) => {
                op.compare(number(value), number(text))
            }
            ValuePredicate::Compare(op, Literal::Number(n)) => op.compare(number(value), *n),
        };
        bare == self.holds
    }

    /// The exact string, if the fact determines it.
    fn known_value(self) -> Option<&'a str> {
        let op = if self.holds { Op::Eq } else { Op::Ne };
        match self.predicate {
            ValuePredicate::Compare(each, Literal::Text(text)) if *each == op => Some(text),
            _ => None,
        }
    }

    /// The text, if the fact is that the string starts with it.
    fn start(self) -> Option<&'a str> {
        match self.predicate {
            ValuePredicate::StartsWith(text) if self.holds => Some(text),
            _ => None,
        }
    }

    /// The text, if the fact is that the string contains it, at its start or elsewhere.
    fn part(self) -> Option<&'a str> {
        match self.predicate {
            ValuePredicate::StartsWith(text) | ValuePredicate::Contains(text) if self.holds => {
                Some(text)
            }
            _ => None,
        }
    }
}

/// The possible numeric values: an interval, and whether NaN is possible.
pub struct Numbers {
    pub low: f64,
    pub low_open: bool,
    pub high: f64,
    pub high_open: bool,
    pub nan: bool,
    excluded: Vec<f64>,
}

impl Numbers {
    pub fn new<'a>(facts: impl Iterator<Item = ValueFactRef<'a>>) -> Self {
        let mut numbers = Numbers {
            low: f64::NEG_INFINITY,
            low_open: false,
            high: f64::INFINITY,
            high_open: false,
            nan: true,
            excluded: Vec::new(),
        };
        facts.for_each(|fact| numbers.narrow(fact));
        numbers
    }

    fn narrow(&mut self, fact: ValueFactRef<'_>) {
        let ValuePredicate::Compare(op, literal) = fact.predicate else {
            return;
        };
        let bound = match literal {
            Literal::Text(text) if matches!(op, Op::Eq | Op::Ne) => {
                if (*op == Op::Eq) == fact.holds {
                    // The string is known exactly.
                    let known = number(text);
                    self.nan = self.nan && known.is_nan();
                    self.bound(Op::Eq, known);
                }
                return;
            }
            Literal::Text(text) => number(text),
            Literal::Number(n) => *n,
        };
        if bound.is_nan() {
            if (*op == Op::Ne) != fact.holds {
                self.nan = false;
                self.exclude_all();
            }
            return;
        }
        let op = if fact.holds { *op } else { op.negated() };
        // NaN satisfies `!=` and the negation of any other comparison.
        let keeps_nan = match op {
            Op::Eq => false,
            Op::Ne => true,
            _ => !fact.holds,
        };
        self.nan = self.nan && keeps_nan;
        self.bound(op, bound);
    }

    fn exclude_all(&mut self) {
        self.low = f64::INFINITY;
        self.high = f64::NEG_INFINITY;
    }

    fn bound(&mut self, op: Op, bound: f64) {
        if bound.is_nan() {
            // Equal to a string that is not a number.
            self.exclude_all();
            return;
        }
        if op == Op::Ne {
            self.excluded.push(bound);
        }
        let open = matches!(op, Op::Gt | Op::Lt);
        if matches!(op, Op::Eq | Op::Ge | Op::Gt)
            && (bound > self.low || (bound == self.low && open && !self.low_open))
        {
            (self.low, self.low_open) = (bound, open);
        }
        if matches!(op, Op::Eq | Op::Le | Op::Lt)
            && (bound < self.high || (bound == self.high && open && !self.high_open))
        {
            (self.high, self.high_open) = (bound, open);
        }
    }

    /// Whether no number is possible.
    pub fn no_number(&self) -> bool {
        if self.low != self.high {
            return self.low > self.high;
        }
        self.low_open || self.high_open || self.excluded.contains(&self.low)
    }
}

/// Whether provably no string has all these facts.
pub fn unsatisfiable<'a>(facts: impl Iterator<Item = ValueFactRef<'a>> + Clone) -> bool {
    if let Some(known) = known_value(facts.clone()) {
        return !facts.clone().all(|fact| fact.accepts(known));
    }
    numbers_conflict(facts.clone()) || texts_conflict(facts)
}

/// Whether provably each string with all these facts has the goal.
pub fn implies(facts: &[ValueFact], goal: ValueFactRef<'_>) -> bool {
    let facts = facts.iter().map(ValueFact::view);
    facts.clone().any(|fact| fact == goal)
        || unsatisfiable(facts.chain(std::iter::once(goal.opposite())))
}

/// The exact string, if a fact determines it.
pub fn known_value<'a>(facts: impl Iterator<Item = ValueFactRef<'a>>) -> Option<&'a str> {
    facts.filter_map(ValueFactRef::known_value).next()
}

/// The longest known prefix of a string with these facts.
pub fn known_start(facts: &[ValueFact]) -> &str {
    let views = facts.iter().map(ValueFact::view);
    let longest = || longest_start(views.clone());
    known_value(views.clone()).unwrap_or_else(longest)
}

fn longest_start<'a>(facts: impl Iterator<Item = ValueFactRef<'a>>) -> &'a str {
    let starts = facts.filter_map(ValueFactRef::start);
    starts.fold("", |longest, start| {
        if start.len() > longest.len() {
            start
        } else {
            longest
        }
    })
}

fn numbers_conflict<'a>(facts: impl Iterator<Item = ValueFactRef<'a>> + Clone) -> bool {
    let is_numeric = |text: &str| {
        text.bytes().all(|byte| {
            matches!(
                byte,
                b'0'..=b'9' | b'.' | b'-' | b' ' | b'\t' | b'\r' | b'\n'
            )
        })
    };
    let numbers = Numbers::new(facts.clone());
    if numbers.nan {
        return false;
    }
    numbers.no_number()
        || facts
            .filter_map(ValueFactRef::part)
            .any(|text| !is_numeric(text))
}

fn texts_conflict<'a>(facts: impl Iterator<Item = ValueFactRef<'a>> + Clone) -> bool {
    let longest = longest_start(facts.clone());
    let mut starts = facts.clone().filter_map(ValueFactRef::start);
    if !starts.all(|start| longest.starts_with(start)) {
        return true;
    }
    facts
        .clone()
        .filter(|fact| !fact.holds)
        .any(|fact| match fact.predicate {
            ValuePredicate::Compare(..) => false,
            ValuePredicate::StartsWith(text) => longest.starts_with(&**text),
            ValuePredicate::Contains(text) => {
                let mut parts = facts.clone().filter_map(ValueFactRef::part);
                text.is_empty() || parts.any(|part| part.contains(&**text))
            }
        })
}

/// A string with all these facts, if one is found among the likely ones.
pub fn satisfying_value(facts: &[ValueFact], not_empty: bool) -> Option<String> {
    let views = || facts.iter().map(ValueFact::view);
    let accepted = |value: &String| {
        !(not_empty && value.is_empty()) && views().all(|fact| fact.accepts(value))
    };
    if let Some(known) = known_value(views()) {
        return Some(known.to_owned()).filter(accepted);
    }
    let start = longest_start(views());
    let mut parts = String::from(start);
    views()
        .filter_map(ValueFactRef::part)
        .filter(|part| !start.starts_with(part))
        .for_each(|part| parts.push_str(part));
    let numbers = Numbers::new(views());
    let (low, high) = (numbers.low, numbers.high);
    let near = [low, high, (low + high) / 2.0, low + 1.0, high - 1.0, 0.0];
    let further = [low + 0.5, low + 2.0, high - 0.5, high - 2.0, 1.0];
    let numbers = near.into_iter().chain(further).filter(|n| n.is_finite());
    let texts = [
        FRESH_VALUE.to_owned(),
        format!("{parts}{FRESH_VALUE}"),
        parts,
    ];
    // XPath has no numbers with an exponent, and Rust writes none.
    let mut texts = texts.into_iter().chain(numbers.map(|n| format!("{n}")));
    texts.find(accepted)
}

/// A value that queries are unlikely to mention.
const FRESH_VALUE: &str = "_fresh";
