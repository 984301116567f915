/*
 * Run folders: start, resume, refuse, lock, survive a kill. Oracle: the files in the folder.
 */
#include "train_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const char *const columns[] = {"epoch", "loss"};
static const char config[] = "{\"hidden\": 256, \"seed\": 1}";

static fr_run_folder_options asking(bool resume, const char *config_json)
{
    return (fr_run_folder_options){
        .resume = resume, .config_json = config_json, .columns = columns, .n_columns = 2};
}

static fr_status open_run(const char *path, bool resume, fr_run_folder **run)
{
    const fr_run_folder_options options = asking(resume, config);
    return fr_run_folder_open(path, &options, run);
}

static void a_run_starts_stops_and_goes_on(void **state)
{
    (void)state;
    const char *path = fresh_path("runs/first"); /* parents are made */
    fr_run_folder *run;
    char *file;
    OK(open_run(path, false, &run));
    assert_string_equal(fr_run_folder_path(run), path);
    assert_int_equal(fr_run_folder_n_records(run), 0);
    OK(fr_run_folder_file(run, "last.frc", &file));
    assert_int_equal(strncmp(file, path, strlen(path)), 0);
    assert_string_equal(file + strlen(path), "/last.frc");
    fr_text_free(file);
    fr_text_free(NULL);
    for (int i = 0; i < 4; i++)
        OK(fr_run_folder_record(run, (const double[]){i, 0.5 / (i + 1)}, 2));
    fr_run_folder_free(run);
    fr_run_folder_free(NULL);

    OK(open_run(path, true, &run));
    assert_int_equal(fr_run_folder_n_records(run), 4);
    OK(fr_run_folder_truncate(run, 2)); /* the checkpoint was of the second */
    OK(fr_run_folder_record(run, (const double[]){9, 9}, 2));
    assert_int_equal(fr_run_folder_n_records(run), 3);
    OK(fr_run_folder_file(run, "metrics.csv", &file));
    char *text = slurp(file, NULL);
    assert_string_equal(text, "epoch,loss\n0,0.5\n1,0.25\n9,9\n");
    free(text);
    fr_text_free(file);
    OK(fr_run_folder_file(run, "config.json", &file));
    text = slurp(file, NULL);
    assert_string_equal(text, config);
    free(text);
    fr_text_free(file);
    fr_run_folder_free(run);
    remove_folder_of(path);
}

static void a_run_that_is_there_is_not_overwritten(void **state)
{
    (void)state;
    const char *path = fresh_path("run");
    fr_run_folder *run = NULL;
    OK(open_run(path, false, &run));
    OK(fr_run_folder_record(run, (const double[]){1, 2}, 2));
    fr_run_folder_free(run);
    assert_int_equal(open_run(path, false, &run), FR_EEXIST);
    assert_null(run);
    SENTENCE("resume it or choose another folder");
    OK(open_run(path, true, &run));
    assert_int_equal(fr_run_folder_n_records(run), 1);
    fr_run_folder_free(run);
    remove_folder_of(path);
}

static void nothing_to_resume_makes_nothing(void **state)
{
    (void)state;
    const char *path = fresh_path("run");
    fr_run_folder *run;
    assert_int_equal(open_run(path, true, &run), FR_ENOENT);
    SENTENCE("no run is there to resume");
    assert_false(fr_file_exists(path));
    OK(fr_folder_create(path));
    assert_int_equal(open_run(path, true, &run), FR_ENOENT);
    assert_int_equal(count_files(path), 0);
    remove_folder_of(path);
}

static void another_config_is_refused_by_field(void **state)
{
    (void)state;
    const char *path = fresh_path("run");
    fr_run_folder *run;
    OK(open_run(path, false, &run));
    fr_run_folder_free(run);
    fr_run_folder_options options = asking(true, "{\"seed\": 1, \"hidden\": 128}");
    assert_int_equal(fr_run_folder_open(path, &options, &run), FR_EINVAL);
    SENTENCE("config.json: field \"hidden\" is 256 in the run, asked is 128");
    options =
        asking(true, "{\"seed\": 1, \"hidden\": 256.0}"); /* order and notation do not count */
    OK(fr_run_folder_open(path, &options, &run));
    fr_run_folder_free(run);
    options = asking(true, "{\"seed\": 1,");
    assert_int_equal(fr_run_folder_open(path, &options, &run), FR_EINVAL);
    SENTENCE("configuration");
    options = asking(true, config);
    options.n_columns = 1;
    assert_int_equal(fr_run_folder_open(path, &options, &run), FR_EINVAL);
    SENTENCE("column");
    options.n_columns = -1;
    assert_int_equal(fr_run_folder_open(path, &options, &run), FR_EINVAL);
    remove_folder_of(path);
}

static void options_may_be_left_out(void **state)
{
    (void)state;
    const char *path = fresh_path("run");
    fr_run_folder *run;
    OK(fr_run_folder_open(path, NULL, &run));
    assert_int_equal(fr_run_folder_record(run, NULL, 0), FR_ESHAPE);
    fr_run_folder_free(run);
    OK(fr_run_folder_open(path, &(fr_run_folder_options){.resume = true}, &run));
    fr_run_folder_free(run);
    remove_folder_of(path);
}

