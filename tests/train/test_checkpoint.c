/*
 * Checkpoints: what was added reads back; nothing half-written; no changed byte passes. Oracle: the
 * values themselves, and for hostile files a checkpoint whose sums are made right after a lie.
 */
#include "train_test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/parallel.h"
#include "train/checkpoint_format.h"

static const float w[6] = {1, -2, 3.5F, 0, 1e-30F, 6};
static const int64_t step = 123456789012345;
static const char text[] = "{\"epoch\": 3}\n\xc3\xa9";

static fr_tensor view_of(fr_dtype dtype, int rank, const int64_t *shape, const void *data)
{
    fr_tensor view;
    union {
        const void *in;
        void *out;
    } pointer = {.in = data};
    OK(fr_tensor_view(dtype, rank, shape, pointer.out, &view));
    return view;
}

/* The small checkpoint of most tests, as one call that may fail anywhere. */
static fr_status write_small(const char *path)
{
    fr_checkpoint_writer *writer = NULL;
    const fr_tensor matrix = view_of(FR_F32, 2, (const int64_t[]){2, 3}, w);
    const fr_tensor scalar = view_of(FR_I64, 0, NULL, &step);
    const fr_tensor empty = view_of(FR_U8, 3, (const int64_t[]){2, 0, 5}, NULL);
    FR_RETURN_IF_ERROR(fr_checkpoint_create(path, &writer));
    (void)fr_checkpoint_add(writer, "w", &matrix); /* failures are kept for the commit */
    (void)fr_checkpoint_add(writer, "empty", &empty);
    (void)fr_checkpoint_add_text(writer, "t", text);
    (void)fr_checkpoint_add(writer, "step", &scalar);
    return fr_checkpoint_commit(writer);
}

static void check_small(const fr_checkpoint *checkpoint)
{
    fr_tensor view;
    const char *read_text;
    int64_t read_step;
    float read_w[6];
    OK(fr_checkpoint_tensor(checkpoint, "w", &view));
    assert_int_equal(view.dtype, FR_F32);
    assert_int_equal(view.rank, 2);
    assert_int_equal(view.shape[0], 2);
    assert_int_equal(view.shape[1], 3);
    assert_int_equal((uintptr_t)view.data % 64, 0);
    assert_null(view.owned);
    assert_memory_equal(view.data, w, sizeof w);
    OK(fr_checkpoint_read(checkpoint, "w", FR_F32, 6, read_w));
    assert_memory_equal(read_w, w, sizeof w);
    OK(fr_checkpoint_text(checkpoint, "t", &read_text));
    assert_string_equal(read_text, text);
    OK(fr_checkpoint_read(checkpoint, "step", FR_I64, 1, &read_step));
    assert_true(read_step == step);
    OK(fr_checkpoint_tensor(checkpoint, "empty", &view));
    assert_int_equal(view.rank, 3);
    assert_int_equal(fr_tensor_count(&view), 0);
    OK(fr_checkpoint_read(checkpoint, "empty", FR_U8, 0, NULL));
}

static void what_was_added_reads_back(void **state)
{
    (void)state;
    const char *path = fresh_path("a.frc");
    fr_checkpoint *checkpoint;
    OK(write_small(path));
    OK(fr_checkpoint_open(path, &checkpoint));
    check_small(checkpoint);
    fr_checkpoint_free(checkpoint);
    fr_checkpoint_free(NULL);
    remove_folder_of(path);
}

/* Files of each release stay in tests/golden. */
static void a_checkpoint_of_release_0_1_still_loads(void **state)
{
    (void)state;
    char path[4096];
    fr_checkpoint *checkpoint;
    if (getenv("FR_SOURCE_DIR") == NULL)
        skip();
    (void)snprintf(path, sizeof path, "%s/tests/golden/train/checkpoint_0_1.frc",
                   getenv("FR_SOURCE_DIR"));
    OK(fr_checkpoint_open(path, &checkpoint));
    check_small(checkpoint);
    fr_checkpoint_free(checkpoint);
}

