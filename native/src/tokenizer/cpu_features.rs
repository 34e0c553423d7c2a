//! CPU feature detection.

/// Whether the CPU has AVX2, BMI1, BMI2 and POPCNT (x86-64 since about 2013). Functions compiled
/// with these target features may be called when this returns true.
#[inline]
pub fn has_avx2_bmi2() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("bmi1") && has!("bmi2") && has!("popcnt")
}
