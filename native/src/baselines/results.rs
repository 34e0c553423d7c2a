//! Results of a baseline engine for one document.

/// Which results are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// The matching queries.
    Matches,
    /// The matching queries and all of their answers.
    Answers,
}

/// An answer to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BaselineAnswer {
    /// Query number.
    pub query: u32,
    /// Number of the element in document order; the root is 0.
    pub element: u32,
}

/// Matching queries and their answers.
#[derive(Debug)]
pub struct BaselineResults {
    kind: ResultKind,
    /// Whether each query matches.
    matched: Vec<bool>,
    matches: Vec<u32>,
    answers: Vec<BaselineAnswer>,
}

impl Default for BaselineResults {
    fn default() -> Self {
        BaselineResults {
            kind: ResultKind::Matches,
            matched: Vec::new(),
            matches: Vec::new(),
            answers: Vec::new(),
        }
    }
}

impl BaselineResults {
    /// Starts a document; query numbers are below `query_count`.
    pub fn begin(&mut self, kind: ResultKind, query_count: usize) {
        for query in self.matches.drain(..) {
            self.matched[query as usize] = false;
        }
        self.matched.resize(query_count, false);
        self.answers.clear();
        self.kind = kind;
    }

    /// Which results are needed.
    pub fn kind(&self) -> ResultKind {
        self.kind
    }

    /// Whether further answers to this query are irrelevant.
    #[inline]
    pub fn is_decided(&self, query: u32) -> bool {
        self.kind == ResultKind::Matches && self.matched[query as usize]
    }

    /// Records that a query matches.
    #[inline]
    pub fn add_match(&mut self, query: u32) {
        if !std::mem::replace(&mut self.matched[query as usize], true) {
            self.matches.push(query);
        }
    }

    /// Records that an element answers a query.
    #[inline]
    pub fn add_answer(&mut self, query: u32, element: u32) {
        self.add_match(query);
        if self.kind == ResultKind::Answers {
            self.answers.push(BaselineAnswer { query, element });
        }
    }

    /// Ends the document.
    pub fn finish(&mut self) {
        self.matches.sort_unstable();
        self.answers.sort_unstable();
    }

    /// Matching queries, ascending.
    pub fn matches(&self) -> &[u32] {
        &self.matches
    }

    /// All answers if needed, ordered by query, then in document order.
    pub fn answers(&self) -> &[BaselineAnswer] {
        &self.answers
    }
}
