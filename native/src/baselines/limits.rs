//! Resource limits of the baseline engines.

use crate::events::Stop;

/// Default of [`BaselineLimits::retained_max`]: about sixty megabytes.
pub const RETAINED_MAX: usize = 1 << 23;

/// Default of [`BaselineLimits::answers_max`].
pub const ANSWERS_MAX: usize = 1 << 24;

/// Limits for one document.
#[derive(Clone, Copy, Debug)]
pub struct BaselineLimits {
    /// Maximum number of retained elements and of words they directly contain, in total. Beyond it,
    /// a document is stopped with `keywords.or-too-large` if OR queries need answers; otherwise the
    /// retained elements are evicted and counted, since AND queries do not depend on them.
    pub retained_max: usize,
    /// Maximum number of answers. Beyond it, the document is stopped with
    /// `keywords.too-many-answers`.
    pub answers_max: usize,
    /// Maximum number of elements, which have 32-bit numbers. Beyond it, the document is stopped
    /// with `keywords.too-many-elements`.
    pub elements_max: u32,
}

impl Default for BaselineLimits {
    fn default() -> Self {
        BaselineLimits {
            retained_max: RETAINED_MAX,
            answers_max: ANSWERS_MAX,
            elements_max: u32::MAX,
        }
    }
}

impl BaselineLimits {
    /// Stops a document with too many answers.
    pub fn check_answers(&self, count: usize) -> Result<(), Stop> {
        if count <= self.answers_max {
            return Ok(());
        }
        Err(Stop {
            code: "keywords.too-many-answers",
            message: format!("the document has more than {} answers", self.answers_max),
        })
    }

    /// Stops a document at an element past the limit; `element` is its number.
    pub fn check_element(&self, element: u32) -> Result<(), Stop> {
        if element < self.elements_max {
            return Ok(());
        }
        Err(Stop {
            code: "keywords.too-many-elements",
            message: format!("the document has more than {} elements", self.elements_max),
        })
    }

    /// Whether this much may be retained.
    pub fn allows_retained(&self, size: usize) -> bool {
        size <= self.retained_max
    }

    /// The error for a document that exceeds the limit while OR queries need answers.
    pub fn too_large_for_or(&self) -> Stop {
        Stop {
            code: "keywords.or-too-large",
            message: format!(
                "OR queries can be answered in documents of at most {} elements and words",
                self.retained_max
            ),
        }
    }
}
