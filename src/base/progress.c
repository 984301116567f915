/*
 * progress.c: a bar on a terminal, a line in 5 seconds elsewhere. See progress.h.
 */
#include "base/progress.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const double TERMINAL_SECONDS = 0.1, LINE_SECONDS = 5;

double fr_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

const char *fr_duration_text(double seconds, char *buffer, size_t bytes)
{
    static const double MOST_SECONDS = 3600.0 * 1000000; /* a century */
    const int64_t whole =
        seconds < MOST_SECONDS ? (int64_t)fmax(seconds + 0.5, 0) : (int64_t)MOST_SECONDS;
    const int minutes = (int)(whole / 60 % 60), rest = (int)(whole % 60);
    if (isnan(seconds))
        (void)snprintf(buffer, bytes, "?");
    else if (seconds < 0.9995)
        (void)snprintf(buffer, bytes, "%.3g ms", seconds * 1e3);
    else if (seconds < 59.95)
        (void)snprintf(buffer, bytes, "%.1f s", seconds);
    else if (whole < 3600)
        (void)snprintf(buffer, bytes, "%d min %02d s", minutes, rest);
    else
        (void)snprintf(buffer, bytes, "%s%" PRId64 " h %02d min",
                       seconds < MOST_SECONDS ? "" : "> ", whole / 3600, minutes);
    return buffer;
}

const char *fr_bytes_text(int64_t n_bytes, char *buffer, size_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)n_bytes;
    int unit = 0;
    for (; value >= 999.5 && unit < 6; unit++)
        value /= 1000;
    if (unit == 0)
        (void)snprintf(buffer, bytes, "%" PRId64 " B", n_bytes);
    else
        (void)snprintf(buffer, bytes, "%.*f %s", (value < 9.995) + (value < 99.95), value,
                       units[unit]);
    return buffer;
}

const char *fr_count_text(int64_t n, char *buffer, size_t bytes)
{
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRId64, n);
    const int sign = n < 0;
    size_t at = 0;
    for (int i = 0; i < length && at + 2 < bytes; i++) {
        if (i > sign && (length - i) % 3 == 0)
            buffer[at++] = ',';
        buffer[at++] = digits[i];
    }
    if (bytes > 0)
        buffer[at] = '\0';
    return buffer;
}

fr_progress fr_progress_start(FILE *stream, bool quiet, const char *unit, int64_t done_already)
{
    fr_progress progress = {.unit = unit, .started = fr_seconds(), .started_at = done_already};
    progress.last_shown = progress.started;
    if (!quiet && stream != NULL) {
        progress.stream = stream;
        progress.terminal = isatty(fileno(stream)) == 1;
    }
    return progress;
}

void fr_progress_clear(fr_progress *progress)
{
    if (progress->stream != NULL && progress->terminal && progress->last_length > 0) {
        (void)fprintf(progress->stream, "\r%*s\r", progress->last_length, "");
        (void)fflush(progress->stream);
    }
    progress->last_length = 0;
}

/* ---- the line ---- */

enum { BAR_WIDTH = 24, LINE_BYTES = 256 };

static const char *bar_text(int64_t done, int64_t total, char bar[BAR_WIDTH + 3])
{
    const double share = fmin(fmax((double)done / (double)total, 0), 1);
    const int filled = (int)(share * BAR_WIDTH + 0.5);
    bar[0] = '[';
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i + 1] = i < filled ? '#' : '.';
    bar[BAR_WIDTH + 1] = ']';
    bar[BAR_WIDTH + 2] = '\0';
    return bar;
}

/* "label  [####....] 120/400 batches  31.2/s  9.0 s left"; without bar and time where the total is
 * not known. */
static void write_line(const fr_progress *progress, const char *label, int64_t done, int64_t total,
                       double elapsed, char line[LINE_BYTES])
{
    const double rate = elapsed > 0 ? (double)(done - progress->started_at) / elapsed : 0;
    char bar[BAR_WIDTH + 3], duration[40];
    int n = snprintf(line, LINE_BYTES, "%.100s  ", label);
    if (total > 0)
        n += snprintf(line + n, (size_t)(LINE_BYTES - n), "%s %" PRId64 "/%" PRId64,
                      bar_text(done, total, bar), done, total);
    else
        n += snprintf(line + n, (size_t)(LINE_BYTES - n), "%" PRId64, done);
    n += snprintf(line + n, (size_t)(LINE_BYTES - n), " %.20s  %.3g/s", progress->unit, rate);
    if (rate > 0 && done < total)
        (void)snprintf(line + n, (size_t)(LINE_BYTES - n), "  %s left",
                       fr_duration_text((double)(total - done) / rate, duration, sizeof duration));
}

/* A line longer than the terminal is wide would break, and '\r' would no longer reach its start. */
static void cut_to_terminal(FILE *stream, char *line)
{
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 &&
        strlen(line) >= size.ws_col)
        line[size.ws_col - 1] = '\0';
}

void fr_progress_update(fr_progress *progress, const char *label, int64_t done, int64_t total)
{
    if (progress->stream == NULL)
        return;
    const double now = fr_seconds();
    const bool due =
        now - progress->last_shown >= (progress->terminal ? TERMINAL_SECONDS : LINE_SECONDS);
    if (!due && !(progress->terminal && done == total))
        return;
    progress->last_shown = now;
    char line[LINE_BYTES];
    write_line(progress, label, done, total, now - progress->started, line);
    if (progress->terminal) {
        cut_to_terminal(progress->stream, line);
        const int length = (int)strlen(line);
        const int rest = progress->last_length > length ? progress->last_length - length : 0;
        (void)fprintf(progress->stream, "\r%s%*s", line, rest, "");
        progress->last_length = length;
    } else {
        (void)fprintf(progress->stream, "%s\n", line);
    }
    (void)fflush(progress->stream);
}
