/*
 * test_progress.c: what people see. Oracle: the texts written here; a pseudo terminal.
 */
#include "test_main.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <sys/ioctl.h>

#include "base/progress.h"

static void durations_read_as_people_say_them(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0, "0 ms"},
                 {0.0041, "4.1 ms"},
                 {0.25, "250 ms"},
                 {0.9994, "999 ms"},
                 {0.9996, "1.0 s"},
                 {12.34, "12.3 s"},
                 {59.94, "59.9 s"},
                 {59.96, "1 min 00 s"},
                 {190, "3 min 10 s"},
                 {3599.4, "59 min 59 s"},
                 {3599.6, "1 h 00 min"},
                 {3720, "1 h 02 min"},
                 {360000, "100 h 00 min"},
                 {1e300, "> 1000000 h 00 min"},
                 {(double)INFINITY, "> 1000000 h 00 min"},
                 {(double)NAN, "?"}};
    char buffer[40];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(fr_duration_text(cases[i].seconds, buffer, sizeof buffer),
                            cases[i].text);
    char small[4];
    assert_string_equal(fr_duration_text(190, small, sizeof small), "3 m");
}

static void sizes_read_as_people_say_them(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        const char *text;
    } cases[] = {
        {0, "0 B"},          {512, "512 B"},          {999, "999 B"},         {1000, "1.00 kB"},
        {9994, "9.99 kB"},   {9996, "10.0 kB"},       {99960, "100 kB"},      {999499, "999 kB"},
        {999500, "1.00 MB"}, {1210000000, "1.21 GB"}, {INT64_MAX, "9.22 EB"}, {-5, "-5 B"}};
    char buffer[40];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(fr_bytes_text(cases[i].n, buffer, sizeof buffer), cases[i].text);
}

static void counts_have_commas(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        const char *text;
    } cases[] = {{0, "0"},
                 {999, "999"},
                 {1000, "1,000"},
                 {1234567, "1,234,567"},
                 {-1, "-1"},
                 {-999, "-999"},
                 {-1000, "-1,000"},
                 {INT64_MAX, "9,223,372,036,854,775,807"},
                 {INT64_MIN, "-9,223,372,036,854,775,808"}};
    char buffer[40];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(fr_count_text(cases[i].n, buffer, sizeof buffer), cases[i].text);
    for (size_t n = 1; n < 12; n++) { /* never beyond the buffer, always terminated */
        char small[12];
        memset(small, 'x', sizeof small);
        (void)fr_count_text(1234567, small, n);
        assert_true(strlen(small) < n);
    }
}

static void time_goes_forward(void **state)
{
    (void)state;
    const double before = fr_seconds();
    (void)usleep(2000);
    assert_true(fr_seconds() >= before + 0.002);
}

typedef struct output {
    FILE *stream;
    char *text;
    size_t length;
} output;

static void open_output(output *o)
{
    assert_non_null(o->stream = open_memstream(&o->text, &o->length));
}

static const char *text_of(output *o)
{
    assert_int_equal(fflush(o->stream), 0);
    return o->text;
}

static void close_output(output *o)
{
    (void)fclose(o->stream);
    free(o->text);
}

/* A bar whose start lies `seconds` back, so that rate and time left are known to three digits. */
static fr_progress started_ago(FILE *stream, double seconds, int64_t done_already)
{
    fr_progress progress = fr_progress_start(stream, false, "batches", done_already);
    progress.started -= seconds;
    progress.last_shown -= seconds;
    return progress;
}

static void a_line_tells_share_rate_and_time_left(void **state)
{
    (void)state;
    output o;
    open_output(&o);
    fr_progress progress = started_ago(o.stream, 1000, 0);
    fr_progress_update(&progress, "epoch 3", 100, 400);
    assert_string_equal(
        text_of(&o),
        "epoch 3  [######..................] 100/400 batches  0.1/s  50 min 00 s left\n");
    close_output(&o);
}

static void a_resumed_run_is_not_credited_with_what_was_done(void **state)
{
    (void)state;
    output o;
    open_output(&o);
    fr_progress progress = started_ago(o.stream, 1000, 300);
    fr_progress_update(&progress, "epoch 3", 350, 400); /* 50 in 1000 s, 50 to go */
    assert_non_null(strstr(text_of(&o), "350/400 batches  0.05/s  16 min 40 s left"));
    close_output(&o);
}