static void names_and_types_that_differ_are_refused(void **state)
{
    (void)state;
    const char *path = fresh_path("a.frc");
    fr_checkpoint *checkpoint;
    fr_tensor view;
    const char *read_text;
    float out[6];
    OK(write_small(path));
    OK(fr_checkpoint_open(path, &checkpoint));
    assert_int_equal(fr_checkpoint_tensor(checkpoint, "nobody", &view), FR_ENOENT);
    SENTENCE("nobody");
    SENTENCE("a.frc");
    assert_int_equal(fr_checkpoint_tensor(checkpoint, "t", &view), FR_ENOENT); /* a text */
    assert_int_equal(fr_checkpoint_text(checkpoint, "w", &read_text), FR_ENOENT);
    assert_int_equal(fr_checkpoint_read(checkpoint, "w", FR_F64, 6, out), FR_ESHAPE);
    assert_int_equal(fr_checkpoint_read(checkpoint, "w", FR_F32, 5, out), FR_ESHAPE);
    SENTENCE("6 f32");
    fr_checkpoint_free(checkpoint);
    remove_folder_of(path);
}

static void an_empty_checkpoint_is_one(void **state)
{
    (void)state;
    const char *path = fresh_path("a.frc");
    fr_checkpoint_writer *writer;
    fr_checkpoint *checkpoint;
    fr_tensor view;
    OK(fr_checkpoint_create(path, &writer));
    OK(fr_checkpoint_commit(writer));
    OK(fr_checkpoint_open(path, &checkpoint));
    assert_int_equal(fr_checkpoint_tensor(checkpoint, "w", &view), FR_ENOENT);
    fr_checkpoint_free(checkpoint);
    remove_folder_of(path);
}

static void every_dtype_and_many_entries_read_back(void **state)
{
    (void)state;
    enum { N = 500 };
    const char *path = fresh_path("a.frc");
    static unsigned char data[N + 64];
    fr_checkpoint_writer *writer;
    fr_checkpoint *checkpoint;
    for (int i = 0; i < N + 64; i++)
        data[i] = (unsigned char)(i * 37);
    OK(fr_checkpoint_create(path, &writer));
    for (int i = 0; i < N; i++) {
        char name[64];
        const fr_dtype dtype = (fr_dtype)(1 + i % 12);
        const int64_t count = i % 5;
        const fr_tensor view = view_of(dtype, 1, &count, data + i % 8 * 8);
        (void)snprintf(name, sizeof name, "entry/%d", i * 7919 % N); /* not in order */
        OK(fr_checkpoint_add(writer, name, &view));
    }
    OK(fr_checkpoint_commit(writer));
    for (int threads = 1; threads < 4; threads++) {
        fr_set_threads(threads);
        OK(fr_checkpoint_open(path, &checkpoint));
        for (int i = 0; i < N; i++) {
            char name[64];
            fr_tensor view;
            (void)snprintf(name, sizeof name, "entry/%d", i * 7919 % N);
            OK(fr_checkpoint_tensor(checkpoint, name, &view));
            assert_int_equal(view.dtype, 1 + i % 12);
            assert_int_equal(view.shape[0], i % 5);
            assert_memory_equal(view.data, data + i % 8 * 8,
                                (size_t)(i % 5) * fr_dtype_bytes(view.dtype));
        }
        fr_checkpoint_free(checkpoint);
    }
    remove_folder_of(path);
}

static void strided_tensors_are_written_as_they_read(void **state)
{
    (void)state;
    const char *path = fresh_path("a.frc");
    fr_checkpoint_writer *writer;
    fr_checkpoint *checkpoint;
    fr_tensor transposed = view_of(FR_F32, 2, (const int64_t[]){3, 2}, w);
    float read[6];
    transposed.stride[0] = 1;
    transposed.stride[1] = 3;
    OK(fr_checkpoint_create(path, &writer));
    OK(fr_checkpoint_add(writer, "w", &transposed));
    OK(fr_checkpoint_commit(writer));
    OK(fr_checkpoint_open(path, &checkpoint));
    OK(fr_checkpoint_read(checkpoint, "w", FR_F32, 6, read));
    assert_memory_equal(read, ((const float[]){w[0], w[3], w[1], w[4], w[2], w[5]}), sizeof read);
    fr_checkpoint_free(checkpoint);
    remove_folder_of(path);
}

