//! The bound of the cache: past it everything is dropped, and grows back.

use crate::matching::automaton::ROOT_PATH;
use crate::matching::segment_run::{Run, RunCounters};
use crate::path_index::segment::Segment;

impl Run {
    /// The path of `letter` below `parent`, which no document had before.
    #[cold]
    pub(super) fn make_path(&mut self, segment: &Segment, parent: u32, letter: u32) -> u32 {
        let path = self.automaton.child(segment, parent, letter);
        if self.cache_bytes() > self.limits.cache_bytes_max {
            return self.drop_cache(segment, letter);
        }
        path
    }

    /// Drops the cache before a document, where it is past its bound.
    pub(super) fn drop_cache_past_bound(&mut self, segment: &Segment) {
        if self.cache_bytes() > self.limits.cache_bytes_max {
            self.automaton.clear(segment);
            self.automaton.told.forget();
            self.sites.clear();
            self.counters.caches_dropped += 1;
        }
    }

    /// Drops the cache in the middle of a document and finds the open elements' paths again; returns
    /// that of `letter` below them. Which paths were seen is lost, so what depends on it is verified.
    #[cold]
    fn drop_cache(&mut self, segment: &Segment, letter: u32) -> u32 {
        self.accept_all();
        for seen in self
            .automaton
            .paths
            .iter()
            .filter(|path| path.last_seen >= self.document_began)
        {
            let state = self.automaton.states[seen.state as usize];
            self.forgotten
                .extend(self.automaton.list(state.conditional));
        }
        self.counters = RunCounters {
            caches_dropped: self.counters.caches_dropped + 1,
            ..self.counters()
        };
        let open = self.frames.iter().map(|frame| frame.path);
        let letters: Vec<u32> = open
            .map(|path| self.automaton.paths[path as usize].letter)
            .collect();
        self.automaton.clear(segment);
        self.sites.clear();
        self.repeats.clear();
        self.sizes_before = (0, 0);
        self.forgotten_before = self.elements + 1;
        let mut path = ROOT_PATH;
        for (frame, letter) in self.frames.iter_mut().zip(letters) {
            path = self.automaton.child(segment, path, letter);
            frame.path = path;
            self.automaton.see(path, frame.started, self.document_began);
        }
        self.automaton.child(segment, path, letter)
    }
}
