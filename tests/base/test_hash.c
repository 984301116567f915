/*
 * test_hash.c: XXH3 of bytes and of chunks. Oracles: published XXH3 answers; the one-call hash of
 * each chunk.
 */
#include "base_test.h"

#include "base/hash.h"
#include "base/random.h"

static void hashes_are_the_published_ones(void **state)
{
    (void)state;
    unsigned char counting[64];
    for (int i = 0; i < 64; i++)
        counting[i] = (unsigned char)i;
    assert_true(fr_hash("", 0, 0) == 0x2D06800538D394C2U);
    assert_true(fr_hash(NULL, 0, 0) == 0x2D06800538D394C2U);
    assert_true(fr_hash("", 0, 11400714785074694797U) == 0xA8A6B918B2F0364AU);
    assert_true(fr_hash("abc", 3, 0) == 0x78AF5F94892F3950U);
    assert_true(fr_hash(counting, 15, 0) == 0x55ECEDC2B87BB042U);
    assert_true(fr_hash(counting, 32, 0) == 0x3523581FE96E4C05U);
    assert_true(fr_hash(counting, 64, 0) == 0x6187EB9089B0ED55U);
}

/* Two whole chunks and a bit, filled once. */
enum { N_BYTES = 2 * FR_CHECKSUM_CHUNK_BYTES + 12345 };
static char *filled(void)
{
    char *bytes;
    assert_int_equal(fr_alloc(N_BYTES, 1, "bytes", &bytes), FR_OK);
    fr_random random = fr_random_start(3, 0);
    for (size_t i = 0; i + 8 <= N_BYTES; i += 8) {
        const uint64_t draw = fr_random_u64(&random);
        memcpy(bytes + i, &draw, 8);
    }
    return bytes;
}

/* Feeds `length` bytes in pieces of random size and compares with the hash of each chunk. */
static void check_chunks(const char *bytes, size_t length, size_t most_piece)
{
    fr_random random = fr_random_start(fr_test_seed(), length);
    fr_chunk_sums sums;
    assert_int_equal(fr_chunk_sums_start(&sums), FR_OK);
    for (size_t at = 0; at < length;) {
        size_t piece = (size_t)fr_random_below(&random, most_piece + 1);
        piece = piece < length - at ? piece : length - at;
        assert_int_equal(fr_chunk_sums_feed(&sums, bytes + at, piece), FR_OK);
        at += piece;
    }
    assert_int_equal(fr_chunk_sums_finish(&sums), FR_OK);
    assert_int_equal(sums.n_bytes, length);
    assert_int_equal(sums.n_sums, (length + FR_CHECKSUM_CHUNK_BYTES - 1) / FR_CHECKSUM_CHUNK_BYTES);
    for (int64_t i = 0; i < sums.n_sums; i++) {
        const size_t begin = (size_t)i * FR_CHECKSUM_CHUNK_BYTES, left = length - begin;
        const size_t n = left < FR_CHECKSUM_CHUNK_BYTES ? left : FR_CHECKSUM_CHUNK_BYTES;
        assert_true(sums.sums[i] == fr_hash(bytes + begin, n, 0));
    }
    fr_chunk_sums_free(&sums);
    fr_chunk_sums_free(&sums); /* safe on a zeroed struct */
}

static void sums_are_those_of_each_chunk_however_fed(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    char *bytes = filled();
    static const size_t lengths[] = {0,
                                     1,
                                     1000,
                                     FR_CHECKSUM_CHUNK_BYTES - 1,
                                     FR_CHECKSUM_CHUNK_BYTES,
                                     FR_CHECKSUM_CHUNK_BYTES + 1,
                                     2 * FR_CHECKSUM_CHUNK_BYTES,
                                     N_BYTES};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        check_chunks(bytes, lengths[i], 1 << 20);
        check_chunks(bytes, lengths[i], 3 * FR_CHECKSUM_CHUNK_BYTES);
    }
    check_chunks(bytes, 5000, 3);
    fr_free(bytes);
    assert_int_equal(fr_live_blocks(), live);
}

static void every_changed_bit_changes_its_sum(void **state)
{
    (void)state;
    char text[300];
    memset(text, 'x', sizeof text);
    const uint64_t before = fr_hash(text, sizeof text, 0);
    for (size_t i = 0; i < sizeof text; i++)
        for (int bit = 0; bit < 8; bit++) {
            text[i] = (char)(text[i] ^ 1 << bit);
            assert_true(fr_hash(text, sizeof text, 0) != before);
            text[i] = (char)(text[i] ^ 1 << bit);
        }
}

static fr_status sum_all(void *context)
{
    fr_chunk_sums sums;
    fr_status status = fr_chunk_sums_start(&sums);
    if (status == FR_OK)
        status = fr_chunk_sums_feed(&sums, context, N_BYTES);
    if (status == FR_OK)
        status = fr_chunk_sums_finish(&sums);
    fr_chunk_sums_free(&sums);
    return status;
}

static void sums_survive_every_failure(void **state)
{
    (void)state;
    char *bytes = filled();
    assert_int_equal(fr_fail_each_allocation(sum_all, bytes),
                     4); /* the state; room for 1, 2 and 4 sums */
    fr_free(bytes);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(hashes_are_the_published_ones),
    cmocka_unit_test(sums_are_those_of_each_chunk_however_fed),
    cmocka_unit_test(every_changed_bit_changes_its_sum),
    cmocka_unit_test(sums_survive_every_failure),
};
FR_TEST_MAIN(tests)
