/*
 * test_cpu.c: levels of instruction sets.
 */
#include "kernel_test.h"

static void a_limit_lowers_but_never_raises_the_level(void **state)
{
    (void)state;
    const fr_isa found = fr_cpu_limit_isa(FR_ISA_AVX512);
    assert_int_equal(fr_cpu_isa(), found);
    for (int isa = FR_ISA_PORTABLE; isa <= FR_ISA_AVX512; isa++) {
        const fr_isa expected = (fr_isa)isa < found ? (fr_isa)isa : found;
        assert_int_equal(fr_cpu_limit_isa((fr_isa)isa), expected);
        assert_int_equal(fr_cpu_isa(), expected);
    }
}

static void bf16_needs_the_widest_level(void **state)
{
    (void)state;
    (void)fr_cpu_limit_isa(FR_ISA_PORTABLE);
    assert_false(fr_cpu_has_bf16());
}

static void names_are_words(void **state)
{
    (void)state;
    assert_string_equal(fr_isa_name(FR_ISA_PORTABLE), "portable");
    assert_string_equal(fr_isa_name(FR_ISA_AVX512), "avx512");
    assert_string_equal(fr_isa_name((fr_isa)99), "?");
    assert_true(strlen(fr_cpu_name()) > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_limit_lowers_but_never_raises_the_level),
    cmocka_unit_test(bf16_needs_the_widest_level),
    cmocka_unit_test(names_are_words),
};
FR_TEST_MAIN(tests)
