//! Passes the name of the cargo profile to the crate as `PENSTOCK_BUILD_PROFILE`.
//!
//! Cargo itself tells a build script only whether the profile derives from `release` or `dev`. The
//! name of a custom profile is the folder that holds `build/` in the path of `OUT_DIR`.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

/// Settings of a profile that change the speed of the generated code.
const SETTINGS: [&str; 3] = ["LTO", "CODEGEN_UNITS", "OPT_LEVEL"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let mut profile = profile_name().unwrap_or_else(|| env::var("PROFILE").unwrap_or_default());
    let prefix = format!("CARGO_PROFILE_{}", profile.to_uppercase().replace('-', "_"));
    for setting in SETTINGS {
        let variable = format!("{prefix}_{setting}");
        println!("cargo:rerun-if-env-changed={variable}");
        if let Ok(value) = env::var(&variable) {
            profile += &format!(" {}={value}", setting.to_lowercase());
        }
    }
    println!("cargo:rustc-env=PENSTOCK_BUILD_PROFILE={profile}");
}

fn profile_name() -> Option<String> {
    let folder = env::var_os("OUT_DIR")?;
    let build = Path::new(&folder)
        .ancestors()
        .find(|path| path.file_name() == Some(OsStr::new("build")))?;
    Some(build.parent()?.file_name()?.to_str()?.to_owned())
}
