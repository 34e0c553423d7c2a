//! One segment's run over one document.
//!
//! At its start tag, each element takes one transition of the automaton and marks its path as seen;
//! the attributes of the open elements then decide the conditions at that path. When an element
//! ends, its content decides the conditions at the paths inside it
//! ([`crate::matching::match_decisions`]), and its values propagate to its parent
//! ([`crate::matching::element_stack`]).

use crate::events::{Context, StartElement, Stop};
use crate::matching::automaton::{LabelPath, ROOT_PATH};
use crate::matching::class_restriction::ClassRestriction;
use crate::matching::element_stack::ElementStack;
use crate::matching::match_bitmap::MatchBitmap;
use crate::matching::match_decisions::MatchDecisions;
use crate::matching::path_cache::{CacheCounters, PathCache};
use crate::matching::subtree_memo::SubtreeMemo;
use crate::matching::text_collector::TextCollector;
use crate::matching::work_meter::{Attribution, WorkMeter};
use crate::path_index::segment::{Segment, DIRECT_CLASS, VERIFY};
use crate::subscription_store::class_set::{ClassSet, OrderedClassSet};

/// Steps for each start tag.
const STEPS_PER_ELEMENT: usize = 8;

/// How much work a document may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkBudget {
    /// Steps until the document is stopped.
    pub steps: i64,
    /// Steps are attributed once fewer than this are left.
    pub attributed_below: i64,
    /// Steps that one trie node may take while steps are attributed.
    pub node_quota: u64,
}

/// Memory limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// Maximum size of the cache of states and paths; past it the cache is evicted.
    pub cache_bytes_max: usize,
    /// Maximum number of matches that wait for elements to end; past it the document is refused.
    pub undecided_max: usize,
}

/// A segment's working memory, reused across documents.
pub struct SegmentRun {
    cache: PathCache,
    elements: ElementStack,
    texts: TextCollector,
    decisions: MatchDecisions,
    memo: SubtreeMemo,
}

impl SegmentRun {
    /// Working memory for `segment`, or for a part of its classes.
    pub(super) fn new(
        segment: &Segment,
        limits: RunLimits,
        restriction: Option<ClassRestriction>,
    ) -> SegmentRun {
        SegmentRun {
            cache: PathCache::new(segment, limits.cache_bytes_max, restriction),
            elements: ElementStack::new(segment),
            texts: TextCollector::new(segment),
            decisions: MatchDecisions::new(segment, limits.undecided_max),
            memo: SubtreeMemo::default(),
        }
    }

    /// Begins a document whose names are numbered by the table `names_table`.
    pub(super) fn begin(&mut self, segment: &Segment, names_table: u64, budget: WorkBudget) {
        self.elements.work.begin(budget);
        self.cache.begin(segment, names_table);
        self.elements.begin();
        self.texts.begin();
        self.decisions.begin();
        self.memo.begin();
    }

    /// The work meter.
    #[inline]
    pub(super) fn work(&mut self) -> &mut WorkMeter {
        &mut self.elements.work
    }

    /// The classes that do not match as far as is known, because their evaluation was dropped.
    pub(super) fn dropped_classes(&mut self, segment: &Segment) -> Vec<u32> {
        let attribution = self.elements.work.take_attribution();
        let mut nodes: Vec<u32> = attribution.dropped().collect();
        let mut classes = Vec::new();
        while let Some(node) = nodes.pop() {
            if node & DIRECT_CLASS != 0 {
                classes.push(node & !DIRECT_CLASS);
                continue;
            }
            classes.extend(segment.accepts_of(node).iter().map(|class| class & !VERIFY));
            nodes.extend(segment.conditions_of(node).iter().map(|after| after.node));
        }
        let matches = &self.cache.automaton.matches;
        classes.retain(|&class| !matches.contains(class));
        classes
    }

    /// The steps attributed so far; if too many matches are pending, their numbers instead.
    pub(super) fn take_attribution(&mut self) -> Attribution {
        let work = &mut self.elements.work;
        if !self.decisions.has_too_many_pending() {
            return work.take_attribution();
        }
        let mut attribution = work.new_attribution();
        self.decisions.attribute_pending(&mut attribution);
        attribution
    }

    /// Changes of the cache since the document began.
    pub(super) fn cache_counters(&self) -> CacheCounters {
        self.cache.counters()
    }

    /// Approximate size of the cache.
    pub(super) fn cache_bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// Number of repeated subtrees that were replayed since the document began.
    pub(super) fn replayed_subtrees(&self) -> u64 {
        self.memo.replayed()
    }

    /// The classes that match, and those that must be verified.
    pub(super) fn results(&self) -> (&MatchBitmap, &OrderedClassSet) {
        (&self.cache.automaton.matches, self.decisions.candidates())
    }

