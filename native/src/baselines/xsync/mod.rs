//! The containment index of XSync (Lam, Lam and Wong: *Update Synchronization for Mobile XML Data*, 2003),
//! with the errors of its pseudocode mended: decision record 0055 lists them.

mod cid_blocks;
pub(crate) mod containment_index;
pub(crate) mod document_type;
pub(crate) mod path_tokens;
#[cfg(test)]
mod tests;
