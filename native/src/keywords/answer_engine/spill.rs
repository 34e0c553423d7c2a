//! Spilling: how the answer engine processes a document that is too large for its window.

use crate::events::{Span, Stop};

use super::{AnswerBuffers, AnswerEngine, QueryIndexes};
use crate::keywords::answers::Answer;
use crate::keywords::closed_subtree::ClosedSubtree;
use crate::keywords::conjunction_index::Presence;
use crate::keywords::element_metadata::ElementEnd;
use crate::keywords::element_window::NO_ELEMENT;
use crate::keywords::subtree_summary::{SubtreeSummary, SubtreeWords};
use crate::keywords::token_sink::WordId;

impl AnswerEngine<'_> {
    /// Empties the window. Queries are answered in its closed subtrees, which are then merged into
    /// the summaries of the open elements.
    #[cold]
    pub(super) fn spill(&mut self) -> Result<(), Stop> {
        if !self.buffers.is_spilled {
            self.buffers.is_spilled = true;
            for at in 0..self.buffers.window.occurrences().len() {
                self.check_disjunctions(self.buffers.window.occurrences()[at].word)?;
            }
        }
        self.buffers.window.sort_occurrences();
        let mut open = self.buffers.summaries.len();
        self.push_summaries();
        let (mut element, mut occurrence) = (0, 0);
        while element < self.buffers.window.elements() {
            if self.buffers.window.is_open(element) {
                open += 1;
                element += 1;
            } else {
                let last = self.buffers.window.last(element);
                occurrence = self.spill_subtree(occurrence, last, open - 1)?;
                element = last + 1;
            }
        }
        let buffers = &mut *self.buffers;
        let max = self.options.elements_max;
        let base = buffers.base.checked_add(buffers.window.elements());
        buffers.base = base.filter(|&base| base <= max).ok_or_else(|| Stop {
            code: "keywords.too-many-elements",
            message: format!("the document has more than {max} elements"),
        })?;
        buffers.window.clear(self.indexes.queries.word_count());
        buffers.metadata.clear_window();
        Ok(())
    }

    /// Creates summaries of the window's open elements.
    fn push_summaries(&mut self) {
        let AnswerBuffers {
            window,
            metadata,
            summaries,
            open,
            base,
            ..
        } = &mut *self.buffers;
        let outside = summaries.len();
        window.open_elements(open);
        for &element in &*open {
            let parent = summaries.last().map(|summary| summary.record.clone());
            let record = metadata.record_open(*base, parent, element);
            summaries.push(SubtreeSummary::new(record, metadata.texts(element)));
        }
        for occurrence in window.occurrences() {
            if let Ok(at) = open.binary_search(&occurrence.element) {
                summaries[outside + at].own.insert(occurrence.word);
            }
        }
    }

    /// Answers queries in a closed subtree that ends at element `last` and merges it into a
    /// summary. Its words are among the occurrences from index `first` on; returns where they end.
    fn spill_subtree(&mut self, first: usize, last: u32, summary: usize) -> Result<usize, Stop> {
        let buffers = &mut *self.buffers;
        let occurrences = buffers.window.occurrences();
        let is_open = |at: &usize| buffers.window.is_open(occurrences[*at].element);
        let is_inside = |at: &usize| !is_open(at) && occurrences[*at].element <= last;
        let start = first + (first..occurrences.len()).take_while(is_open).count();
        let end = start + (start..occurrences.len()).take_while(is_inside).count();
        if start < end {
            let occurrences = &occurrences[start..end];
            buffers.postings.clear(self.indexes.queries.word_count());
            let words = occurrences.iter().map(|occurrence| occurrence.word);
            words.for_each(|word| buffers.postings.request(word));
            buffers.postings.build(occurrences);
            self.find_complete_in_postings();
            let enclosing = self.buffers.summaries[summary].record.clone();
            self.answer_queries(Some(&enclosing));
            let AnswerBuffers {
                window,
                postings,
                metadata,
                base,
                summaries,
                complete,
                ..
            } = &mut *self.buffers;
            complete.sort_unstable();
            let mut subtree =
                ClosedSubtree::new(window, postings, metadata, *base, Some(&enclosing));
            summaries[summary].merge(
                &mut subtree,
                complete,
                self.indexes.queries,
                self.options.witnesses_max,
            );
        }
        Ok(end)
    }

    /// Finds the AND queries all of whose words are in the postings.
    fn find_complete_in_postings(&mut self) {
        let AnswerBuffers {
            postings,
            complete,
            search,
            ..
        } = &mut *self.buffers;
        complete.clear();
        let presence = |word| Presence::from(postings.contains(word));
        let QueryIndexes {
            queries,
            conjunctions,
            ..
        } = self.indexes;
        conjunctions.search(search, queries, postings.words(), presence, complete);
    }

    /// Adds a word after the window has spilled.
    #[cold]
    pub(super) fn add_word_spilled(&mut self, word: WordId) -> Result<(), Stop> {
        self.check_disjunctions(word)?;
        match self.buffers.window.current() {
            NO_ELEMENT => {
                let summary = self.buffers.summaries.last_mut();
                summary.expect("an open element").own.insert(word);
            }
            element => self.buffers.window.add_words(element, &[word]),
        }
        Ok(())
    }

    /// Stops the document at a word of an OR query, which can only be answered if the entire
    /// document is in the window.
    fn check_disjunctions(&self, word: WordId) -> Result<(), Stop> {
        if self.indexes.disjunctions.get(word).is_empty() {
            return Ok(());
        }
        Err(Stop {
            code: "keywords.or-too-large",
            message: format!(
                "OR queries can be answered in documents of at most {} elements and words",
                self.options.window_max
            ),
        })
    }

    /// The innermost open element, which is outside of the window, ends.
    #[cold]
    pub(super) fn close_summary(&mut self, end_tag: Span) -> Result<(), Stop> {
        self.spill()?;
        let mut summary = self.buffers.summaries.pop().expect("an open element");
        let texts = std::mem::take(&mut summary.texts);
        let end = ElementEnd { end_tag, texts };
        summary.record.end.set(end).expect("an element ends once");
        self.buffers.metadata.close_outside();
        summary.end(self.options.witnesses_max);
        let complete = self.answer_summary(&summary);
        if let Some(parent) = self.buffers.summaries.last_mut() {
            parent.merge(
                &mut summary,
                &complete,
                self.indexes.queries,
                self.options.witnesses_max,
            );
        }
        Ok(())
    }

    /// Answers queries for an ended element; returns the queries that are complete in it, ascending.
    fn answer_summary(&mut self, summary: &SubtreeSummary) -> Vec<u32> {
        let AnswerBuffers { words, search, .. } = &mut *self.buffers;
        words.clear();
        summary.for_each_word(&mut |word, _| words.push(word));
        let presence = |word| Presence::from(summary.contains(word));
        let QueryIndexes {
            queries,
            conjunctions,
            ..
        } = self.indexes;
        let mut complete = Vec::new();
        conjunctions.search(search, queries, words, presence, &mut complete);
        complete.sort_unstable();
        for &query in &complete {
            let words = queries.words(query);
            if self.buffers.ranked.is_abandoned(query) || !summary.answers(query, words) {
                continue;
            }
            let AnswerBuffers { ranked, budget, .. } = &mut *self.buffers;
            let max = self.options.witnesses_max;
            let found = |(at, &word)| (word, summary.remaining(query, at, word, max));
            let found = (0..).zip(words).map(found);
            let answer = Answer::new(&summary.record, found, budget);
            ranked.push(query, answer, self.options.limit, self.options.bytes_max);
            if budget.is_spent() {
                ranked.abandon(query);
            }
        }
        complete
    }
}
