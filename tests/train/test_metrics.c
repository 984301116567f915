/*
 * metrics.csv: what is recorded is what is read, whole records only. Oracle: the text, by hand.
 */
#include "train_test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#include "train/metrics.h"

static const char *const columns[] = {"epoch", "loss", "val"};

static void check_text(const char *path, const char *expected)
{
    char *text = slurp(path, NULL);
    assert_string_equal(text, expected);
    free(text);
}

static void records_are_lines(void **state)
{
    (void)state;
    const char *path = fresh_path("metrics.csv");
    fr_metrics metrics;
    OK(fr_metrics_create(path, columns, 3, &metrics));
    check_text(path, "epoch,loss,val\n");
    OK(fr_metrics_append(&metrics, (const double[]){1, 0.5, (double)NAN}, 3));
    OK(fr_metrics_append(&metrics, (const double[]){2, 1.0 / 3, 1e300}, 3));
    OK(fr_metrics_append(&metrics, (const double[]){(double)NAN, (double)INFINITY, -1234567}, 3));
    check_text(path, "epoch,loss,val\n1,0.5,\n2,0.33333333333333331,1e+300\n,inf,-1234567\n");
    assert_int_equal(metrics.n_records, 3);
    assert_int_equal(fr_metrics_append(&metrics, (const double[]){1, 2}, 2), FR_ESHAPE);
    fr_metrics_close(&metrics);
    OK(fr_metrics_open(path, columns, 3, &metrics));
    assert_int_equal(metrics.n_records, 3);
    OK(fr_metrics_append(&metrics, (const double[]){-4, 5e-324, 16777217}, 3));
    check_text(path, "epoch,loss,val\n1,0.5,\n2,0.33333333333333331,1e+300\n,inf,-1234567\n-4,4."
                     "94066e-324,16777217\n");
    fr_metrics_close(&metrics);
    remove_folder_of(path);
}

static void every_number_reads_back(void **state)
{
    (void)state;
    const char *path = fresh_path("metrics.csv");
    fr_random random = fr_random_start(fr_test_seed(), 1);
    fr_metrics metrics;
    double values[200];
    OK(fr_metrics_create(path, columns, 1, &metrics));
    for (int i = 0; i < 200; i++) {
        const uint64_t bits = fr_random_u64(&random);
        memcpy(&values[i], &bits, sizeof bits);
        values[i] = isnan(values[i]) ? 0 : values[i];
        OK(fr_metrics_append(&metrics, &values[i], 1));
    }
    char *text = slurp(path, NULL), *at = strchr(text, '\n') + 1;
    for (int i = 0; i < 200; i++)
        assert_true(strtod(at, &at) == values[i]);
    free(text);
    fr_metrics_close(&metrics);
    remove_folder_of(path);
}

static void cutting_back_keeps_the_first_records(void **state)
{
    (void)state;
    const char *path = fresh_path("metrics.csv");
    fr_metrics metrics;
    OK(fr_metrics_create(path, columns, 2, &metrics));
    for (int i = 0; i < 5; i++)
        OK(fr_metrics_append(&metrics, (const double[]){i, i * i}, 2));
    assert_int_equal(fr_metrics_truncate(&metrics, 6), FR_ERANGE);
    assert_int_equal(fr_metrics_truncate(&metrics, -1), FR_ERANGE);
    OK(fr_metrics_truncate(&metrics, 5));
    OK(fr_metrics_truncate(&metrics, 3));
    check_text(path, "epoch,loss\n0,0\n1,1\n2,4\n");
    OK(fr_metrics_append(&metrics, (const double[]){7, 8}, 2));
    check_text(path, "epoch,loss\n0,0\n1,1\n2,4\n7,8\n");
    OK(fr_metrics_truncate(&metrics, 0));
    check_text(path, "epoch,loss\n");
    assert_int_equal(metrics.n_records, 0);
    fr_metrics_close(&metrics);
    remove_folder_of(path);
}

/* A kill in the middle of a write leaves any part of a line. */
static void half_a_record_is_dropped(void **state)
{
    (void)state;
    static const char whole[] = "epoch,loss,val\n1,0.5,\n2,0.25,7\n";
    const char *path = fresh_path("metrics.csv");
    const size_t header = 15, first = 22;
    for (size_t cut = 0; cut < sizeof whole; cut++) {
        fr_metrics metrics;
        spill(path, whole, cut);
        const fr_status status = fr_metrics_open(path, columns, 3, &metrics);
        if (cut < header) {
            assert_int_equal(status, FR_EINVAL);
            continue;
        }
        OK(status);
        assert_int_equal(metrics.n_records, cut < first ? 0 : cut < sizeof whole - 1 ? 1 : 2);
        OK(fr_metrics_append(&metrics, (const double[]){3, 0.125, 8}, 3));
        char expected[100];
        const size_t kept = cut < first ? header : cut < sizeof whole - 1 ? first : cut;
        (void)snprintf(expected, sizeof expected, "%.*s3,0.125,8\n", (int)kept, whole);
        check_text(path, expected);
        fr_metrics_close(&metrics);
    }
    remove_folder_of(path);
}

