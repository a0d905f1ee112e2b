def has_avx2() -> bool:
    """Whether the CPU has AVX2, FMA and BMI2."""
