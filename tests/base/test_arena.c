/*
 * test_arena.c: scratch memory freed all at once. Oracle: blocks filled with their number keep it.
 */
#include "base_test.h"

#include "base/arena.h"

static void blocks_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    fr_arena *arena;
    assert_int_equal(fr_arena_create(256, &arena), FR_OK);
    unsigned char *blocks[200];
    for (size_t i = 0; i < 200; i++) {
        blocks[i] = fr_arena_alloc(arena, i, 3); /* sizes below, at and above a chunk's */
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        for (size_t b = 0; b < 3 * i; b++)
            assert_int_equal(blocks[i][b], 0);
        memset(blocks[i], (int)i, 3 * i);
    }
    for (size_t i = 0; i < 200; i++)
        for (size_t b = 0; b < 3 * i; b++)
            assert_int_equal(blocks[i][b], i);
    fr_arena_free(arena);
}

static void use_twice(fr_arena *arena)
{
    for (int i = 0; i < 50; i++) {
        char *block = fr_arena_alloc(arena, 100, 1);
        assert_non_null(block);
        for (int b = 0; b < 100; b++)
            assert_int_equal(block[b], 0);
        memset(block, 0xAA, 100);
    }
}

static void reset_keeps_the_chunks_and_gives_zeros_again(void **state)
{
    (void)state;
    fr_arena *arena;
    assert_int_equal(fr_arena_create(1024, &arena), FR_OK);
    use_twice(arena);
    fr_arena_reset(arena);
    const int64_t count = fr_alloc_count();
    use_twice(arena);
    assert_int_equal(fr_alloc_count(), count);
    fr_arena_free(arena);
}

static void everything_is_freed(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    fr_arena *arena;
    assert_int_equal(fr_arena_create(64, &arena), FR_OK);
    for (size_t i = 0; i < 100; i++)
        assert_non_null(fr_arena_alloc(arena, i, 1));
    fr_arena_reset(arena);
    for (size_t i = 0; i < 100; i++)
        assert_non_null(fr_arena_alloc(arena, 100 - i, 1));
    fr_arena_free(arena);
    fr_arena_free(NULL);
    assert_int_equal(fr_live_blocks(), live);
}

static void a_size_that_overflows_is_refused(void **state)
{
    (void)state;
    fr_arena *arena;
    assert_int_equal(fr_arena_create(64, &arena), FR_OK);
    assert_null(fr_arena_alloc(arena, SIZE_MAX, 2));
    assert_null(fr_arena_alloc(arena, SIZE_MAX, 1));
    assert_non_null(fr_arena_alloc(arena, 1, 1)); /* and the arena goes on */
    fr_arena_free(arena);
}

static void strings_are_copied(void **state)
{
    (void)state;
    fr_arena *arena;
    assert_int_equal(fr_arena_create(0, &arena), FR_OK);
    char text[] = "iterator";
    const char *copy = fr_arena_strdup(arena, text), *empty = fr_arena_strdup(arena, "");
    text[0] = 'X';
    assert_string_equal(copy, "iterator");
    assert_string_equal(empty, "");
    fr_arena_free(arena);
}

static fr_status fill_arena(void *context)
{
    (void)context;
    fr_arena *arena;
    const fr_status status = fr_arena_create(64, &arena);
    if (status != FR_OK) {
        assert_null(arena);
        return status;
    }
    bool whole = true;
    for (int i = 0; i < 4; i++)
        whole &= fr_arena_alloc(arena, 60, 1) != NULL;
    whole &= fr_arena_strdup(arena, "abc") != NULL;
    fr_arena_free(arena);
    return whole ? FR_OK : FR_ENOMEM;
}

static void an_arena_survives_every_failure(void **state)
{
    (void)state;
    assert_int_equal(fr_fail_each_allocation(fill_arena, NULL), 1 + 2 * 5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(blocks_are_zeroed_aligned_and_apart),
    cmocka_unit_test(reset_keeps_the_chunks_and_gives_zeros_again),
    cmocka_unit_test(everything_is_freed),
    cmocka_unit_test(a_size_that_overflows_is_refused),
    cmocka_unit_test(strings_are_copied),
    cmocka_unit_test(an_arena_survives_every_failure),
};
FR_TEST_MAIN(tests)
