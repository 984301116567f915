/*
 * curves.c: pictures of CSV columns, drawn by gnuplot.
 *
 * A script is written into memory (memfd) and given to gnuplot as its standard input; what it says
 * lands in another memfd and becomes the error's sentence. The picture is drawn beside its name
 * and renamed when gnuplot succeeded, so no half picture is ever seen under the name. No shell
 * runs: texts are quoted for gnuplot, and a path that gnuplot would take for a command ("< ...", "|
 * ...") gets "./" in front.
 */
#include <frugal/train.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

extern char **environ;

/* ---- the script ---- */

/* Writes text between single quotes, in which gnuplot knows no escape but '' for a quote. */
static void print_quoted(FILE *script, const char *text)
{
    (void)fputc('\'', script);
    for (const char *at = text != NULL ? text : ""; *at != 0; at++) {
        if (*at == '\'')
            (void)fputc('\'', script);
        (void)fputc((unsigned char)*at < ' ' ? ' ' : *at, script);
    }
    (void)fputc('\'', script);
}

static fr_status print_path(FILE *script, const char *path)
{
    for (const char *at = path; *at != 0; at++)
        if ((unsigned char)*at < ' ')
            return fr_fail(FR_EINVAL, "curves: the path \"%s\" holds a control character", path);
    (void)fputs(path[0] == '/' ? "" : "'./'.", script);
    print_quoted(script, path);
    return FR_OK;
}

static void print_label(FILE *script, const char *which, const char *text)
{
    if (text == NULL || text[0] == 0)
        return;
    (void)fprintf(script, "set %s ", which);
    print_quoted(script, text);
    (void)fputs(" noenhanced\n", script);
}

static bool is_svg(const char *path)
{
    const size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".svg") == 0;
}

static fr_status print_curves(FILE *script, const fr_curve *curves, int n)
{
    for (int i = 0; i < n; i++) {
        const fr_curve *curve = &curves[i];
        if (curve->x_column < 0 || curve->y_column < 0)
            return fr_fail(FR_EINVAL, "curves: columns %d and %d of %s", curve->x_column,
                           curve->y_column, curve->csv);
        (void)fputs(i == 0 ? "plot " : ", \\\n     ", script);
        FR_RETURN_IF_ERROR(print_path(script, curve->csv));
        /* An empty cell is no point; its neighbours are still joined. */
        (void)fprintf(script,
                      " skip 1 using (valid(%d) && valid(%d) ? column(%d) : 1/0):(column(%d)) axes "
                      "x1y%d with lines lw 2 title ",
                      curve->x_column + 1, curve->y_column + 1, curve->x_column + 1,
                      curve->y_column + 1, curve->right_axis ? 2 : 1);
        print_quoted(script, curve->title);
        (void)fputs(" noenhanced", script);
    }
    (void)fputs("\nset output\n", script);
    return FR_OK;
}

typedef struct picture {
    const char *path, *title, *x_label, *y_label, *right_label;
    const fr_curve *curves;
    int n;
    char *temporary;
} picture;

static fr_status print_script(FILE *script, const picture *drawn)
{
    bool right = false;
    for (int i = 0; i < drawn->n; i++)
        right = right || drawn->curves[i].right_axis;
    (void)fputs(is_svg(drawn->path)
                    ? "set terminal svg size 900,540 dynamic\n"
                    : "if (strstrt(GPVAL_TERMINALS, ' pngcairo ') > 0) set terminal pngcairo size "
                      "900,540; else set terminal png size 900,540\n",
                script);
    (void)fputs("set output ", script);
    FR_RETURN_IF_ERROR(print_path(script, drawn->temporary));
    (void)fputs("\nset datafile separator ','\nset datafile missing NaN\nset grid\nset key outside "
                "top center horizontal\n",
                script);
    print_label(script, "title", drawn->title);
    print_label(script, "xlabel", drawn->x_label);
    print_label(script, "ylabel", drawn->y_label);
    if (right) {
        (void)fputs("set ytics nomirror\nset y2tics\n", script);
        print_label(script, "y2label", drawn->right_label);
    }
    return print_curves(script, drawn->curves, drawn->n);
}

