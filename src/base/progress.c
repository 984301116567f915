/*
 * progress.c: a bar on a terminal, a line in 5 seconds elsewhere. See progress.h.
 */
#include "base/progress.h"

#include <inttypes.h>
#include <string.h>
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
    if (seconds < 0.9995)
        (void)snprintf(buffer, bytes, "%.3g ms", seconds * 1e3);
    else if (seconds < 60)
        (void)snprintf(buffer, bytes, "%.1f s", seconds);
    else if (seconds < 3600)
        (void)snprintf(buffer, bytes, "%d min %02d s", (int)(seconds / 60), (int)seconds % 60);
    else
        (void)snprintf(buffer, bytes, "%d h %02d min", (int)(seconds / 3600), (int)(seconds / 60) % 60);
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
        (void)snprintf(buffer, bytes, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
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

static void draw_bar(char *bar, int width, int64_t done, int64_t total)
{
    const int filled = total > 0 ? (int)((double)done / (double)total * width + 0.5) : 0;
    for (int i = 0; i < width; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[width] = '\0';
}

void fr_progress_update(fr_progress *progress, const char *label, int64_t done, int64_t total)
{
    if (progress->stream == NULL)
        return;
    const double now = fr_seconds();
    const bool due = now - progress->last_shown >= (progress->terminal ? TERMINAL_SECONDS : LINE_SECONDS);
    if (!due && !(progress->terminal && done == total))
        return;
    progress->last_shown = now;
    const double elapsed = now - progress->started;
    const double rate = elapsed > 0 ? (double)(done - progress->started_at) / elapsed : 0;
    char left[40] = "", bar[25], line[256];
    if (rate > 0 && done < total)
        (void)fr_duration_text((double)(total - done) / rate, left, sizeof left);
    draw_bar(bar, 24, done, total);
    (void)snprintf(line, sizeof line, "%s  [%s] %" PRId64 "/%" PRId64 " %s  %.3g/s%s%s%s", label, bar, done, total,
                   progress->unit, rate, left[0] != '\0' ? "  " : "", left, left[0] != '\0' ? " left" : "");
    if (!progress->terminal) {
        (void)fprintf(progress->stream, "%s\n", line);
        return;
    }
    const int length = (int)strlen(line);
    const int rest = progress->last_length > length ? progress->last_length - length : 0;
    (void)fprintf(progress->stream, "\r%s%*s", line, rest, "");
    (void)fflush(progress->stream);
    progress->last_length = length;
}