static void two_openings_exclude_each_other(void **state)
{
    (void)state;
    const char *path = fresh_path("run");
    char holder[64];
    fr_run_folder *run, *second;
    OK(open_run(path, false, &run));
    (void)snprintf(holder, sizeof holder, "process %ld trains here", (long)getpid());
    assert_int_equal(open_run(path, true, &second), FR_EEXIST);
    SENTENCE(holder);
    assert_int_equal(open_run(path, false, &second), FR_EEXIST);
    SENTENCE(holder);
    fr_run_folder_free(run);
    OK(open_run(path, true, &second));
    fr_run_folder_free(second);
    remove_folder_of(path);
}

/* A process that holds the run is killed in the middle of its work. */
static void a_killed_process_frees_the_lock_and_leaves_whole_records(void **state)
{
    (void)state;
    const char *path = fresh_path("run");
    for (int round = 0; round < 3; round++) {
        int ready[2];
        char byte;
        fr_run_folder *run;
        assert_int_equal(pipe(ready), 0);
        const pid_t child = fork();
        if (child == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* where an assertion below fails */
            (void)alarm(20);
            if (open_run(path, round > 0, &run) != FR_OK)
                _exit(1);
            for (int i = 0;; i++) {
                if (fr_run_folder_record(run, (const double[]){i, 0.123456789 * i}, 2) != FR_OK)
                    _exit(2);
                if (i == 3 && write(ready[1], "x", 1) != 1)
                    _exit(3);
            }
        }
        assert_true(child > 0);
        (void)close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        assert_int_equal(open_run(path, true, &run), FR_EEXIST);
        (void)usleep((useconds_t)(fr_test_seed() % 3000 + (uint64_t)round * 1000));
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        (void)close(ready[0]);
        OK(open_run(path, true, &run));
        const int64_t n = fr_run_folder_n_records(run);
        assert_true(n >= 4 * (round + 1));
        fr_run_folder_free(run);
    }
    remove_folder_of(path);
}

static void a_start_that_fails_can_be_started_again(void **state)
{
    (void)state;
    const int errors[] = {ENOSPC, EIO, EACCES};
    for (int e = 0; e < 3; e++) {
        const char *path = fresh_path("run");
        const int64_t live = fr_live_blocks();
        int64_t n = 0;
        for (fr_status status = FR_EIO; status != FR_OK; n++) {
            fr_run_folder *run;
            fr_file_fail_at(n, errors[e]);
            status = open_run(path, false, &run);
            fr_file_fail_at(-1, 0);
            if (status != FR_OK) {
                assert_null(run);
                if (status ==
                    FR_EEXIST) /* config.json stood, only its folder was not yet durable */
                    break;
                assert_int_equal(status, errors[e] == ENOSPC ? FR_ENOSPC : FR_EIO);
            }
            fr_run_folder_free(run);
            assert_int_equal(fr_live_blocks(), live);
        }
        assert_true(n > 5);
        fr_run_folder *run;
        OK(open_run(path, true, &run));
        fr_run_folder_free(run);
        remove_folder_of(path);
    }
}

static void a_resume_that_fails_changes_nothing(void **state)
{
    (void)state;
    const char *path = fresh_path("run");
    fr_run_folder *run;
    OK(open_run(path, false, &run));
    OK(fr_run_folder_record(run, (const double[]){1, 2}, 2));
    fr_run_folder_free(run);
    const int64_t live = fr_live_blocks();
    int64_t n = 0;
    for (fr_status status = FR_EIO; status != FR_OK; n++) {
        fr_file_fail_at(n, EIO);
        status = open_run(path, true, &run);
        fr_file_fail_at(-1, 0);
        if (status != FR_OK)
            assert_int_equal(status, FR_EIO);
        else
            assert_int_equal(fr_run_folder_n_records(run), 1);
        fr_run_folder_free(run);
        assert_int_equal(fr_live_blocks(), live);
    }
    assert_true(n > 3);
    remove_folder_of(path);
}

static void lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    for (int resume = 0; resume < 2; resume++) {
        const char *path = fresh_path("run");
        fr_run_folder *run;
        if (resume) {
            OK(open_run(path, false, &run));
            fr_run_folder_free(run);
        }
        const int64_t live = fr_live_blocks();
        int64_t n = 0;
        for (fr_status status = FR_ENOMEM; status != FR_OK; n++) {
            fr_alloc_fail_at(n);
            status = open_run(path, resume, &run);
            fr_alloc_fail_at(-1);
            if (status == FR_EEXIST) /* config.json was moved into place, then memory ran out */
                break;
            fr_run_folder_free(run);
            assert_int_equal(fr_live_blocks(), live);
        }
        assert_true(n > 8);
        remove_folder_of(path);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_run_starts_stops_and_goes_on),
    cmocka_unit_test(a_run_that_is_there_is_not_overwritten),
    cmocka_unit_test(nothing_to_resume_makes_nothing),
    cmocka_unit_test(another_config_is_refused_by_field),
    cmocka_unit_test(options_may_be_left_out),
    cmocka_unit_test(two_openings_exclude_each_other),
    cmocka_unit_test(a_killed_process_frees_the_lock_and_leaves_whole_records),
    cmocka_unit_test(a_start_that_fails_can_be_started_again),
    cmocka_unit_test(a_resume_that_fails_changes_nothing),
    cmocka_unit_test(lack_of_memory_leaks_nothing),
};
FR_TEST_MAIN(tests)
