//! Renames the attributes of an element, and removes those that become elements.

use super::bound_mapping::BoundMapping;
use super::mapping::NodeOperators;
use super::provenance::Provenance;
use crate::events::{Attribute, NameId, Span};

/// Up to this many attributes are stored inline.
const INLINE_MAX: usize = 8;

/// The attributes of one start tag, stored inline if there are few.
pub(super) struct AttributeList<'a> {
    inline: [Attribute<'a>; INLINE_MAX],
    count: usize,
    spilled: Vec<Attribute<'a>>,
}

impl<'a> AttributeList<'a> {
    pub fn new() -> AttributeList<'a> {
        let none = Attribute {
            name: NameId(0),
            value: "",
            span: Span::default(),
        };
        AttributeList {
            inline: [none; INLINE_MAX],
            count: 0,
            spilled: Vec::new(),
        }
    }

    pub fn push(&mut self, attribute: Attribute<'a>) {
        if self.spilled.is_empty() && self.count < INLINE_MAX {
            self.inline[self.count] = attribute;
            self.count += 1;
            return;
        }
        if self.spilled.is_empty() {
            self.spilled.extend(self.inline);
        }
        self.spilled.push(attribute);
    }

    pub fn as_slice(&self) -> &[Attribute<'a>] {
        if self.spilled.is_empty() {
            &self.inline[..self.count]
        } else {
            &self.spilled
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Attribute<'a>] {
        if self.spilled.is_empty() {
            &mut self.inline[..self.count]
        } else {
            &mut self.spilled
        }
    }
}

/// The attributes that stay attributes, under their new names. Renamed ones get placeholders, unless
/// `provenance` is `None` because spans are not used.
pub(super) fn rename_attributes<'a>(
    bound: &BoundMapping,
    operators: &NodeOperators,
    attributes: &[Attribute<'a>],
    provenance: Option<&mut Provenance>,
) -> AttributeList<'a> {
    let mut list = AttributeList::new();
    for attribute in attributes {
        let symbol = bound.symbol(attribute.name);
        if !operators.element_of_attribute.contains(symbol) {
            list.push(*attribute);
        }
    }
    if !operators.attribute_names.is_empty() {
        rename_all(bound, operators, list.as_mut_slice(), provenance);
    }
    list
}

/// Renames all attributes at once. If two would get the same name, the renamed one keeps its old name.
fn rename_all(
    bound: &BoundMapping,
    operators: &NodeOperators,
    attributes: &mut [Attribute<'_>],
    mut provenance: Option<&mut Provenance>,
) {
    let conflicting = conflicting_renames(bound, operators, attributes);
    for (at, attribute) in attributes.iter_mut().enumerate() {
        let old = bound.symbol(attribute.name);
        let Some(new) = operators.attribute_names.get(old) else {
            continue;
        };
        if conflicting.get(at).is_some_and(|conflicts| *conflicts) {
            continue;
        }
        attribute.name = bound.name(new);
        if let Some(provenance) = &mut provenance {
            attribute.span = provenance.add(vec![attribute.span], Some(old)).span();
        }
    }
}

/// Which attributes keep their names because of conflicts; empty if there are none.
fn conflicting_renames(
    bound: &BoundMapping,
    operators: &NodeOperators,
    attributes: &[Attribute<'_>],
) -> Vec<bool> {
    let symbol = |at: usize| bound.symbol(attributes[at].name);
    let is_renamed = |at: usize| operators.attribute_names.contains(symbol(at));
    let is_new_name = |at: usize| operators.renamed_from.contains(symbol(at));
    if !(0..attributes.len()).any(|at| !is_renamed(at) && is_new_name(at)) {
        return Vec::new();
    }
    let mut by_name: Vec<(NameId, usize)> = (0..)
        .zip(attributes)
        .map(|(at, each)| (each.name, at))
        .collect();
    by_name.sort_unstable();
    let renamed_to = |at: usize| {
        let old = bound.name(operators.renamed_from.get(symbol(at))?);
        let found = by_name.binary_search_by_key(&old, |(name, _)| *name);
        found.ok().map(|found| by_name[found].1)
    };
    blocked_renames(attributes.len(), is_renamed, renamed_to)
}

/// Which of `count` attributes cannot be renamed: those whose new name is that of an attribute that
/// keeps its name, transitively. `renamed_to(at)` is the attribute that is to get the name of attribute
/// `at`; it is called once for each attribute that keeps its name.
fn blocked_renames(
    count: usize,
    is_renamed: impl Fn(usize) -> bool,
    mut renamed_to: impl FnMut(usize) -> Option<usize>,
) -> Vec<bool> {
    let mut blocked = vec![false; count];
    let mut keeping: Vec<usize> = (0..count).filter(|&at| !is_renamed(at)).collect();
    while let Some(at) = keeping.pop() {
        if let Some(other) = renamed_to(at).filter(|&other| !blocked[other]) {
            blocked[other] = true;
            keeping.push(other);
        }
    }
    blocked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_blocked_renames_is_followed_once() {
        // Each attribute is to get the name of the one before it, and the first is not renamed.
        let count = 1_000;
        let mut calls = 0;
        let renamed_to = |at: usize| {
            calls += 1;
            (at + 1 < count).then_some(at + 1)
        };
        let blocked = blocked_renames(count, |at| at > 0, renamed_to);
        assert_eq!(blocked.iter().filter(|each| **each).count(), count - 1);
        assert_eq!(calls, count);
    }

    #[test]
    fn a_cycle_of_renames_is_not_blocked() {
        let blocked = blocked_renames(3, |_| true, |at| Some((at + 1) % 3));
        assert_eq!(blocked, [false; 3]);
    }
}
