//! What an engine of the paper tells of a document.

/// What is asked of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Which queries match.
    Matches,
    /// All answers of each query too.
    Answers,
}

/// A query's answer: the element's number in document order, the root's being 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answer {
    /// The query.
    pub query: u32,
    /// The element.
    pub element: u32,
}

/// The queries that match a document, and their answers.
#[derive(Debug)]
pub struct Told {
    want: Want,
    /// By query.
    matched: Vec<bool>,
    matches: Vec<u32>,
    answers: Vec<Answer>,
}

impl Default for Told {
    fn default() -> Self {
        Told {
            want: Want::Matches,
            matched: Vec::new(),
            matches: Vec::new(),
            answers: Vec::new(),
        }
    }
}

impl Told {
    /// Begins a document; queries' numbers are below `query_end`.
    pub fn begin(&mut self, want: Want, query_end: usize) {
        for query in self.matches.drain(..) {
            self.matched[query as usize] = false;
        }
        self.matched.resize(query_end, false);
        self.answers.clear();
        self.want = want;
    }

    /// What is asked for.
    pub fn want(&self) -> Want {
        self.want
    }

    /// Whether one more answer of this query would tell nothing that is asked for.
    #[inline]
    pub fn needs_no_more_of(&self, query: u32) -> bool {
        self.want == Want::Matches && self.matched[query as usize]
    }

    /// The query matches.
    #[inline]
    pub fn tell_match(&mut self, query: u32) {
        if !std::mem::replace(&mut self.matched[query as usize], true) {
            self.matches.push(query);
        }
    }

    /// The element answers the query.
    #[inline]
    pub fn tell(&mut self, query: u32, element: u32) {
        self.tell_match(query);
        if self.want == Want::Answers {
            self.answers.push(Answer { query, element });
        }
    }

    /// Ends the document.
    pub fn finish(&mut self) {
        self.matches.sort_unstable();
        self.answers.sort_unstable();
    }

    /// The queries that match, ascending.
    pub fn matches(&self) -> &[u32] {
        &self.matches
    }

    /// Where asked for: all answers by query, each query's in document order.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }
}
