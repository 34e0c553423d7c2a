//! Whether the processor works on many bytes at once.

/// Whether it has AVX2, BMI and POPCNT, as those made since 2013 do: what is compiled for them may be
/// called.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn is_wide() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("bmi1") && has!("bmi2") && has!("popcnt")
}
