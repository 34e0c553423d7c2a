//! What a run does with a document too large for its window.

use crate::events::{Span, Stop};

use crate::keywords::answer_engine::{check_answers, Answering, Parts, State};
use crate::keywords::answers::Answer;
use crate::keywords::closed_subtree::Unit;
use crate::keywords::conjunction_index::{CompleteQuery, PresenceMask};
use crate::keywords::conjunctive_answers::Which;
use crate::keywords::element_metadata::Ending;
use crate::keywords::element_window::NONE;
use crate::keywords::subtree_summary::{Frame, Part};
use crate::keywords::token_sink::WordId;

/// The places of a word of which no more is known than that it is there.
const ANYWHERE: PresenceMask = PresenceMask::MAX;

impl<const DETAILS: bool> Answering<'_, DETAILS> {
    /// Empties the window: closed elements are answered and folded into those that are open, which
    /// become frames.
    #[cold]
    pub(super) fn fold(&mut self) -> Result<(), Stop> {
        if !self.state.is_folded {
            self.state.is_folded = true;
            for at in 0..self.state.window.occurrences().len() {
                self.check_any(self.state.window.occurrences()[at].word)?;
            }
        }
        self.state.window.sort_occurrences();
        let outside = self.state.frames.len();
        self.push_frames();
        let (mut element, mut heard) = (0, 0);
        let mut innermost = outside;
        while element < self.state.window.elements() {
            if self.state.window.is_open(element) {
                innermost += 1;
                element += 1;
            } else {
                let last = self.state.window.last(element);
                heard = self.fold_unit(heard, last, innermost - 1)?;
                element = last + 1;
            }
        }
        let state = &mut *self.state;
        let max = self.options.elements_max;
        let base = state.base.checked_add(state.window.elements());
        state.base = base.filter(|&base| base <= max).ok_or_else(|| Stop {
            code: "keywords.too-many-elements",
            message: format!("the document has more than {max} elements"),
        })?;
        state.window.clear(self.parts.queries.word_count());
        state.notes.clear_window();
        Ok(())
    }

    /// Makes frames of the window's open elements.
    fn push_frames(&mut self) {
        let State {
            window,
            notes,
            frames,
            open,
            base,
            ..
        } = &mut *self.state;
        let outside = frames.len();
        window.open_elements(open);
        for &element in &*open {
            let mut frame = Frame::default();
            frame.number = *base + element;
            if DETAILS {
                let parent = frames.last().and_then(|frame| frame.kept.clone());
                frame.kept = Some(notes.keep_open(*base, parent, element));
                frame.texts = notes.texts(element);
            }
            frames.push(frame);
        }
        for occurrence in window.occurrences() {
            if let Ok(at) = open.binary_search(&occurrence.element) {
                frames[outside + at].own.insert(occurrence.word);
            }
        }
    }

    /// Answers a closed child, up to its `last` element, and folds it into a frame. Its words are
    /// among those heard from `heard` on; where they end.
    fn fold_unit(&mut self, heard: usize, last: u32, frame: usize) -> Result<usize, Stop> {
        let state = &mut *self.state;
        let occurrences = state.window.occurrences();
        let is_own = |at: &usize| state.window.is_open(occurrences[*at].element);
        let is_inside = |at: &usize| !is_own(at) && occurrences[*at].element <= last;
        let places = heard..occurrences.len();
        let start = heard + places.clone().take_while(is_own).count();
        let end = start + (start..occurrences.len()).take_while(is_inside).count();
        if start < end {
            let occurrences = &occurrences[start..end];
            state.postings.clear(self.parts.queries.word_count());
            let words = occurrences.iter().map(|occurrence| occurrence.word);
            words.for_each(|word| state.postings.want(word));
            state.postings.gather(occurrences);
            self.find_complete();
            let outside = self.state.frames[frame].kept.clone();
            self.answer_all(outside.as_ref())?;
            let most = self.witnesses();
            let State {
                window,
                postings,
                notes,
                base,
                frames,
                complete,
                ..
            } = &mut *self.state;
            let complete = numbers(complete);
            let mut unit = Unit::new(window, postings, notes, *base, outside.as_ref());
            frames[frame].fold(&mut unit, &complete, self.parts.queries, most);
        }
        Ok(end)
    }

    /// Lists the AND queries all of whose words are in the postings.
    fn find_complete(&mut self) {
        let state = &mut *self.state;
        let places = |word| {
            if state.postings.contains(word) {
                ANYWHERE
            } else {
                0
            }
        };
        let (words, complete) = (state.postings.words(), &mut state.complete);
        complete.clear();
        let Parts { queries, all, .. } = self.parts;
        all.search(&mut state.search, queries, words, places, |found| {
            complete.push(found);
        });
    }

    /// A word after the window was folded once.
    #[cold]
    pub(super) fn word_folded(&mut self, word: WordId) -> Result<(), Stop> {
        self.check_any(word)?;
        if self.state.window.current() == NONE {
            let frame = self.state.frames.last_mut().expect("an open element");
            frame.own.insert(word);
        } else {
            self.state.window.words_heard(&[word]);
        }
        Ok(())
    }

    /// Stops the document at a word of an OR query, which needs the document whole.
    fn check_any(&self, word: WordId) -> Result<(), Stop> {
        if self.options.which == Which::Smallest || self.parts.any.get(word).is_empty() {
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

    /// The innermost frame's element ends.
    #[cold]
    pub(super) fn close_frame(&mut self, end_tag: Span) -> Result<(), Stop> {
        self.fold()?;
        let most = self.witnesses();
        let mut frame = self.state.frames.pop().expect("an open element");
        if let Some(kept) = &frame.kept {
            let texts = std::mem::take(&mut frame.texts);
            let ending = Ending { end_tag, texts };
            kept.ending.set(ending).expect("it ends once");
            self.state.notes.close_outside();
        }
        frame.end(most);
        let complete = self.answer_frame(&frame)?;
        if let Some(parent) = self.state.frames.last_mut() {
            parent.fold(&mut frame, &complete, self.parts.queries, most);
        }
        Ok(())
    }

    /// Answers the queries for a frame's element itself; those that are complete in it.
    fn answer_frame(&mut self, frame: &Frame) -> Result<Vec<u32>, Stop> {
        let State {
            words,
            search,
            pairs,
            ranked,
            ..
        } = &mut *self.state;
        words.clear();
        frame.words(&mut |word, _| words.push(word));
        let places = |word| PresenceMask::from(frame.contains(word));
        let Parts { queries, all, .. } = self.parts;
        let mut complete = Vec::new();
        all.search(search, queries, words, places, |found| complete.push(found));
        let complete = numbers(&complete);
        for &query in &complete {
            let words = self.parts.queries.words(query);
            let answers = frame.is_smallest(query)
                || self.options.which == Which::Compact
                    && (0..)
                        .zip(words)
                        .all(|(at, &word)| frame.left(query, at, word) > 0);
            if !answers {
                continue;
            }
            if let Some(kept) = &frame.kept {
                let most = self.options.witnesses_max;
                let found = |(at, &word)| (word, frame.found(query, at, word, most));
                let answer = Answer::new(kept, (0..).zip(words).map(found));
                ranked.push(query, answer, self.options.limit);
            } else {
                pairs.push((query, frame.number));
            }
            check_answers(pairs.len() + ranked.held(), &self.options)?;
        }
        Ok(complete)
    }
}

/// The numbers of queries, ascending.
fn numbers(complete: &[CompleteQuery]) -> Vec<u32> {
    let mut numbers: Vec<u32> = complete.iter().map(|found| found.query).collect();
    numbers.sort_unstable();
    numbers
}