static void bad_entries_fail_the_commit_too(void **state)
{
    (void)state;
    static char long_name[FR_CHECKPOINT_MOST_NAME_BYTES + 1];
    const char *path = fresh_path("a.frc");
    const fr_tensor good = view_of(FR_F32, 1, (const int64_t[]){3}, w);
    fr_tensor no_dtype = good, bad_rank = good, negative = good;
    no_dtype.dtype = FR_NO_DTYPE;
    bad_rank.rank = 9;
    negative.shape[0] = -1;
    memset(long_name, 'n', sizeof long_name - 1);
    const struct {
        const char *name;
        const fr_tensor *tensor;
        fr_status expected;
    } cases[] = {
        {"w", &good, FR_EEXIST},     {"", &good, FR_EINVAL},      {long_name, &good, FR_EINVAL},
        {"x", &no_dtype, FR_EDTYPE}, {"x", &bad_rank, FR_ESHAPE}, {"x", &negative, FR_ESHAPE},
    };
    const int64_t live = fr_live_blocks();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fr_checkpoint_writer *writer;
        OK(fr_checkpoint_create(path, &writer));
        OK(fr_checkpoint_add(writer, "w", &good));
        assert_int_equal(fr_checkpoint_add(writer, cases[i].name, cases[i].tensor),
                         cases[i].expected);
        assert_int_equal(fr_checkpoint_add(writer, "later", &good), cases[i].expected);
        assert_int_equal(fr_checkpoint_add_text(writer, "text", "later"), cases[i].expected);
        assert_int_equal(fr_checkpoint_commit(writer), cases[i].expected);
        assert_int_equal(count_files_beside(path), 0);
    }
    fr_checkpoint_writer *writer;
    OK(fr_checkpoint_create(path, &writer));
    OK(fr_checkpoint_add_text(writer, "w", ""));
    assert_int_equal(fr_checkpoint_add(writer, "w", &good),
                     FR_EEXIST); /* texts and tensors share names */
    fr_checkpoint_abort(writer);
    fr_checkpoint_abort(NULL);
    assert_int_equal(count_files_beside(path), 0);
    assert_int_equal(fr_live_blocks(), live);
    remove_folder_of(path);
}

/* ---- faults ---- */

static void a_full_disk_keeps_the_old_checkpoint(void **state)
{
    (void)state;
    const char *path = fresh_path("last.frc");
    fr_checkpoint_writer *writer;
    OK(fr_checkpoint_create(path, &writer));
    OK(fr_checkpoint_add_text(writer, "old", "yes"));
    OK(fr_checkpoint_commit(writer));
    char *old = slurp(path, NULL);
    size_t old_length = 0, length;
    free(slurp(path, &old_length));
    const int64_t live = fr_live_blocks();
    int64_t n = 0;
    for (fr_status status = FR_EIO; status != FR_OK; n++) {
        spill(path, old, old_length);
        fr_file_fail_at(n, ENOSPC);
        status = write_small(path);
        fr_file_fail_at(-1, 0);
        assert_int_equal(fr_live_blocks(), live);
        assert_int_equal(count_files_beside(path), 1);
        fr_checkpoint *checkpoint;
        OK(fr_checkpoint_open(path, &checkpoint)); /* a whole one, old or new */
        char *now = slurp(path, &length);
        const bool is_old = length == old_length && memcmp(now, old, length) == 0;
        free(now);
        if (!is_old)
            check_small(checkpoint);
        if (status == FR_OK)
            assert_false(is_old);
        else
            assert_int_equal(status, FR_ENOSPC);
        fr_checkpoint_free(checkpoint);
    }
    assert_true(n > 4);
    free(old);
    remove_folder_of(path);
}