    /// Handles a start tag.
    #[inline(never)]
    pub(super) fn start(
        &mut self,
        segment: &Segment,
        context: &dyn Context,
        element: &StartElement<'_>,
    ) -> Result<(), Stop> {
        self.end_text_node(segment);
        let alphabet = &mut self.cache.automaton.alphabet;
        let symbol = alphabet.symbol_of(segment, context, element.name);
        let (parent, attributes_since) = match self.elements.open().last() {
            Some(parent) => (parent.path, parent.attributes_since),
            None => (ROOT_PATH, 0),
        };
        let path = match self.cache.automaton.known_child(parent, symbol) {
            Some(path) => path,
            None => self.add_path(segment, parent, symbol),
        };
        let number = self.elements.next_number();
        let seen = &mut self.cache.automaton.paths[path as usize];
        let before = std::mem::replace(&mut seen.last_seen, number);
        let LabelPath {
            actions, required, ..
        } = *seen;
        self.elements.work.spend(STEPS_PER_ELEMENT);
        if before < self.elements.document_start() {
            self.cache
                .automaton
                .spend_on_path(path, &mut self.elements.work);
            self.cache.automaton.link_to_parent(path);
            if actions & LabelPath::ACCEPTS != 0 {
                self.decisions.defer_accepts(path);
            }
        }
        if actions & LabelPath::COLLECTS_STRING_VALUE != 0 {
            let required_values = &self.cache.automaton.required_values;
            self.texts.begin_string_value(required_values, required);
        }
        let acts_at_end = actions & LabelPath::ACTS_AT_END != 0 || parent == ROOT_PATH;
        self.elements
            .push(path, number, attributes_since, acts_at_end);
        if actions & LabelPath::RECORDS_ATTRIBUTES != 0 && !element.attributes.is_empty() {
            let automaton = &mut self.cache.automaton;
            let attributes = element.attributes;
            self.elements.record_attributes(
                segment,
                context,
                automaton,
                (required, actions),
                attributes,
            );
        }
        // Conditions on attributes are decided now, once for each set of attributes.
        if actions & LabelPath::HAS_CONDITIONS != 0
            && before < self.elements.innermost().attributes_since
        {
            self.decide_by_attributes(segment, path, before)?;
        }
        self.elements.work.check()
    }

    fn decide_by_attributes(
        &mut self,
        segment: &Segment,
        path: u32,
        before: u64,
    ) -> Result<(), Stop> {
        self.decisions.decide_by_attributes(
            segment,
            &mut self.cache,
            &mut self.elements,
            &mut self.memo,
            (path, before),
        )
    }

    /// The path for `symbol` below `parent`, which no document had before.
    #[cold]
    fn add_path(&mut self, segment: &Segment, parent: u32, symbol: u32) -> u32 {
        let path = self.cache.automaton.child(segment, parent, symbol);
        if !self.cache.is_full() {
            return path;
        }
        let parent = self.evict_cache(segment);
        self.cache.automaton.child(segment, parent, symbol)
    }

    /// Evicts the cache within a document and recreates the paths of the open elements; returns
    /// that of the innermost. Which other paths were seen is lost, so the matches that depend on
    /// them are verified.
    #[cold]
    fn evict_cache(&mut self, segment: &Segment) -> u32 {
        let automaton = &mut self.cache.automaton;
        self.decisions.accept_deferred(automaton);
        let document_start = self.elements.document_start();
        let next_element = self.elements.count() + 1;
        self.decisions
            .remember_conditions(automaton, document_start, next_element);
        let open = self.elements.open().iter();
        let symbols: Vec<u32> = open
            .map(|element| automaton.paths[element.path as usize].symbol)
            .collect();
        self.cache.evict(segment);
        self.memo.clear();
        let automaton = &mut self.cache.automaton;
        let mut path = ROOT_PATH;
        for (element, symbol) in self.elements.open_mut().iter_mut().zip(symbols) {
            path = automaton.child(segment, path, symbol);
            element.path = path;
            automaton.mark_seen(path, element.number, document_start);
        }
        path
    }

    /// Handles a piece of text.
    #[inline(always)]
    pub(super) fn text(&mut self, segment: &Segment, piece: &str) {
        if self.texts.is_used() {
            self.collect_text(segment, piece);
        }
    }

    // Not inlined, so that `text` is, into the reader's loop: most texts are not used.
    #[inline(never)]
    fn collect_text(&mut self, segment: &Segment, piece: &str) {
        if self.memo.is_recording_children_of(self.elements.depth()) {
            self.memo.abandon(); // it may join the text that follows the subtree
        }
        if self.texts.has_open_string_values() {
            self.memo.record_text(piece);
            self.texts
                .feed_string_values(segment, &mut self.elements.work, piece);
        }
        let automaton = &self.cache.automaton;
        self.texts
            .feed_text_node(segment, automaton, &mut self.elements, piece);
    }

