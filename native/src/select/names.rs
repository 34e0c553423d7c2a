//! Which steps a name can bind to: looked up once a name, not once an element.

use std::rc::Rc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::events::{NameId, Names};
use crate::xpath::ast::NameTest;

/// Steps by the names that their tests accept.
#[derive(Default)]
pub(super) struct NameIndex<'a> {
    by_local: HashMap<&'a str, Vec<(u32, Option<&'a str>)>, RandomState>,
    any_local: Vec<(u32, Option<&'a str>)>,
    resolved: HashMap<NameId, Rc<[u32]>, RandomState>,
}

impl<'a> NameIndex<'a> {
    /// Adds a step; steps come in ascending order.
    pub fn add(&mut self, step: u32, test: &'a NameTest) {
        let list = match test.local.as_deref() {
            Some(local) => self.by_local.entry(local).or_default(),
            None => &mut self.any_local,
        };
        list.push((step, test.uri.as_deref()));
    }

    pub fn is_empty(&self) -> bool {
        self.by_local.is_empty() && self.any_local.is_empty()
    }

    /// The steps whose test accepts the name, in ascending order.
    pub fn steps(&mut self, names: &Names, name: NameId) -> Rc<[u32]> {
        if let Some(steps) = self.resolved.get(&name) {
            return Rc::clone(steps);
        }
        let (uri, local) = names.get(name);
        let named = self.by_local.get(local).map_or(&[][..], Vec::as_slice);
        let mut steps: Vec<u32> = named
            .iter()
            .chain(&self.any_local)
            .filter(|(_, wanted)| wanted.is_none_or(|wanted| wanted == uri))
            .map(|(step, _)| *step)
            .collect();
        steps.sort_unstable();
        let steps: Rc<[u32]> = steps.into();
        self.resolved.insert(name, Rc::clone(&steps));
        steps
    }
}

/// Whether a test accepts an expanded name.
pub(super) fn accepts(test: &NameTest, uri: &str, local: &str) -> bool {
    test.local.as_deref().is_none_or(|wanted| wanted == local)
        && test.uri.as_deref().is_none_or(|wanted| wanted == uri)
}