static void failed_reads_are_reported(void **state)
{
    (void)state;
    const char *path = fresh_path("a.frc");
    OK(write_small(path));
    const int64_t live = fr_live_blocks();
    int64_t n = 0;
    for (fr_status status = FR_EIO; status != FR_OK; n++) {
        fr_checkpoint *checkpoint;
        fr_file_fail_at(n, EIO);
        status = fr_checkpoint_open(path, &checkpoint);
        fr_file_fail_at(-1, 0);
        if (status != FR_OK) {
            assert_int_equal(status, FR_EIO);
            assert_null(checkpoint);
            SENTENCE("a.frc");
        }
        fr_checkpoint_free(checkpoint);
        assert_int_equal(fr_live_blocks(), live);
    }
    assert_true(n > 2);
    assert_int_equal(unlink(path), 0);
    fr_checkpoint *checkpoint;
    assert_int_equal(fr_checkpoint_open(path, &checkpoint), FR_ENOENT);
    remove_folder_of(path);
}

static void lack_of_memory_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    const char *path = fresh_path("a.frc");
    const int64_t live = fr_live_blocks();
    for (int reading = 0; reading < 2; reading++) {
        int64_t n = 0;
        for (fr_status status = FR_ENOMEM; status != FR_OK; n++) {
            fr_checkpoint *checkpoint = NULL;
            fr_alloc_fail_at(n);
            status = reading ? fr_checkpoint_open(path, &checkpoint) : write_small(path);
            fr_alloc_fail_at(-1);
            if (status != FR_OK) {
                assert_int_equal(status, FR_ENOMEM);
                assert_null(checkpoint);
            }
            fr_checkpoint_free(checkpoint);
            assert_int_equal(fr_live_blocks(), live);
        }
        assert_true(n > 2);
    }
    remove_folder_of(path);
}

/* ---- hostile files: in memory, since there are thousands of them ---- */

typedef struct memory_checkpoint {
    int fd;
    char path[64];
    char *bytes; /* of the good one */
    size_t length;
} memory_checkpoint;

static memory_checkpoint make_small(void)
{
    memory_checkpoint made;
    const char *path = fresh_path("a.frc");
    OK(write_small(path));
    made.bytes = slurp(path, &made.length);
    remove_folder_of(path);
    made.fd = memfd_create("checkpoint", MFD_CLOEXEC);
    assert_true(made.fd >= 0);
    assert_int_equal(pwrite(made.fd, made.bytes, made.length, 0), made.length);
    (void)snprintf(made.path, sizeof made.path, "/proc/self/fd/%d", made.fd);
    return made;
}

static void release_small(memory_checkpoint *made)
{
    free(made->bytes);
    (void)close(made->fd);
}

static fr_status open_and_close(const char *path)
{
    fr_checkpoint *checkpoint;
    const fr_status status = fr_checkpoint_open(path, &checkpoint);
    if (status != FR_OK)
        assert_null(checkpoint);
    fr_checkpoint_free(checkpoint);
    return status;
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    memory_checkpoint small = make_small();
    const int64_t live = fr_live_blocks();
    for (size_t cut = small.length + 70; cut-- > 0;) {
        assert_int_equal(ftruncate(small.fd, (off_t)cut), 0);
        const fr_status status = open_and_close(small.path);
        if (cut == small.length)
            OK(status);
        else
            assert_int_equal(status, FR_EFORMAT);
    }
    assert_int_equal(fr_live_blocks(), live);
    release_small(&small);
}

static void every_flipped_bit_is_refused(void **state)
{
    (void)state;
    memory_checkpoint small = make_small();
    for (size_t bit = 0; bit < 8 * small.length; bit++) {
        const off_t at = (off_t)(bit / 8);
        const char flipped = (char)(small.bytes[at] ^ (char)(1 << bit % 8));
        assert_int_equal(pwrite(small.fd, &flipped, 1, at), 1);
        const fr_status status = open_and_close(small.path);
        if (status != FR_EFORMAT && status != FR_ECORRUPT)
            fail_msg("bit %zu: %s", bit, fr_status_name(status));
        assert_int_equal(pwrite(small.fd, &small.bytes[at], 1, at), 1);
    }
    OK(open_and_close(small.path));
    release_small(&small);
}

