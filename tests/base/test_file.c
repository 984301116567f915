/*
 * test_file.c: reading, mapping, lengths and paths, with every system call failing once.
 */
#include "base_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static void write_plain(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void a_file_is_read_whole_with_a_zero_behind(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x");
    static char bytes[100000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    static const size_t lengths[] = {0, 1, 4095, 4096, sizeof bytes};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_plain(path, bytes, lengths[i]);
        char *read = NULL;
        size_t length = 1;
        int64_t known = -1;
        assert_int_equal(fr_file_read(path, lengths[i], &read, &length), FR_OK);
        assert_int_equal(length, lengths[i]);
        assert_memory_equal(read, bytes, length);
        assert_int_equal(read[length], 0);
        assert_int_equal(fr_file_length(path, &known), FR_OK);
        assert_int_equal(known, lengths[i]);
        fr_free(read);
    }
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void a_file_larger_than_expected_is_not_read(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x");
    write_plain(path, "12345", 5);
    char dummy = 0, *read = &dummy;
    size_t length = 1;
    const int64_t count = fr_alloc_count();
    assert_int_equal(fr_file_read(path, 4, &read, &length), FR_EFORMAT);
    assert_null(read);
    assert_int_equal(length, 0);
    assert_int_equal(fr_alloc_count(), count); /* its length was looked at first */
    assert_non_null(strstr(fr_error_message(), "/x: 5 bytes, at most 4 are expected"));
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void what_is_no_file_says_so(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *missing = fr_test_path(folder, "missing"),
               *pipe = fr_test_path(folder, "p");
    char *read;
    size_t length;
    int64_t known;
    fr_mapping mapping;
    assert_int_equal(fr_file_read(missing, 10, &read, &length), FR_ENOENT);
    assert_non_null(strstr(fr_error_message(), "/missing: No such file or directory"));
    assert_int_equal(fr_file_length(missing, &known), FR_ENOENT);
    assert_int_equal(fr_mapping_open(missing, &mapping), FR_ENOENT);
    assert_null(mapping.bytes);
    assert_int_equal(fr_file_read(folder, 10, &read, &length), FR_EFORMAT);
    assert_non_null(strstr(fr_error_message(), "is no regular file"));
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(fr_file_length(pipe, &known), FR_EFORMAT); /* and does not wait for a writer */
    assert_int_equal(fr_mapping_open(pipe, &mapping), FR_EFORMAT);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void files_and_folders_are_told_apart(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x"),
               *link = fr_test_path(folder, "l");
    assert_false(fr_file_exists(path));
    write_plain(path, "", 0);
    assert_int_equal(symlink("nowhere", link), 0);
    assert_true(fr_file_exists(path));
    assert_true(fr_file_exists(link)); /* something is there */
    assert_false(fr_folder_exists(link));
    assert_true(fr_folder_exists(folder));
    assert_false(fr_folder_exists(path));
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void a_mapping_shows_the_file(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x");
    fr_mapping mapping;
    write_plain(path, "abc", 3);
    assert_int_equal(fr_mapping_open(path, &mapping), FR_OK);
    assert_int_equal(mapping.length, 3);
    assert_memory_equal(mapping.bytes, "abc", 3);
    fr_mapping_close(&mapping);
    assert_null(mapping.bytes);
    fr_mapping_close(&mapping);
    fr_mapping_close(NULL);
    write_plain(path, "", 0);
    assert_int_equal(fr_mapping_open(path, &mapping), FR_OK);
    assert_int_equal(mapping.length, 0);
    assert_non_null(mapping.bytes);
    fr_mapping_close(&mapping);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void bytes_go_to_and_come_from_their_place(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x");
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fr_write_at(fd, path, "world", 5, 6), FR_OK);
    assert_int_equal(fr_write_at(fd, path, "hello ", 6, 0), FR_OK);
    assert_int_equal(fr_write_at(fd, path, NULL, 0, 0), FR_OK);
    char text[12] = "";
    assert_int_equal(fr_read_at(fd, path, text, 11, 0), FR_OK);
    assert_string_equal(text, "hello world");
    assert_int_equal(fr_read_at(fd, path, NULL, 0, 100), FR_OK);
    assert_int_equal(fr_read_at(fd, "some.npy", text, 5, 9), FR_EFORMAT);
    assert_string_equal(fr_error_message(), "some.npy: ends at byte 11, 3 bytes more are expected");
    (void)close(fd);
    assert_int_equal(fr_read_at(fd, path, text, 5, 0), FR_EIO);
    assert_int_equal(fr_write_at(fd, path, text, 5, 0), FR_EIO);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void an_interrupted_call_is_repeated(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *path = fr_test_path(folder, "x");
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    char text[4] = "";
    fr_file_fail_at(0, EINTR);
    assert_int_equal(fr_write_at(fd, path, "abc", 3, 0), FR_OK);
    fr_file_fail_at(0, EINTR);
    assert_int_equal(fr_read_at(fd, path, text, 3, 0), FR_OK);
    assert_string_equal(text, "abc");
    (void)close(fd);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static fr_status read_and_map(void *path)
{
    char dummy = 0, *bytes = &dummy;
    size_t length;
    fr_status status = fr_file_read(path, 100, &bytes, &length);
    if (status != FR_OK) {
        assert_null(bytes);
        assert_int_equal(length, 0);
        return status;
    }
    fr_free(bytes);
    int64_t known = -1;
    status = fr_file_length(path, &known);
    fr_mapping mapping = {0};
    if (status == FR_OK)
        status = fr_mapping_open(path, &mapping);
    if (status != FR_OK)
        assert_null(mapping.bytes);
    fr_mapping_close(&mapping);
    return status;
}

static int n_open_files(void) { return fr_test_count_entries("/proc/self/fd"); }

static void reading_survives_every_failure(void **state)
{
    (void)state;
    const char *folder = fr_test_folder();
    char path[4200];
    (void)snprintf(path, sizeof path, "%s/x", folder);
    write_plain(path, "abc", 3);
    const int n_open = n_open_files();
    assert_int_equal(fr_fail_each_allocation(read_and_map, path), 1);
    /* open, stat, read; open, stat; open, stat, map */
    assert_int_equal(fr_fail_each_system_call(read_and_map, path, EIO, FR_EIO), 8);
    assert_int_equal(fr_fail_each_system_call(read_and_map, path, ENOMEM, FR_ENOMEM), 8);
    assert_int_equal(n_open_files(), n_open);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static void paths_are_joined_with_one_slash(void **state)
{
    (void)state;
    static const char *const cases[][3] = {{"a", "b", "a/b"},
                                           {"a/", "b", "a/b"},
                                           {"/", "b", "/b"},
                                           {"", "b", "/b"},
                                           {"a/b", "c/d", "a/b/c/d"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path;
        assert_int_equal(fr_path_join(cases[i][0], cases[i][1], &path), FR_OK);
        assert_string_equal(path, cases[i][2]);
        fr_free(path);
    }
    assert_string_equal(fr_path_name("a/b/c.npy"), "c.npy");
    assert_string_equal(fr_path_name("c.npy"), "c.npy");
    assert_string_equal(fr_path_name("a/"), "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_file_is_read_whole_with_a_zero_behind),
    cmocka_unit_test(a_file_larger_than_expected_is_not_read),
    cmocka_unit_test(what_is_no_file_says_so),
    cmocka_unit_test(files_and_folders_are_told_apart),
    cmocka_unit_test(a_mapping_shows_the_file),
    cmocka_unit_test(bytes_go_to_and_come_from_their_place),
    cmocka_unit_test(an_interrupted_call_is_repeated),
    cmocka_unit_test(reading_survives_every_failure),
    cmocka_unit_test(paths_are_joined_with_one_slash),
};
FR_TEST_MAIN(tests)
