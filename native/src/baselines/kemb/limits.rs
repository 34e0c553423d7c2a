//! What a document may take of the paper's engines.

use crate::events::Stop;
use crate::keywords::answer_engine::ANSWERS_MAX;

/// See [`Limits::kept_max`]: some sixty megabytes.
pub const KEPT_MAX: usize = 1 << 23;

/// What a document may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Elements that are kept, and words that they directly contain, held together. Past it, a
    /// document of which OR queries want answers is stopped with `keywords.or-too-large`; otherwise
    /// what is kept is forgotten, and counted: answers of AND queries do not depend on it.
    pub kept_max: usize,
    /// Answers of a document in all. Past it the document is stopped with
    /// `keywords.too-many-answers`.
    pub answers_max: usize,
    /// Elements of a document, whose numbers are of 32 bits. Past it the document is stopped with
    /// `keywords.too-many-elements`.
    pub elements_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            kept_max: KEPT_MAX,
            answers_max: ANSWERS_MAX,
            elements_max: u32::MAX,
        }
    }
}

impl Limits {
    /// Stops a document with too many answers.
    pub fn check_answers(&self, count: usize) -> Result<(), Stop> {
        if count <= self.answers_max {
            return Ok(());
        }
        Err(Stop {
            code: "keywords.too-many-answers",
            message: format!("there are more than {} answers", self.answers_max),
        })
    }

    /// Stops a document at an element past the last that may be; `element` is its number.
    pub fn check_element(&self, element: u32) -> Result<(), Stop> {
        if element < self.elements_max {
            return Ok(());
        }
        Err(Stop {
            code: "keywords.too-many-elements",
            message: format!("there are more than {} elements", self.elements_max),
        })
    }

    /// Whether so much may be kept.
    pub fn allow_kept(&self, size: usize) -> bool {
        size <= self.kept_max
    }

    /// Stops a document of which more would have to be kept for OR queries.
    pub fn too_large_for_or(&self) -> Stop {
        Stop {
            code: "keywords.or-too-large",
            message: format!(
                "OR queries are answered in documents of up to {} elements and words",
                self.kept_max
            ),
        }
    }
}