/* Makes index and trailer sums right again after a lie. */
static void seal(char *bytes, size_t length)
{
    char *trailer = bytes + length - FR_CHECKPOINT_TRAILER_BYTES;
    const uint64_t at = checkpoint_get(trailer + TRAILER_OFFSET, 8);
    const uint64_t index_bytes = checkpoint_get(trailer + TRAILER_BYTES, 8);
    if (at <= length && index_bytes <= length - at)
        checkpoint_put(trailer + TRAILER_INDEX_SUM, 8, fr_hash(bytes + at, index_bytes, 0));
    checkpoint_put(trailer + TRAILER_SUM, 8, fr_hash(trailer, TRAILER_SUM, 0));
}

static void lies_with_right_sums_are_refused(void **state)
{
    (void)state;
    memory_checkpoint small = make_small();
    const size_t index =
        (size_t)checkpoint_get(small.bytes + small.length - 64 + TRAILER_OFFSET, 8);
    const size_t trailer = small.length - 64;
    const struct {
        size_t at;
        int bytes;
        uint64_t value;
    } lies[] = {
        {index + ENTRY_KIND, 4, 2},
        {index + ENTRY_KIND, 4, CHECKPOINT_TEXT},
        {index + ENTRY_DTYPE, 4, 0},
        {index + ENTRY_DTYPE, 4, 13},
        {index + ENTRY_DTYPE, 4, 0xffffffff},
        {index + ENTRY_DTYPE, 4, FR_F64},
        {index + ENTRY_RANK, 4, 1},
        {index + ENTRY_RANK, 4, 3},
        {index + ENTRY_RANK, 4, 9},
        {index + ENTRY_RANK, 4, 0xffffffff},
        {index + ENTRY_NAME_BYTES, 4, 0},
        {index + ENTRY_NAME_BYTES, 4, 1},
        {index + ENTRY_NAME_BYTES, 4, 3},
        {index + ENTRY_NAME_BYTES, 4, 0xffffffff},
        {index + ENTRY_OFFSET, 8, 0},
        {index + ENTRY_OFFSET, 8, 128},
        {index + ENTRY_OFFSET, 8, UINT64_MAX},
        {index + ENTRY_OFFSET, 8, UINT64_MAX - 63},
        {index + ENTRY_BYTES, 8, 25},
        {index + ENTRY_BYTES, 8, UINT64_MAX},
        {index + ENTRY_BYTES, 8, UINT64_MAX - 64},
        {index + ENTRY_SUM, 8, 7},
        {index + 40, 8, 3},
        {index + 40, 8, UINT64_MAX},
        {index + 40, 8, (uint64_t)1 << 62},
        {index + 48, 8, (uint64_t)1 << 63},
        {index + 56, 1, 0},   /* the name "w" */
        {index + 57, 1, 'w'}, /* its end */
        {index + 59, 1, 1},   /* zeros behind it */
        {trailer + TRAILER_OFFSET, 8, 0},
        {trailer + TRAILER_OFFSET, 8, 64},
        {trailer + TRAILER_OFFSET, 8, index + 1},
        {trailer + TRAILER_OFFSET, 8, index + 64},
        {trailer + TRAILER_OFFSET, 8, UINT64_MAX},
        {trailer + TRAILER_OFFSET, 8, UINT64_MAX - 63},
        {trailer + TRAILER_BYTES, 8, 0},
        {trailer + TRAILER_BYTES, 8, 8},
        {trailer + TRAILER_BYTES, 8, UINT64_MAX},
        {trailer + TRAILER_BYTES, 8, UINT64_MAX - index + 1},
        {trailer + TRAILER_COUNT, 8, 0},
        {trailer + TRAILER_COUNT, 8, 3},
        {trailer + TRAILER_COUNT, 8, 5},
        {trailer + TRAILER_COUNT, 8, UINT64_MAX},
        {trailer + TRAILER_COUNT, 8, (uint64_t)1 << 40},
    };
    const int64_t live = fr_live_blocks();
    char *bytes = malloc(small.length);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        memcpy(bytes, small.bytes, small.length);
        checkpoint_put(bytes + lies[i].at, lies[i].bytes, lies[i].value);
        seal(bytes, small.length);
        assert_int_equal(pwrite(small.fd, bytes, small.length, 0), small.length);
        const fr_status status = open_and_close(small.path);
        if (status != FR_EFORMAT && status != FR_ECORRUPT)
            fail_msg("lie %zu passed: %s", i, fr_status_name(status));
        assert_int_equal(fr_live_blocks(), live);
    }
    /* The lie that tells the truth passes: so the lies above failed for what they say. */
    memcpy(bytes, small.bytes, small.length);
    seal(bytes, small.length);
    assert_int_equal(pwrite(small.fd, bytes, small.length, 0), small.length);
    OK(open_and_close(small.path));
    free(bytes);
    release_small(&small);
}

