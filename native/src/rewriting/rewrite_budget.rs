//! Enforces the limits of a mapping on one document.

use super::mapping::Limits;
use super::tree_buffer::TreeBuffer;
use crate::events::Stop;

pub(super) struct RewriteBudget {
    limits: Limits,
    /// Elements and text nodes copied so far, and elements inserted after the first of a path.
    copied: u64,
    /// Peak size of the tree buffer in bytes.
    pub held_bytes_peak: usize,
}

impl RewriteBudget {
    pub fn new(limits: Limits) -> RewriteBudget {
        RewriteBudget {
            limits,
            copied: 0,
            held_bytes_peak: 0,
        }
    }

    /// Stops the document if too much is buffered.
    #[inline]
    pub fn check_held(&mut self, trees: &TreeBuffer) -> Result<(), Stop> {
        let bytes = trees.bytes();
        self.held_bytes_peak = self.held_bytes_peak.max(bytes);
        let max = self.limits.held_bytes_max;
        if bytes <= max {
            return Ok(());
        }
        Err(Stop {
            code: "mapping.held",
            message: format!("more than {max} bytes are buffered until an element ends"),
        })
    }

    /// Counts an inserted path: its names after the first are like copies, since a long path would
    /// multiply the events of a document.
    #[inline]
    pub fn charge_inserted(&mut self, names: usize) -> Result<(), Stop> {
        match names {
            0 | 1 => Ok(()),
            _ => self.charge_copies(names - 1, 1),
        }
    }

    /// Counts `copies` copies of `weight` nodes; stops the document if there are too many.
    pub fn charge_copies(&mut self, copies: usize, weight: u32) -> Result<(), Stop> {
        let nodes = (copies as u64).saturating_mul(u64::from(weight));
        self.copied = self.copied.saturating_add(nodes);
        let max = self.limits.copies_max;
        if self.copied <= max {
            return Ok(());
        }
        Err(Stop {
            code: "mapping.copies",
            message: format!("more than {max} nodes would be copied or inserted"),
        })
    }
}
