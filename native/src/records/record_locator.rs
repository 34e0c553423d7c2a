//! Finds where records start and end.

use crate::events::{Context, Handler, Span, StartElement, Stop};

use super::inherited_scope::InheritedScope;

/// A step of the record path: the names it accepts, where `None` accepts any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathStep {
    /// The namespace URI; empty for none.
    pub uri: Option<Box<str>>,
    /// The local name.
    pub local: Option<Box<str>>,
}

impl PathStep {
    fn accepts(&self, (uri, local): (&str, &str)) -> bool {
        let is = |wanted: &Option<Box<str>>, found| wanted.as_deref().is_none_or(|w| w == found);
        is(&self.local, local) && is(&self.uri, uri)
    }
}

/// The position of a record.
#[derive(Clone, Debug)]
pub(super) struct LocatedRecord {
    pub start: u64,
    /// The end of the record, or of its start tag while the record is open.
    pub end: u64,
    /// The namespaces declared around it.
    pub scope: InheritedScope,
    /// Index in [`RecordLocator::ancestors`].
    pub ancestors: usize,
}

/// Locates records on a path of child steps.
pub(super) struct RecordLocator {
    steps: Vec<PathStep>,
    /// The start tags of the open elements outside records.
    pub open: Vec<Span>,
    /// The namespaces in scope inside those that match the path.
    scopes: Vec<InheritedScope>,
    /// How many of them, from the root on, match the path.
    matched: usize,
    /// The open record.
    pub record: Option<LocatedRecord>,
    /// The number of open elements inside it.
    depth: u64,
    /// The records that ended since [`RecordLocator::clear_located`].
    pub located: Vec<LocatedRecord>,
    /// The start tags around those records; consecutive records with the same ancestors share an entry.
    pub ancestors: Vec<Vec<Span>>,
    /// Whether `open` differs from the last entry of `ancestors`.
    open_changed: bool,
}

impl RecordLocator {
    pub(super) fn new(steps: Vec<PathStep>) -> Self {
        assert!(!steps.is_empty(), "a path has at least one step");
        Self {
            steps,
            open: Vec::new(),
            scopes: Vec::new(),
            matched: 0,
            record: None,
            depth: 0,
            located: Vec::new(),
            ancestors: Vec::new(),
            open_changed: true,
        }
    }

    /// Removes the records that have ended, but not the open one.
    pub(super) fn clear_located(&mut self) {
        self.located.clear();
        let ancestors = self.record.as_mut().map(|record| {
            let around = std::mem::take(&mut self.ancestors[record.ancestors]);
            record.ancestors = 0;
            around
        });
        self.ancestors.clear();
        self.open_changed |= ancestors.is_none();
        self.ancestors.extend(ancestors);
    }

    /// The namespaces in scope inside the innermost open element, which matches the path.
    fn scope(&self) -> InheritedScope {
        self.scopes.last().cloned().unwrap_or_default()
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
            self.depth += 1;
            return Ok(());
        }
        let level = self.open.len();
        let on_path = level == self.matched
            && level < self.steps.len()
            && self.steps[level].accepts(context.names().get(element.name));
        if !on_path || level + 1 < self.steps.len() {
            if on_path {
                self.matched += 1;
                self.scopes.push(self.scope().with_declarations(context));
            }
            self.open.push(element.span);
            self.open_changed = true;
            return Ok(());
        }
        if element.span.from_entity {
            return Err(Stop {
                code: "records.from-entity",
                message: "a record comes from an entity".to_owned(),
            });
        }
        if self.open_changed {
            self.ancestors.push(self.open.clone());
            self.open_changed = false;
        }
        self.record = Some(LocatedRecord {
            start: element.span.start,
            end: element.span.end,
            scope: self.scope(),
            ancestors: self.ancestors.len() - 1,
        });
        Ok(())
    }

    #[inline]
    fn end_element(&mut self, span: Span, _: Span) -> Result<(), Stop> {
        if self.record.is_none() {
            self.open.pop();
            self.matched = self.matched.min(self.open.len());
            self.scopes.truncate(self.matched);
            self.open_changed = true;
        } else if self.depth > 0 {
            self.depth -= 1;
        } else if let Some(record) = self.record.take() {
            self.located.push(LocatedRecord {
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
