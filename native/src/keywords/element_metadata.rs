//! Metadata of elements for answers: names, spans, text ranges and namespaces.

use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::events::{sorted_bindings, Context, NameId, NamespaceScope, Span, StartElement};
use crate::select::name_test;

use crate::keywords::element_window::{ElementWindow, NO_ELEMENT};

/// Maximum number of text ranges recorded for an element. Adjacent text is one range, so that only
/// an element with text between very many children has more; an answer that would include them is
/// marked as truncated.
pub const TEXT_RANGES_MAX: usize = 1_000;

/// Ends a list of text pieces.
const NO_PIECE: u32 = u32::MAX;

/// An element on the path from the root to a witness; outlives the window.
#[derive(Debug, PartialEq)]
pub struct ElementRecord {
    /// Number in the document.
    pub number: u32,
    /// Number of ancestors.
    pub depth: u32,
    /// The parent element.
    pub parent: Option<Arc<ElementRecord>>,
    /// The start tag.
    pub start_tag: Span,
    /// The namespaces in scope.
    pub namespaces: NamespaceScope,
    /// Set when the element ends.
    pub end: OnceLock<ElementEnd>,
    step: Arc<str>,
    position: u32,
}

/// What is known of an element once it has ended.
#[derive(Debug, Default, PartialEq)]
pub struct ElementEnd {
    /// The end tag; empty for an empty-element tag.
    pub end_tag: Span,
    /// Its own text.
    pub texts: TextRanges,
}

/// Ranges of an element's own text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextRanges {
    /// In document order.
    pub ranges: Vec<Span>,
    /// Whether there were more than [`TEXT_RANGES_MAX`].
    pub truncated: bool,
}

impl TextRanges {
    /// Adds a range, extending the previous one if they are adjacent.
    pub fn push(&mut self, span: Span) {
        let count = self.ranges.len();
        match self.ranges.last_mut() {
            Some(last) if joins(*last, span) => last.end = span.end,
            _ if count < TEXT_RANGES_MAX => self.ranges.push(span),
            _ => self.truncated = true,
        }
    }
}

/// Whether two ranges form one: adjacent, or from the same entity reference.
fn joins(before: Span, span: Span) -> bool {
    before.from_entity == span.from_entity && (before.end == span.start || before == span)
}

impl ElementRecord {
    /// The entire ended element with its tags.
    pub fn span(&self) -> Span {
        Span {
            end: self.ended().end_tag.end,
            ..self.start_tag
        }
    }

    /// The data of the ended element.
    pub fn ended(&self) -> &ElementEnd {
        self.end.get().expect("the element has ended")
    }

    /// A path to the element, such as `/news[1]/item[2]`.
    pub fn path(&self) -> String {
        let mut ancestors: Vec<&ElementRecord> =
            std::iter::successors(Some(self), |record| record.parent.as_deref()).collect();
        ancestors.reverse();
        let steps = ancestors
            .iter()
            .map(|record| format!("/{}[{}]", record.step, record.position));
        steps.collect()
    }
}

/// Metadata of the window's elements.
#[derive(Default)]
pub struct ElementMetadata {
    elements: Vec<WindowElement>,
    pieces: Vec<TextPiece>,
    scopes: Vec<NamespaceScope>,
    /// Identifies the last of them.
    last_scope_id: u64,
    /// The names of the document, and the index of each.
    names: Vec<StepName>,
    name_indexes: HashMap<NameId, u32, RandomState>,
    locals: HashMap<String, u32, RandomState>,
    /// For each open element, outermost first, the number of children so far by local name.
    children: Vec<HashMap<u32, SiblingCounts, RandomState>>,
    depth: usize,
    /// By element: the record that was created for it. Shorter than `elements` where the last have none.
    records: Vec<Option<Arc<ElementRecord>>>,
}

struct WindowElement {
    /// Index in [`ElementMetadata::names`].
    name: u32,
    position: u32,
    depth: u32,
    scope: u32,
    /// Its text ranges, as a linked list.
    first_piece: u32,
    last_piece: u32,
    start_tag: Span,
    end_tag: Span,
}

#[derive(Clone, Copy)]
struct TextPiece {
    span: Span,
    next: u32,
}

struct StepName {
    step: Arc<str>,
    local: u32,
    has_no_namespace: bool,
}

/// Number of children with the same local name.
#[derive(Clone, Copy, Default)]
struct SiblingCounts {
    /// In no namespace.
    without_namespace: u32,
    /// In any namespace or none.
    all: u32,
}

impl ElementMetadata {
    /// Starts a document.
    pub fn clear(&mut self) {
        self.clear_window();
        self.scopes.clear();
        self.names.clear();
        self.name_indexes.clear();
        self.locals.clear();
        self.depth = 0;
    }

    /// Removes the window's elements.
    pub fn clear_window(&mut self) {
        self.elements.clear();
        self.pieces.clear();
        self.records.clear();
        // The last scope is still in effect.
        let first = self.scopes.len().saturating_sub(1);
        self.scopes.drain(..first);
    }

    /// An element of the window starts.
    pub fn open(&mut self, context: &dyn Context, element: &StartElement<'_>) {
        let name = self.name(context, element.name);
        let element_info = WindowElement {
            name,
            position: self.position(name),
            depth: self.depth as u32,
            scope: self.scope(context),
            first_piece: NO_PIECE,
            last_piece: NO_PIECE,
            start_tag: element.span,
            end_tag: Span::default(),
        };
        self.elements.push(element_info);
        self.depth += 1;
    }

