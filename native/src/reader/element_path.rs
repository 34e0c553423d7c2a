//! The path of an element in an error.

/// Names in a path; those in the middle of a longer path are omitted.
const PATH_NAMES_MAX: usize = 32;

/// Elements as a path of names as written, from the root down: `/a/p:b`.
pub(crate) fn element_path<N: AsRef<str>>(names: impl ExactSizeIterator<Item = N>) -> String {
    let omitted = names.len().saturating_sub(PATH_NAMES_MAX);
    let first = PATH_NAMES_MAX / 2;
    let mut path = String::new();
    for (number, name) in names.enumerate() {
        if omitted == 0 || number < first || number >= first + omitted {
            path.push('/');
            path.push_str(name.as_ref());
        } else if number == first {
            path.push_str("/…");
        }
    }
    path
}