/* An entry whose data lie elsewhere, with the sum of what lies there; an index with bytes to spare.
 */
static void only_one_arrangement_is_accepted(void **state)
{
    (void)state;
    memory_checkpoint small = make_small();
    const size_t trailer = small.length - FR_CHECKPOINT_TRAILER_BYTES;
    const size_t index = (size_t)checkpoint_get(small.bytes + trailer + TRAILER_OFFSET, 8);
    const uint64_t index_bytes = checkpoint_get(small.bytes + trailer + TRAILER_BYTES, 8);
    char *bytes = malloc(small.length);
    memcpy(bytes, small.bytes, small.length);
    checkpoint_put(bytes + index + ENTRY_OFFSET, 8, 128);
    checkpoint_put(bytes + index + ENTRY_SUM, 8, fr_hash(bytes + 128, sizeof w, 0));
    seal(bytes, small.length);
    assert_int_equal(pwrite(small.fd, bytes, small.length, 0), small.length);
    assert_int_equal(open_and_close(small.path), FR_EFORMAT);
    SENTENCE("\"w\"");

    assert_true(index + index_bytes + 8 <= trailer); /* into the zeros behind it */
    memcpy(bytes, small.bytes, small.length);
    checkpoint_put(bytes + trailer + TRAILER_BYTES, 8, index_bytes + 8);
    seal(bytes, small.length);
    assert_int_equal(pwrite(small.fd, bytes, small.length, 0), small.length);
    assert_int_equal(open_and_close(small.path), FR_EFORMAT);
    SENTENCE("after it");
    free(bytes);
    release_small(&small);
}

static void a_name_that_appears_twice_is_refused(void **state)
{
    (void)state;
    const char *path = fresh_path("a.frc");
    fr_checkpoint_writer *writer;
    size_t length;
    OK(fr_checkpoint_create(path, &writer));
    OK(fr_checkpoint_add_text(writer, "name1", "x"));
    OK(fr_checkpoint_add_text(writer, "name2", "x"));
    OK(fr_checkpoint_commit(writer));
    char *bytes = slurp(path, &length);
    for (size_t i = 0; i + 5 < length; i++)
        if (memcmp(bytes + i, "name2", 5) == 0)
            bytes[i + 4] = '1';
    seal(bytes, length);
    spill(path, bytes, length);
    assert_int_equal(open_and_close(path), FR_EFORMAT);
    SENTENCE("appears twice");
    free(bytes);
    remove_folder_of(path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_was_added_reads_back),
    cmocka_unit_test(a_checkpoint_of_release_0_1_still_loads),
    cmocka_unit_test(names_and_types_that_differ_are_refused),
    cmocka_unit_test(an_empty_checkpoint_is_one),
    cmocka_unit_test(every_dtype_and_many_entries_read_back),
    cmocka_unit_test(strided_tensors_are_written_as_they_read),
    cmocka_unit_test(bad_entries_fail_the_commit_too),
    cmocka_unit_test(a_full_disk_keeps_the_old_checkpoint),
    cmocka_unit_test(failed_reads_are_reported),
    cmocka_unit_test(lack_of_memory_is_reported_and_leaks_nothing),
    cmocka_unit_test(every_cut_is_refused),
    cmocka_unit_test(every_flipped_bit_is_refused),
    cmocka_unit_test(lies_with_right_sums_are_refused),
    cmocka_unit_test(only_one_arrangement_is_accepted),
    cmocka_unit_test(a_name_that_appears_twice_is_refused),
};
FR_TEST_MAIN(tests)
