/*
 * test_folder.c: making, removing and moving folders. Oracle: what lies there after each failure.
 */
#include "base_test.h"

#include <errno.h>
#include <sys/stat.h>

static void make_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void a_folder_is_made_with_its_parents(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *deep = fr_test_path(folder, "a/b//c/");
    assert_int_equal(fr_folder_create(deep), FR_OK);
    assert_true(fr_folder_exists(deep));
    assert_int_equal(fr_folder_create(deep), FR_OK); /* fine where it exists */
    assert_int_equal(fr_folder_create("/"), FR_OK);
    assert_int_equal(fr_folder_create(""), FR_ENOENT);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
    assert_false(fr_folder_exists(folder));
}

static void a_file_in_the_way_is_named(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *file = fr_test_path(folder, "x"),
               *under = fr_test_path(folder, "x/y");
    make_file(file, "");
    assert_int_equal(fr_folder_create(file), FR_EEXIST);
    assert_non_null(strstr(fr_error_message(), "/x: making a folder: File exists"));
    assert_int_equal(fr_folder_create(under), FR_EEXIST);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

/* A folder with files, folders in folders, a link to a folder outside and a broken link. */
static void fill(const char *folder, const char *outside)
{
    assert_int_equal(fr_folder_create(fr_test_path(folder, "a/b")), FR_OK);
    assert_int_equal(fr_folder_create(fr_test_path(folder, "empty")), FR_OK);
    make_file(fr_test_path(folder, "a/b/file"), "1");
    make_file(fr_test_path(folder, "a/file"), "2");
    make_file(fr_test_path(folder, ".hidden"), "3");
    assert_int_equal(symlink(outside, fr_test_path(folder, "a/link")), 0);
    assert_int_equal(symlink("nowhere", fr_test_path(folder, "broken")), 0);
}

static void removal_does_not_follow_links(void **state)
{
    (void)state;
    const char *folder = fr_test_folder();
    char outside[4200], inside[4200], link[4200];
    (void)snprintf(outside, sizeof outside, "%s/outside", folder);
    (void)snprintf(inside, sizeof inside, "%s/inside", folder);
    (void)snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(fr_folder_create(outside), FR_OK);
    make_file(fr_test_path(outside, "precious"), "gold");
    assert_int_equal(fr_folder_create(inside), FR_OK);
    fill(inside, outside);
    assert_int_equal(fr_folder_remove(inside), FR_OK);
    assert_false(fr_file_exists(inside));
    fr_test_assert_file(fr_test_path(outside, "precious"), "gold");
    assert_int_equal(fr_folder_remove(inside), FR_OK); /* fine where it does not exist */
    assert_int_equal(symlink(outside, link), 0);
    assert_int_not_equal(fr_folder_remove(link), FR_OK); /* nor where the path is a link itself */
    fr_test_assert_file(fr_test_path(outside, "precious"), "gold");
    assert_int_not_equal(fr_folder_remove(fr_test_path(outside, "precious")), FR_OK);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

static fr_status make_and_remove(void *path)
{
    const fr_status status = fr_folder_create(fr_test_path(path, "a/b/c"));
    return status == FR_OK ? fr_folder_remove(path) : status;
}

static int n_open_files(void) { return fr_test_count_entries("/proc/self/fd"); }

static void making_and_removing_survive_every_failure(void **state)
{
    (void)state;
    char path[4200];
    const char *folder = fr_test_folder();
    (void)snprintf(path, sizeof path, "%s/x", folder);
    const int n_open = n_open_files();
    assert_true(fr_fail_each_system_call(make_and_remove, path, EIO, FR_EIO) > 10);
    assert_int_equal(fr_fail_each_allocation(make_and_remove, path), 1);
    assert_int_equal(n_open_files(), n_open);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

typedef struct place {
    char folder[4096], from[4200], to[4200];
    bool replace;
} place;

/* A new folder under `from` and, where `replace`, an old one under `to`. */
static void fill_place(const place *p)
{
    assert_int_equal(fr_folder_create(p->from), FR_OK);
    make_file(fr_test_path(p->from, "x"), "new");
    if (p->replace) {
        assert_int_equal(fr_folder_create(p->to), FR_OK);
        make_file(fr_test_path(p->to, "x"), "old");
    }
}

static place start_place(bool replace)
{
    place p = {.replace = replace};
    (void)snprintf(p.folder, sizeof p.folder, "%s", fr_test_folder());
    (void)snprintf(p.from, sizeof p.from, "%s/from", p.folder);
    (void)snprintf(p.to, sizeof p.to, "%s/to", p.folder);
    fill_place(&p);
    return p;
}

static void a_finished_folder_moves_into_place(void **state)
{
    (void)state;
    const place p = start_place(false);
    assert_int_equal(fr_folder_commit(p.from, p.to, false), FR_OK);
    fr_test_assert_file(fr_test_path(p.to, "x"), "new");
    assert_int_equal(fr_test_count_entries(p.folder), 1);
    assert_int_equal(fr_folder_commit(p.from, p.to, true), FR_ENOENT); /* it has gone */
    fr_test_assert_file(fr_test_path(p.to, "x"), "new");
    assert_int_equal(fr_folder_remove(p.folder), FR_OK);
}

static void an_old_folder_is_replaced_only_on_request(void **state)
{
    (void)state;
    const place p = start_place(true);
    assert_int_equal(fr_folder_commit(p.from, p.to, false), FR_EEXIST);
    fr_test_assert_file(fr_test_path(p.to, "x"), "old");
    fr_test_assert_file(fr_test_path(p.from, "x"), "new");
    assert_int_equal(fr_folder_commit(p.from, p.to, true), FR_OK);
    fr_test_assert_file(fr_test_path(p.to, "x"), "new");
    assert_int_equal(fr_test_count_entries(p.folder), 1);
    assert_int_equal(fr_folder_remove(p.folder), FR_OK);
}

static void an_empty_folder_is_not_replaced_unasked(void **state)
{
    (void)state;
    const place p = start_place(false);
    assert_int_equal(fr_folder_create(p.to), FR_OK);
    assert_int_equal(fr_folder_commit(p.from, p.to, false), FR_EEXIST);
    assert_int_equal(fr_test_count_entries(p.to), 0);
    assert_int_equal(fr_folder_remove(p.folder), FR_OK);
}

static void a_file_is_never_replaced_by_a_folder(void **state)
{
    (void)state;
    const place p = start_place(false);
    make_file(p.to, "precious");
    assert_int_equal(fr_folder_commit(p.from, p.to, true), FR_EEXIST);
    fr_test_assert_file(p.to, "precious");
    fr_test_assert_file(fr_test_path(p.from, "x"), "new");
    assert_int_equal(fr_folder_remove(p.folder), FR_OK);
}

/* The file system without flags of renameat2 is played by failing that call with EINVAL. */
static void folders_move_where_renames_have_no_flags(void **state)
{
    (void)state;
    place p = start_place(false);
    fr_file_fail_at(1, EINVAL); /* open of the parent, then the rename */
    assert_int_equal(fr_folder_commit(p.from, p.to, false), FR_OK);
    fr_test_assert_file(fr_test_path(p.to, "x"), "new");
    assert_int_equal(fr_test_count_entries(p.folder), 1);
    assert_int_equal(fr_folder_remove(p.folder), FR_OK);
    p = start_place(true);
    fr_file_fail_at(1, EINVAL);
    assert_int_equal(fr_folder_commit(p.from, p.to, false), FR_EEXIST);
    fr_test_assert_file(fr_test_path(p.to, "x"), "old");
    fr_file_fail_at(2, EINVAL); /* the exchange */
    assert_int_equal(fr_folder_commit(p.from, p.to, true), FR_OK);
    fr_test_assert_file(fr_test_path(p.to, "x"), "new");
    assert_int_equal(fr_test_count_entries(p.folder), 1);
    assert_int_equal(fr_folder_remove(p.folder), FR_OK);
}

/* A folder cannot move into itself: the kernel refuses every rename, also the last of the two
 * steps. */
static void an_old_folder_comes_back_where_the_new_one_cannot_come(void **state)
{
    (void)state;
    const char *folder = fr_test_folder(), *inner = fr_test_path(folder, "inner");
    assert_int_equal(fr_folder_create(inner), FR_OK);
    make_file(fr_test_path(folder, "inner/x"), "old");
    assert_int_not_equal(fr_folder_commit(folder, inner, true), FR_OK);
    fr_test_assert_file(fr_test_path(folder, "inner/x"), "old");
    assert_int_equal(fr_test_count_entries(folder), 1);
    assert_int_equal(fr_folder_remove(folder), FR_OK);
}

/* After each failure `to` holds the old or the new folder, whole, or is absent where there was
 * none. */
static fr_status commit_new(void *context)
{
    const place *p = context;
    const fr_status status = fr_folder_commit(p->from, p->to, p->replace);
    fr_file_fail_at(-1, 0); /* the checks are not to fail */
    fr_alloc_fail_at(-1);
    if (fr_file_exists(p->to)) {
        char *bytes;
        size_t length;
        assert_int_equal(fr_file_read(fr_test_path(p->to, "x"), 100, &bytes, &length), FR_OK);
        assert_true(strcmp(bytes, "new") == 0 || (status != FR_OK && strcmp(bytes, "old") == 0));
        fr_free(bytes);
    } else {
        assert_false(p->replace);
        assert_int_not_equal(status, FR_OK);
    }
    if (status != FR_OK) { /* from the start again */
        assert_int_equal(fr_folder_remove(p->from), FR_OK);
        assert_int_equal(fr_folder_remove(p->to), FR_OK);
        fill_place(p);
    }
    return status;
}

static void moving_survives_every_failure(void **state)
{
    (void)state;
    place p = start_place(false);
    assert_int_equal(fr_fail_each_system_call(commit_new, &p, EIO, FR_EIO),
                     3); /* open, rename, fsync */
    assert_int_equal(fr_folder_remove(p.folder), FR_OK);
    p = start_place(true);
    assert_true(fr_fail_each_system_call(commit_new, &p, EIO, FR_EIO) > 5);
    assert_int_equal(fr_folder_remove(p.folder), FR_OK);
    p = start_place(false);
    assert_int_equal(fr_fail_each_allocation(commit_new, &p), 1);
    assert_int_equal(fr_folder_remove(p.folder), FR_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_folder_is_made_with_its_parents),
    cmocka_unit_test(a_file_in_the_way_is_named),
    cmocka_unit_test(removal_does_not_follow_links),
    cmocka_unit_test(making_and_removing_survive_every_failure),
    cmocka_unit_test(a_finished_folder_moves_into_place),
    cmocka_unit_test(an_old_folder_is_replaced_only_on_request),
    cmocka_unit_test(an_empty_folder_is_not_replaced_unasked),
    cmocka_unit_test(a_file_is_never_replaced_by_a_folder),
    cmocka_unit_test(folders_move_where_renames_have_no_flags),
    cmocka_unit_test(an_old_folder_comes_back_where_the_new_one_cannot_come),
    cmocka_unit_test(moving_survives_every_failure),
};
FR_TEST_MAIN(tests)