static void lines_come_at_most_every_five_seconds(void **state)
{
    (void)state;
    output o;
    open_output(&o);
    fr_progress progress = fr_progress_start(o.stream, false, "batches", 0);
    for (int i = 0; i <= 100; i++)
        fr_progress_update(&progress, "epoch 1", i, 100);
    assert_string_equal(text_of(&o), "");
    progress.last_shown -= 5;
    for (int i = 0; i <= 100; i++)
        fr_progress_update(&progress, "epoch 1", i, 100);
    const char *text = text_of(&o);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
    close_output(&o);
}

static void strange_counts_do_no_harm(void **state)
{
    (void)state;
    static const int64_t cases[][2] = {{5, 0},         {0, 0},         {-1, 10}, {20, 10},
                                       {INT64_MAX, 1}, {0, INT64_MAX}, {1, -1}};
    char label[600];
    memset(label, 'x', sizeof label - 1);
    label[sizeof label - 1] = '\0';
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        output o;
        open_output(&o);
        fr_progress progress = started_ago(o.stream, 10, 0);
        fr_progress_update(&progress, label, cases[i][0], cases[i][1]);
        assert_true(strlen(text_of(&o)) < 260);
        close_output(&o);
    }
    output o;
    open_output(&o);
    fr_progress progress = started_ago(o.stream, 1000, 0);
    fr_progress_update(&progress, "reading", 5000, 0); /* no total: no bar, no time left */
    assert_string_equal(text_of(&o), "reading  5000 batches  5/s\n");
    close_output(&o);
}

static void quiet_shows_nothing(void **state)
{
    (void)state;
    output o;
    open_output(&o);
    fr_progress quiet = fr_progress_start(o.stream, true, "batches", 0),
                none = fr_progress_start(NULL, false, "batches", 0);
    quiet.last_shown -= 100;
    none.last_shown -= 100;
    fr_progress_update(&quiet, "epoch", 1, 2);
    fr_progress_update(&none, "epoch", 1, 2);
    fr_progress_clear(&quiet);
    fr_progress_clear(&none);
    assert_string_equal(text_of(&o), "");
    close_output(&o);
}

static void a_bar_is_drawn_over_and_cleared(void **state)
{
    (void)state;
    output o;
    open_output(&o);
    fr_progress progress = started_ago(o.stream, 1000, 0);
    progress.terminal = true;
    fr_progress_update(&progress, "a long label", 1, 400);
    const size_t first = o.length;
    assert_int_equal(text_of(&o)[0], '\r');
    assert_null(strchr(o.text, '\n'));
    progress.last_shown -= 1;
    fr_progress_update(&progress, "b", 400, 400); /* shorter: blanks cover the rest */
    assert_int_equal(o.length, 2 * first);
    fr_progress_update(&progress, "b", 400, 400); /* the last state is always shown */
    assert_true(strlen(text_of(&o)) > 2 * first);
    const size_t before = o.length;
    fr_progress_clear(&progress);
    assert_true(strlen(text_of(&o)) > before);
    assert_int_equal(o.text[o.length - 1], '\r');
    const size_t cleared = o.length;
    fr_progress_clear(&progress); /* nothing is left to clear */
    (void)text_of(&o);
    assert_int_equal(o.length, cleared);
    close_output(&o);
}

static void a_bar_fits_the_terminal(void **state)
{
    (void)state;
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        skip();
    FILE *terminal = fopen(ptsname(master), "w");
    if (terminal == NULL)
        skip();
    const struct winsize size = {.ws_row = 24, .ws_col = 40};
    assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
    fr_progress progress = started_ago(terminal, 1000, 0);
    assert_true(progress.terminal);
    fr_progress_update(&progress, "epoch 12 of 100", 100, 400);
    char text[200];
    const ssize_t n = read(master, text, sizeof text);
    assert_int_equal(n, 1 + 39); /* '\r' and one column less than the terminal has */
    (void)fclose(terminal);
    (void)close(master);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(durations_read_as_people_say_them),
    cmocka_unit_test(sizes_read_as_people_say_them),
    cmocka_unit_test(counts_have_commas),
    cmocka_unit_test(time_goes_forward),
    cmocka_unit_test(a_line_tells_share_rate_and_time_left),
    cmocka_unit_test(a_resumed_run_is_not_credited_with_what_was_done),
    cmocka_unit_test(lines_come_at_most_every_five_seconds),
    cmocka_unit_test(strange_counts_do_no_harm),
    cmocka_unit_test(quiet_shows_nothing),
    cmocka_unit_test(a_bar_is_drawn_over_and_cleared),
    cmocka_unit_test(a_bar_fits_the_terminal),
};
FR_TEST_MAIN(tests)
