/*
 * Pictures by gnuplot, where it is installed: made whole or not at all, whatever the texts hold.
 */
#include "train_test.h"

#include "base/alloc.h"

static const char csv[] = "epoch,loss,val\n0,1,\n1,0.5,0.3\n2,0.25,\n3,0.2,0.6\n";

static bool no_gnuplot(void)
{
    if (system("gnuplot --version > /dev/null 2>&1") == 0) /* NOLINT: a fixed command */
        return false;
    puts("gnuplot is not installed: skipped");
    return true;
}

static void check_picture(const char *path, const char *magic, size_t least)
{
    size_t length;
    char *bytes = slurp(path, &length);
    assert_true(length > least);
    assert_int_equal(strncmp(bytes, magic, strlen(magic)), 0);
    free(bytes);
}

static void curves_become_a_picture(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    const char *data = fresh_path("metrics.csv");
    spill(data, csv, sizeof csv - 1);
    char png[5100], svg[5100];
    (void)snprintf(png, sizeof png, "%s.png", data);
    (void)snprintf(svg, sizeof svg, "%s.svg", data);
    const fr_curve curves[] = {
        {.csv = data, .x_column = 0, .y_column = 1, .title = "loss"},
        {.csv = data, .x_column = 0, .y_column = 2, .title = "val", .right_axis = true},
    };
    const int64_t live = fr_live_blocks();
    OK(fr_curves_draw(png, "a run", "epoch", "loss", "accuracy", curves, 2));
    check_picture(png, "\x89PNG", 2000);
    OK(fr_curves_draw(svg, NULL, NULL, NULL, NULL, curves, 1));
    check_picture(svg, "<?xml", 2000);
    OK(fr_curves_draw(svg, "again", "", "", "", curves, 2)); /* over the old one */
    assert_int_equal(count_files_beside(data), 3);
    assert_int_equal(fr_live_blocks(), live);
    remove_folder_of(data);
}

/* An empty cell is left out; the points beside it are joined. */
static void empty_cells_are_joined_over(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    const char *data = fresh_path("metrics.csv");
    spill(data, csv, sizeof csv - 1);
    char svg[5100];
    (void)snprintf(svg, sizeof svg, "%s.svg", data);
    OK(fr_curves_draw(svg, "", "", "", "",
                      &(fr_curve){.csv = data, .x_column = 0, .y_column = 2, .title = "val"}, 1));
    /* The curve's path holds one move and one line: M x,y L x,y. */
    char *bytes = slurp(svg, NULL);
    const char *plot = strstr(bytes, "<title>val</title>");
    assert_non_null(plot);
    const char *end = strstr(plot, "id=\"gnuplot_plot_2\"");
    int moves = 0, lines = 0;
    for (const char *path = plot;
         (path = strstr(path, "<path stroke='rgb(148")) != NULL && (end == NULL || path < end);
         path++)
        for (const char *at = strstr(path, "d='") + 3; *at != '\''; at++) {
            moves += *at == 'M';
            lines += *at == 'L';
        }
    free(bytes);
    assert_int_equal(moves, 2); /* one of the key's sample, one of the curve */
    assert_int_equal(lines, 2);
    remove_folder_of(data);
}

static void texts_and_paths_run_nothing(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    const char *start = fr_test_folder();
    char folder[4096], here[4096];
    (void)snprintf(folder, sizeof folder, "%s", start);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    spill("< touch pwned", csv, sizeof csv - 1);
    const char nasty[] = "it's \"$(touch pwned)\" `touch pwned`; system('touch pwned')\n@x_{y}\\";
    const fr_curve curve = {.csv = "< touch pwned", .x_column = 0, .y_column = 1, .title = nasty};
    OK(fr_curves_draw("| touch pwned.png", nasty, nasty, nasty, nasty, &curve, 1));
    assert_false(fr_file_exists("pwned"));
    assert_true(fr_file_exists("| touch pwned.png"));
    assert_int_equal(chdir(here), 0);
    OK(fr_folder_remove(folder));
}

static void what_cannot_be_drawn_leaves_no_file(void **state)
{
    (void)state;
    if (no_gnuplot())
        skip();
    const char *data = fresh_path("metrics.csv");
    char png[5100];
    (void)snprintf(png, sizeof png, "%s.png", data);
    const fr_curve curve = {.csv = data, .x_column = 0, .y_column = 1, .title = "loss"};
    const fr_curve negative = {.csv = data, .x_column = 0, .y_column = -1, .title = "loss"};
    const int64_t live = fr_live_blocks();
    assert_int_equal(fr_curves_draw(png, "", "", "", "", &curve, 1), FR_EIO); /* no such file */
    SENTENCE("gnuplot failed");
    assert_int_equal(fr_curves_draw(png, "", "", "", "", &negative, 1), FR_EINVAL);
    assert_int_equal(fr_curves_draw(png, "", "", "", "", &curve, 0), FR_EINVAL);
    assert_int_equal(count_files_beside(data), 0);
    assert_int_equal(fr_live_blocks(), live);
    remove_folder_of(data);
}

static void missing_gnuplot_is_not_supported(void **state)
{
    (void)state;
    const char *data = fresh_path("metrics.csv");
    char png[5100];
    (void)snprintf(png, sizeof png, "%s.png", data);
    const fr_curve curve = {.csv = data, .x_column = 0, .y_column = 1, .title = "loss"};
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    assert_int_equal(fr_curves_draw(png, "", "", "", "", &curve, 1), FR_ENOTSUP);
    SENTENCE("gnuplot");
    assert_int_equal(count_files_beside(data), 0);
    remove_folder_of(data);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(curves_become_a_picture),
    cmocka_unit_test(empty_cells_are_joined_over),
    cmocka_unit_test(texts_and_paths_run_nothing),
    cmocka_unit_test(what_cannot_be_drawn_leaves_no_file),
    cmocka_unit_test(missing_gnuplot_is_not_supported), /* last: it changes PATH */
};
FR_TEST_MAIN(tests)
