//! The Python binding: thin, and the only module that knows Python.

use pyo3::prelude::*;

mod xpath;

/// The private extension module `penstock._native`; `_native.pyi` describes it.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add(
        "BUILD_PROFILE",
        if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        },
    )?;
    module.add_function(wrap_pyfunction!(xpath::parse_query, module)?)?;
    Ok(())
}