static void files_of_other_columns_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        fr_status expected;
        const char *sentence;
    } cases[] = {
        {"epoch,loss,test\n", FR_EINVAL, "column 2 is \"test\", asked is \"val\""},
        {"epoch,lossy,val\n", FR_EINVAL, "column 1 is \"lossy\", asked is \"loss\""},
        {"epoch,loss\n", FR_EINVAL, "column 2 is \"\", asked is \"val\""},
        {"epoch,loss,val,more\n", FR_EINVAL, "more columns than the 3"},
        {"", FR_EINVAL, "column 0"},
        {"epoch,loss,val\n1,2\n1,2,3\n", FR_EFORMAT, "line 2 has 2 cells, the header 3"},
        {"epoch,loss,val\n1,2,3\n1,2,3,4\n", FR_EFORMAT, "line 3 has 4 cells"},
    };
    const char *path = fresh_path("metrics.csv");
    const int64_t live = fr_live_blocks();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fr_metrics metrics;
        spill(path, cases[i].text, strlen(cases[i].text));
        assert_int_equal(fr_metrics_open(path, columns, 3, &metrics), cases[i].expected);
        SENTENCE(cases[i].sentence);
        SENTENCE("metrics.csv");
        assert_int_equal(fr_live_blocks(), live);
    }
    static const char *const bad[] = {"a,b", "a\nb", "", "\"a\""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fr_metrics metrics;
        assert_int_equal(fr_metrics_create(path, &bad[i], 1, &metrics), FR_EINVAL);
    }
    remove_folder_of(path);
}

static void a_full_disk_leaves_whole_records(void **state)
{
    (void)state;
    const char *path = fresh_path("metrics.csv");
    for (int cutting = 0; cutting < 2; cutting++) {
        fr_metrics metrics;
        OK(fr_metrics_create(path, columns, 2, &metrics));
        OK(fr_metrics_append(&metrics, (const double[]){1, 2}, 2));
        OK(fr_metrics_append(&metrics, (const double[]){3, 4}, 2));
        int64_t n = 0;
        for (fr_status status = FR_EIO; status != FR_OK; n++) {
            fr_file_fail_at(n, ENOSPC);
            status = cutting ? fr_metrics_truncate(&metrics, 1)
                             : fr_metrics_append(&metrics, (const double[]){5, 6}, 2);
            fr_file_fail_at(-1, 0);
            if (status != FR_OK && !cutting) {
                assert_int_equal(status, FR_ENOSPC);
                check_text(path, "epoch,loss\n1,2\n3,4\n");
            }
            assert_int_equal(count_files_beside(path), 1);
        }
        assert_true(n > 2);
        check_text(path, cutting ? "epoch,loss\n1,2\n" : "epoch,loss\n1,2\n3,4\n5,6\n");
        fr_metrics_close(&metrics);
    }
    remove_folder_of(path);
}

/* The system takes part of a record and then no more: a limit on the file's size does that. */
static void a_record_written_in_part_is_cut_off(void **state)
{
    (void)state;
    const char *path = fresh_path("metrics.csv");
    fr_metrics metrics;
    struct rlimit before, limit;
    OK(fr_metrics_create(path, columns, 2, &metrics));
    OK(fr_metrics_append(&metrics, (const double[]){1, 2}, 2));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    limit = before;
    limit.rlim_cur = (rlim_t)metrics.n_bytes + 3;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const fr_status status = fr_metrics_append(&metrics, (const double[]){33, 44}, 2);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, FR_EIO);
    check_text(path, "epoch,loss\n1,2\n");
    OK(fr_metrics_append(&metrics, (const double[]){33, 44}, 2));
    check_text(path, "epoch,loss\n1,2\n33,44\n");
    fr_metrics_close(&metrics);
    remove_folder_of(path);
}

static void a_file_changed_by_someone_else_is_noticed(void **state)
{
    (void)state;
    const char *path = fresh_path("metrics.csv");
    fr_metrics metrics;
    OK(fr_metrics_create(path, columns, 2, &metrics));
    OK(fr_metrics_append(&metrics, (const double[]){1, 2}, 2));
    spill(path, "epoch,loss\n", 11);
    assert_int_equal(fr_metrics_append(&metrics, (const double[]){1, 2}, 2), FR_ECORRUPT);
    SENTENCE("changed by someone else");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fr_metrics_append(&metrics, (const double[]){1, 2}, 2), FR_ENOENT);
    fr_metrics_close(&metrics);
    remove_folder_of(path);
}

static void no_columns_make_no_file(void **state)
{
    (void)state;
    const char *path = fresh_path("metrics.csv");
    fr_metrics metrics;
    OK(fr_metrics_create(path, NULL, 0, &metrics));
    assert_int_equal(fr_metrics_append(&metrics, NULL, 0), FR_ESHAPE);
    fr_metrics_close(&metrics);
    OK(fr_metrics_open(path, NULL, 0, &metrics));
    OK(fr_metrics_truncate(&metrics, 0));
    fr_metrics_close(&metrics);
    assert_int_equal(count_files_beside(path), 0);
    remove_folder_of(path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(records_are_lines),
    cmocka_unit_test(every_number_reads_back),
    cmocka_unit_test(cutting_back_keeps_the_first_records),
    cmocka_unit_test(half_a_record_is_dropped),
    cmocka_unit_test(files_of_other_columns_are_refused_by_name),
    cmocka_unit_test(a_full_disk_leaves_whole_records),
    cmocka_unit_test(a_record_written_in_part_is_cut_off),
    cmocka_unit_test(a_file_changed_by_someone_else_is_noticed),
    cmocka_unit_test(no_columns_make_no_file),
};
FR_TEST_MAIN(tests)
