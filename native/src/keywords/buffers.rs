//! Reusable buffers.

/// Grows a buffer to at least `count` elements of unspecified content.
#[inline]
pub fn ensure_len<T: Default + Clone>(values: &mut Vec<T>, count: usize) {
    if values.len() < count {
        values.resize(2 * count, T::default());
    }
}
