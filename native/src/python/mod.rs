//! The Python binding.

use pyo3::prelude::*;

mod affected;
mod answers;
mod buffers;
mod checksums;
mod combined;
mod document_matcher;
mod document_rewriter;
mod document_tree;
mod explanations;
mod id_strings;
mod indexes;
mod keywords;
mod label_paths;
mod mapping;
mod outcomes;
mod paths;
mod reader;
mod records;
mod relations;
mod route_table;
mod sample_paths;
mod select;
mod xpath;
#[cfg(feature = "baselines")]
mod xsync;

/// The error for a baseline engine in a build without baselines.
#[cfg(not(feature = "baselines"))]
fn baseline_missing(engine: &str) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(format!(
        "engine {engine:?} is a baseline, and this build was compiled without the feature `baselines`"
    ))
}

/// The private extension module `penstock._native`, described by `_native.pyi`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("BUILD_PROFILE", env!("PENSTOCK_BUILD_PROFILE"))?;
    module.add_function(wrap_pyfunction!(checksums::crc32, module)?)?;
    module.add_function(wrap_pyfunction!(checksums::sha256_each, module)?)?;
    module.add_function(wrap_pyfunction!(reader::reader_codes, module)?)?;
    module.add_function(wrap_pyfunction!(reader::default_limits, module)?)?;
    module.add_function(wrap_pyfunction!(reader::decode, module)?)?;
    module.add_function(wrap_pyfunction!(reader::read_events, module)?)?;
    module.add_class::<reader::DocumentReader>()?;
    module.add_class::<reader::PartReader>()?;
    module.add_class::<records::RecordCutter>()?;
    module.add_class::<sample_paths::SampleCounter>()?;
    module.add_function(wrap_pyfunction!(xpath::parse_query, module)?)?;
    module.add_class::<relations::CompiledQuery>()?;
    #[cfg(feature = "baselines")]
    module.add_class::<xsync::XSyncIndex>()?;
    module.add_class::<affected::AffectedIndex>()?;
    module.add_function(wrap_pyfunction!(affected::affected_limits, module)?)?;
    module.add_class::<document_matcher::DocumentMatcher>()?;
    module.add_class::<paths::Index>()?;
    module.add_class::<paths::Matcher>()?;
    module.add_function(wrap_pyfunction!(paths::process_cache_bytes, module)?)?;
    module.add_class::<outcomes::Handles>()?;
    module.add_class::<outcomes::WorkCounters>()?;
    module.add_class::<label_paths::LabelPaths>()?;
    module.add_class::<route_table::RouteTable>()?;
    module.add_function(wrap_pyfunction!(
        route_table::annotation_attestation,
        module
    )?)?;
    module.add_function(wrap_pyfunction!(
        route_table::encode_annotation_header,
        module
    )?)?;
    module.add_class::<label_paths::Vocabulary>()?;
    module.add_class::<label_paths::ClassifiedPaths>()?;
    module.add_class::<label_paths::MainPaths>()?;
    module.add_function(wrap_pyfunction!(label_paths::decode_last_offsets, module)?)?;
    module.add_function(wrap_pyfunction!(label_paths::skeleton_limits, module)?)?;
    module.add_function(wrap_pyfunction!(keywords::words, module)?)?;
    module.add_function(wrap_pyfunction!(keywords::parse_keywords, module)?)?;
    module.add_function(wrap_pyfunction!(keywords::keyword_limits, module)?)?;
    module.add_class::<keywords::KeywordIndex>()?;
    module.add_class::<keywords::KeywordMatcher>()?;
    module.add_class::<answers::PathReturns>()?;
    module.add_class::<paths::SelectedNodes>()?;
    module.add_class::<mapping::SelectedParts>()?;
    module.add_class::<combined::CombinedMatcher>()?;
    module.add_function(wrap_pyfunction!(select::select, module)?)?;
    module.add_class::<document_tree::DocumentTree>()?;
    module.add_class::<document_tree::TreeQuery>()?;
    module.add_class::<document_tree::TreeView>()?;
    module.add_function(wrap_pyfunction!(document_tree::derived_identity, module)?)?;
    module.add_class::<mapping::Mapping>()?;
    module.add_class::<document_rewriter::DocumentRewriter>()?;
    module.add_function(wrap_pyfunction!(mapping::match_mapped, module)?)?;
    module.add_function(wrap_pyfunction!(mapping::match_batch_mapped, module)?)?;
    module.add_function(wrap_pyfunction!(mapping::select_mapped, module)?)?;
    Ok(())
}