    /// Adds own text of an element of the window.
    pub fn text(&mut self, element: u32, span: Span) {
        let element_info = &mut self.elements[element as usize];
        let piece = self.pieces.len() as u32;
        match element_info.last_piece {
            NO_PIECE => element_info.first_piece = piece,
            last => {
                let last = &mut self.pieces[last as usize];
                if joins(last.span, span) {
                    last.span.end = span.end;
                    return;
                }
                last.next = piece;
            }
        }
        element_info.last_piece = piece;
        self.pieces.push(TextPiece {
            span,
            next: NO_PIECE,
        });
    }

    /// An element of the window ends.
    pub fn close(&mut self, element: u32, end_tag: Span) {
        self.elements[element as usize].end_tag = end_tag;
        self.depth -= 1;
    }

    /// An open element outside of the window ends.
    pub fn close_outside(&mut self) {
        self.depth -= 1;
    }

    /// Number of text ranges.
    pub fn text_piece_count(&self) -> usize {
        self.pieces.len()
    }

    /// Creates the record of an open element of the window, whose ancestors must have records.
    /// `base` is the document number of the window's first element.
    pub fn record_open(
        &mut self,
        base: u32,
        parent: Option<Arc<ElementRecord>>,
        element: u32,
    ) -> Arc<ElementRecord> {
        let element_info = &self.elements[element as usize];
        let record = Arc::new(ElementRecord {
            number: base + element,
            depth: element_info.depth,
            parent,
            start_tag: element_info.start_tag,
            namespaces: NamespaceScope::clone(&self.scopes[element_info.scope as usize]),
            end: OnceLock::new(),
            step: Arc::clone(&self.names[element_info.name as usize].step),
            position: element_info.position,
        });
        if self.records.len() <= element as usize {
            self.records.resize(self.elements.len(), None);
        }
        self.records[element as usize] = Some(Arc::clone(&record));
        record
    }

    /// Returns the record of a closed element of the window, creating it and those of its ancestors
    /// if needed. `enclosing` is the innermost open element outside of the window.
    pub fn record(
        &mut self,
        window: &ElementWindow,
        base: u32,
        enclosing: Option<&Arc<ElementRecord>>,
        element: u32,
    ) -> Arc<ElementRecord> {
        if let Some(record) = self.known(element) {
            return Arc::clone(record);
        }
        // Go up to the nearest ancestor with a record, then create records downwards.
        let mut unrecorded = Vec::new();
        let mut above = window.parent(element);
        let mut parent = loop {
            match (above, self.known(above)) {
                (NO_ELEMENT, _) => break enclosing.cloned(),
                (_, Some(record)) => break Some(Arc::clone(record)),
                (_, None) => {
                    unrecorded.push(above);
                    above = window.parent(above);
                }
            }
        };
        for &above in unrecorded.iter().rev() {
            parent = Some(self.record_closed(base, parent, above));
        }
        self.record_closed(base, parent, element)
    }

    fn known(&self, element: u32) -> Option<&Arc<ElementRecord>> {
        self.records.get(element as usize)?.as_ref()
    }

    /// Creates the record of a closed element of the window.
    fn record_closed(
        &mut self,
        base: u32,
        parent: Option<Arc<ElementRecord>>,
        element: u32,
    ) -> Arc<ElementRecord> {
        let record = self.record_open(base, parent, element);
        let end = ElementEnd {
            end_tag: self.elements[element as usize].end_tag,
            texts: self.texts(element),
        };
        record.end.set(end).expect("the record is new");
        record
    }

    /// The own text of an element of the window so far.
    pub fn texts(&self, element: u32) -> TextRanges {
        let mut texts = TextRanges::default();
        let mut at = self.elements[element as usize].first_piece;
        while at != NO_PIECE {
            let piece = self.pieces[at as usize];
            texts.push(piece.span);
            at = piece.next;
        }
        texts
    }

    /// Index of a name.
    fn name(&mut self, context: &dyn Context, id: NameId) -> u32 {
        if let Some(&name) = self.name_indexes.get(&id) {
            return name;
        }
        let (uri, local) = context.names().get(id);
        let next = self.locals.len() as u32;
        let name = self.names.len() as u32;
        self.names.push(StepName {
            step: name_test(uri, local).into(),
            local: *self.locals.entry_ref(local).or_insert(next),
            has_no_namespace: uri.is_empty(),
        });
        self.name_indexes.insert(id, name);
        name
    }

    /// The position of an element among the siblings that match its name test, from 1.
    fn position(&mut self, name: u32) -> u32 {
        let name = &self.names[name as usize];
        if self.children.len() < self.depth + 1 {
            self.children.push(HashMap::default());
        }
        let above = self.depth.checked_sub(1);
        let position = above.map_or(1, |above| {
            let siblings = self.children[above].entry(name.local).or_default();
            siblings.all += 1;
            siblings.without_namespace += u32::from(name.has_no_namespace);
            if name.has_no_namespace {
                siblings.without_namespace
            } else {
                siblings.all
            }
        });
        self.children[self.depth].clear();
        position
    }

    /// Index of the current scope in `scopes`.
    fn scope(&mut self, context: &dyn Context) -> u32 {
        let id = context.scope_id();
        if self.scopes.is_empty() || id != self.last_scope_id {
            self.last_scope_id = id;
            let scope = sorted_bindings(context);
            if self.scopes.last().is_none_or(|last| **last != *scope) {
                self.scopes.push(scope.into());
            }
        }
        self.scopes.len() as u32 - 1
    }
}
