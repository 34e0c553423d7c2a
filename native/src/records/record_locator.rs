//! Where records begin and end.

use std::sync::Arc;

use crate::events::{sorted_bindings, Context, Handler, NamespaceScope, Span, StartElement, Stop};

/// What an element of the path must be called; `None` is any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameTest {
    /// The namespace's URI; empty for none.
    pub uri: Option<Box<str>>,
    /// The local name.
    pub local: Option<Box<str>>,
}

impl NameTest {
    fn accepts(&self, (uri, local): (&str, &str)) -> bool {
        let is = |wanted: &Option<Box<str>>, found| wanted.as_deref().is_none_or(|w| w == found);
        is(&self.local, local) && is(&self.uri, uri)
    }
}

/// A record, or the beginning of one.
#[derive(Clone, Debug)]
pub(super) struct LocatedRecord {
    pub start: u64,
    /// Of a record that is still open, the end of its start tag.
    pub end: u64,
    pub scope: NamespaceScope,
    /// Which of [`RecordLocator::ancestors`] are around it.
    pub ancestors: usize,
}

/// Hears a document.
pub(super) struct RecordLocator {
    steps: Vec<NameTest>,
    /// Start tags of the open elements outside records.
    pub open: Vec<Span>,
    /// How many of them, from the root on, are on the path.
    matched: usize,
    /// The record being read.
    pub record: Option<LocatedRecord>,
    /// How many elements are open inside it.
    inside: u64,
    /// The records that ended since [`RecordLocator::forget`].
    pub found: Vec<LocatedRecord>,
    /// The start tags around those records, each list once for as long as it stays.
    pub ancestors: Vec<Vec<Span>>,
    open_changed: bool,
    /// The scope of the last record, and the same as a text that is quick to compare.
    scope: NamespaceScope,
    scope_text: String,
    scratch: String,
}

impl RecordLocator {
    pub(super) fn new(steps: Vec<NameTest>) -> Self {
        assert!(!steps.is_empty(), "a path has a step");
        Self {
            steps,
            open: Vec::new(),
            matched: 0,
            record: None,
            inside: 0,
            found: Vec::new(),
            ancestors: Vec::new(),
            open_changed: true,
            scope: Arc::new([]),
            scope_text: String::new(),
            scratch: String::new(),
        }
    }

    /// Forgets the records found so far, but not the one being read.
    pub(super) fn forget(&mut self) {
        self.found.clear();
        let kept = self.record.as_mut().map(|record| {
            let around = std::mem::take(&mut self.ancestors[record.ancestors]);
            record.ancestors = 0;
            around
        });
        self.ancestors.clear();
        self.open_changed |= kept.is_none();
        self.ancestors.extend(kept);
    }

    /// The scope at the element that `context` is at; mostly it is that of the record before.
    fn scope(&mut self, context: &dyn Context) -> NamespaceScope {
        self.scratch.clear();
        let scratch = &mut self.scratch;
        context.namespaces_in_scope(&mut |prefix, uri| {
            // Neither may have these characters.
            scratch.extend([prefix, "\0", uri, "\0"]);
        });
        if self.scratch != self.scope_text {
            self.scope = sorted_bindings(context).into();
            std::mem::swap(&mut self.scope_text, &mut self.scratch);
        }
        self.scope.clone()
    }
}

impl Handler for RecordLocator {
    const SPANS: bool = true;

    #[inline]
    fn start_element(
        &mut self,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        if self.record.is_some() {
            self.inside += 1;
            return Ok(());
        }
        let level = self.open.len();
        let on_path = level == self.matched
            && level < self.steps.len()
            && self.steps[level].accepts(context.names().get(element.name));
        if !on_path || level + 1 < self.steps.len() {
            self.matched += usize::from(on_path);
            self.open.push(element.span);
            self.open_changed = true;
            return Ok(());
        }
        if element.span.from_entity {
            return Err(Stop {
                code: "records.from-entity",
                message: "a record comes out of an entity".to_owned(),
            });
        }
        if self.open_changed {
            self.ancestors.push(self.open.clone());
            self.open_changed = false;
        }
        self.record = Some(LocatedRecord {
            start: element.span.start,
            end: element.span.end,
            scope: self.scope(context),
            ancestors: self.ancestors.len() - 1,
        });
        Ok(())
    }

    #[inline]
    fn end_element(&mut self, span: Span, _: Span) -> Result<(), Stop> {
        if self.record.is_none() {
            self.open.pop();
            self.matched = self.matched.min(self.open.len());
            self.open_changed = true;
        } else if self.inside > 0 {
            self.inside -= 1;
        } else if let Some(record) = self.record.take() {
            self.found.push(LocatedRecord {
                end: span.end,
                ..record
            });
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, _: &str, _: Span) -> Result<(), Stop> {
        Ok(())
    }

    #[inline]
    fn text_break(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}
