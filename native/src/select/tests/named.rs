//! Cases with a name.