    /// Handles a comment or processing instruction, which ends a text node.
    #[inline]
    pub(super) fn text_break(&mut self, segment: &Segment) {
        if self.memo.is_recording_children_of(self.elements.depth()) {
            self.memo.abandon();
        }
        self.end_text_node(segment);
    }

    #[inline(always)]
    fn end_text_node(&mut self, segment: &Segment) {
        if self.texts.has_text_node() {
            let automaton = &self.cache.automaton;
            self.texts
                .end_text_node(segment, automaton, &mut self.elements);
        }
    }

    /// Handles an end tag.
    #[inline(always)]
    pub(super) fn end(&mut self, segment: &Segment) -> Result<(), Stop> {
        self.end_text_node(segment);
        if self.elements.innermost().acts_at_end {
            return self.end_active(segment);
        }
        self.elements.pop();
        Ok(())
    }

    /// Ends an element that recorded values or that matches wait for.
    #[inline(never)]
    fn end_active(&mut self, segment: &Segment) -> Result<(), Stop> {
        let SegmentRun {
            cache,
            elements,
            texts,
            decisions,
            memo,
        } = self;
        let path = elements.innermost().path;
        let LabelPath {
            required, actions, ..
        } = cache.automaton.paths[path as usize];
        let required_values = &cache.automaton.required_values;
        let is_collected = actions & LabelPath::COLLECTS_STRING_VALUE != 0;
        if is_collected {
            texts.end_string_value();
        }
        if actions & LabelPath::RECORDS_STRING_VALUE != 0 {
            texts.record_string_value(segment, required_values, elements, required, is_collected);
        }
        if elements.has_first_nodes() {
            elements.record_first_nodes(segment, required_values, required);
        }
        if actions & LabelPath::HAS_COMPOUNDS != 0 {
            elements.record_compounds(segment, required_values, required);
        }
        if elements.innermost().has_content {
            decisions.decide_by_content(segment, cache, elements, memo)?;
        }
        if elements.innermost().pending > 0 {
            decisions.decide_pending(segment, &mut cache.automaton, elements, memo)?;
        }
        let closed = *elements.innermost();
        elements.pop();
        elements.propagate(segment, &cache.automaton, &closed, memo);
        if elements.depth() == 0 {
            decisions.accept_deferred(&mut cache.automaton);
        }
        elements.work.check()
    }

    /// Clears the memo of repeated subtrees: their numbers are about to change.
    pub(super) fn forget_repeated(&mut self) {
        self.memo.clear();
    }

    /// Whether a repeated subtree can be replayed below the innermost element.
    pub(super) fn can_replay(&self, number: u32) -> bool {
        self.memo.contains((number, self.elements.innermost().path))
    }

    /// Begins to record a repeated subtree, unless it is inside one that is being recorded.
    pub(super) fn begin_repeated(&mut self, segment: &Segment, number: u32) {
        if self.memo.is_recording() {
            return;
        }
        self.end_text_node(segment);
        let key = (number, self.elements.innermost().path);
        let (depth, count) = (self.elements.depth(), self.elements.count());
        self.memo.begin_recording(key, depth, count);
    }

    /// Ends a repeated subtree.
    pub(super) fn end_repeated(&mut self, number: u32) {
        let depth = self.elements.depth();
        self.memo
            .end_recording(&self.cache.automaton, number, depth);
    }

    /// Replays a repeated subtree below the innermost element.
    pub(super) fn replay(&mut self, segment: &Segment, number: u32) -> Result<(), Stop> {
        let key = (number, self.elements.innermost().path);
        let effects = self.memo.take(key);
        self.end_text_node(segment);
        let since = self.elements.innermost().attributes_since;
        let document_start = self.elements.document_start();
        for &path in &effects.paths {
            self.elements.work.spend(STEPS_PER_ELEMENT);
            let number = self.elements.next_number();
            let automaton = &mut self.cache.automaton;
            let before = automaton.mark_seen(path, number, document_start);
            let actions = automaton.paths[path as usize].actions;
            if before < since && actions & LabelPath::HAS_CONDITIONS != 0 {
                self.decide_by_attributes(segment, path, before)?;
            }
        }
        for &(depth, node, structural) in &effects.pending {
            let (elements, memo) = (&mut self.elements, &mut self.memo);
            self.decisions
                .defer(elements, memo, (node, structural), depth)?;
        }
        if !effects.text.is_empty() {
            self.texts
                .feed_string_values(segment, &mut self.elements.work, &effects.text);
        }
        for &(value, uses) in &effects.values {
            self.elements.add_value(segment, value, uses);
        }
        self.memo.put_back(key, effects);
        self.elements.work.check()
    }
}