/* The script in a fresh memory file, to be read from its beginning. */
static fr_status write_script(const picture *drawn, int *fd)
{
    *fd = memfd_create("curves", MFD_CLOEXEC);
    if (*fd < 0)
        return fr_fail_errno(errno, "%s: a script for gnuplot", drawn->path);
    const int copy = dup(*fd);
    FILE *script = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (script == NULL) {
        const int error = errno;
        if (copy >= 0)
            (void)close(copy);
        return fr_fail_errno(error, "%s: a script for gnuplot", drawn->path);
    }
    fr_status status = print_script(script, drawn);
    const bool lost = ferror(script) != 0;
    if ((fclose(script) != 0 || lost) && status == FR_OK)
        status = fr_fail_errno(errno, "%s: a script for gnuplot", drawn->path);
    if (status == FR_OK && lseek(*fd, 0, SEEK_SET) != 0)
        status = fr_fail_errno(errno, "%s: a script for gnuplot", drawn->path);
    return status;
}

/* ---- running it ---- */

/* What gnuplot said, as one line. */
static fr_status refuse_with_output(const picture *drawn, int output)
{
    char said[400];
    const ssize_t n = pread(output, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = 0;
    char *to = said;
    for (const char *from = said + strspn(said, " \n"); *from != 0; from++)
        if ((unsigned char)*from >= ' ')
            *to++ = *from;
        else if (to > said && to[-1] != ' ')
            *to++ = ' ';
    *to = 0;
    return fr_fail(FR_EIO, "%s: gnuplot failed: %s", drawn->path, said);
}

static fr_status run_gnuplot(const picture *drawn, int script, int output)
{
    char name[] = "gnuplot", no_defaults[] = "-d";
    char *const arguments[] = {name, no_defaults, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return fr_fail_errno(error, "%s: starting gnuplot", drawn->path);
    error = posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
    error = error != 0 ? error : posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    error = error != 0 ? error : posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    error = error != 0 ? error : posix_spawnp(&child, name, &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT || error == EACCES)
        return fr_fail(FR_ENOTSUP, "%s: pictures need gnuplot, which is not installed",
                       drawn->path);
    if (error != 0)
        return fr_fail_errno(error, "%s: starting gnuplot", drawn->path);
    int outcome = 0;
    pid_t ended;
    do
        ended = waitpid(child, &outcome, 0);
    while (ended < 0 && errno == EINTR);
    if (ended < 0)
        return fr_fail_errno(errno, "%s: waiting for gnuplot", drawn->path);
    if (!WIFEXITED(outcome) || WEXITSTATUS(outcome) != 0 || !fr_file_exists(drawn->temporary))
        return refuse_with_output(drawn, output);
    return FR_OK;
}

fr_status fr_curves_draw(const char *path, const char *title, const char *x_label,
                         const char *y_label, const char *right_label, const fr_curve *curves,
                         int n)
{
    picture drawn = {path, title, x_label, y_label, right_label, curves, n, NULL};
    int script = -1, output = -1;
    fr_status status;
    if (n < 1)
        return fr_fail(FR_EINVAL, "%s: %d curves to draw", path, n);
    FR_TRY(fr_format(&drawn.temporary, "%s.tmp-%ld", path, (long)getpid()));
    output = memfd_create("gnuplot", MFD_CLOEXEC);
    if (output < 0)
        FR_TRY(fr_fail_errno(errno, "%s: room for gnuplot's words", path));
    FR_TRY(write_script(&drawn, &script));
    FR_TRY(run_gnuplot(&drawn, script, output));
    if (rename(drawn.temporary, path) != 0)
        FR_TRY(fr_fail_errno(errno, "%s: moving the picture into place", path));
done:
    if (drawn.temporary != NULL)
        (void)unlink(drawn.temporary);
    if (script >= 0)
        (void)close(script);
    if (output >= 0)
        (void)close(output);
    fr_free(drawn.temporary);
    return status;
}
