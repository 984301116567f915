/*
 * run_folder.c: the folder of one training run: who may write it, and whether it is the same run.
 *
 * A run is there where config.json is: it is written last, when the rest of a new run exists, and
 * never again. So a kill while a run is being started leaves nothing that a second start minds.
 *
 * The lock is flock() on RUN/lock: the system releases it with the process that held it, however
 * that ended, and two openings within one process exclude each other too. The file stays: removing
 * it would let one process lock the removed file and another a new one. It holds the number of the
 * process, for the sentence.
 */
#include <frugal/train.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "train/metrics.h"
#include "train/run_config.h"

struct fr_run_folder {
    char *path, *config_path;
    int lock_fd;
    fr_metrics metrics;
};

void fr_run_folder_free(fr_run_folder *run)
{
    if (run == NULL)
        return;
    fr_metrics_close(&run->metrics);
    if (run->lock_fd >= 0)
        (void)close(run->lock_fd); /* releases the lock */
    fr_free(run->config_path);
    fr_free(run->path);
    fr_free(run);
}

/* ---- lock ---- */

static fr_status refuse_locked(const fr_run_folder *run, int fd)
{
    char holder[32] = "";
    const ssize_t n = pread(fd, holder, sizeof holder - 1, 0);
    holder[n > 0 ? n : 0] = 0;
    holder[strspn(holder, "0123456789")] = 0;
    return fr_fail(FR_EEXIST, "%s: process %s trains here", run->path,
                   holder[0] != 0 ? holder : "unknown");
}

static fr_status take_lock(fr_run_folder *run)
{
    char *path = NULL;
    fr_status status;
    FR_TRY(fr_path_join(run->path, "lock", &path));
    const int fd = fr_fault_due() ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        FR_TRY(fr_fail_errno(errno, "%s: opening", path));
    run->lock_fd = fd;
    int taken = -1;
    do
        taken = fr_fault_due() ? -1 : flock(fd, LOCK_EX | LOCK_NB);
    while (taken != 0 && errno == EINTR);
    if (taken != 0 && errno == EWOULDBLOCK)
        FR_TRY(refuse_locked(run, fd));
    if (taken != 0)
        FR_TRY(fr_fail_errno(errno, "%s: locking", path));
    char holder[32];
    (void)snprintf(holder, sizeof holder, "%ld\n", (long)getpid());
    /* Only for the sentence above: that it cannot be written matters to nobody. */
    if (ftruncate(fd, 0) == 0 && pwrite(fd, holder, strlen(holder), 0) < 0)
        errno = 0;
done:
    fr_free(path);
    return status;
}

/* ---- opening ---- */

static fr_status start_run(fr_run_folder *run, const char *config_text,
                           const fr_run_folder_options *options)
{
    char *metrics_path = NULL;
    fr_status status;
    FR_TRY(fr_folder_create(run->path));
    FR_TRY(take_lock(run));
    if (fr_file_exists(run->config_path))
        FR_TRY(fr_fail(FR_EEXIST, "%s: a run is there already: resume it or choose another folder",
                       run->path));
    FR_TRY(fr_path_join(run->path, "metrics.csv", &metrics_path));
    FR_TRY(fr_metrics_create(metrics_path, options->columns, options->n_columns, &run->metrics));
    FR_TRY(fr_file_write(run->config_path, config_text, strlen(config_text)));
done:
    fr_free(metrics_path);
    return status;
}

static fr_status resume_run(fr_run_folder *run, const fr_json *asked,
                            const fr_run_folder_options *options)
{
    char *metrics_path = NULL;
    fr_json *kept = NULL;
    fr_status status;
    if (!fr_file_exists(run->config_path))
        return fr_fail(FR_ENOENT, "%s: no run is there to resume (no config.json)", run->path);
    FR_TRY(take_lock(run));
    FR_TRY(fr_json_read(run->config_path, &kept));
    FR_TRY(fr_run_config_compare(run->config_path, kept, asked));
    FR_TRY(fr_path_join(run->path, "metrics.csv", &metrics_path));
    FR_TRY(fr_metrics_open(metrics_path, options->columns, options->n_columns, &run->metrics));
done:
    fr_json_free(kept);
    fr_free(metrics_path);
    return status;
}

fr_status fr_run_folder_open(const char *path, const fr_run_folder_options *options,
                             fr_run_folder **run)
{
    const fr_run_folder_options given = options != NULL ? *options : (fr_run_folder_options){0};
    const char *config = given.config_json != NULL ? given.config_json : "{}";
    fr_run_folder *made = NULL;
    fr_json *asked = NULL;
    fr_status status;
    *run = NULL;
    if (given.n_columns < 0)
        return fr_fail(FR_EINVAL, "%s: %d columns of metrics", path, given.n_columns);
    FR_TRY(fr_alloc(1, sizeof *made, "run folder", &made));
    made->lock_fd = -1;
    FR_TRY(fr_strdup(path, &made->path));
    FR_TRY(fr_path_join(path, "config.json", &made->config_path));
    status = fr_json_parse(config, "configuration of the run", &asked);
    if (status == FR_EFORMAT)
        status = FR_EINVAL; /* it is an argument, not a file */
    FR_TRY(status);
    FR_TRY(given.resume ? resume_run(made, asked, &given) : start_run(made, config, &given));
    *run = made;
    made = NULL;
done:
    fr_json_free(asked);
    fr_run_folder_free(made);
    return status;
}

/* ---- use ---- */

const char *fr_run_folder_path(const fr_run_folder *run) { return run->path; }

fr_status fr_run_folder_file(const fr_run_folder *run, const char *name, char **path)
{
    *path = NULL;
    return fr_path_join(run->path, name, path);
}

void fr_text_free(char *text) { fr_free(text); }

fr_status fr_run_folder_record(fr_run_folder *run, const double *values, int n)
{
    return fr_metrics_append(&run->metrics, values, n);
}

int64_t fr_run_folder_n_records(const fr_run_folder *run) { return run->metrics.n_records; }

fr_status fr_run_folder_truncate(fr_run_folder *run, int64_t n)
{
    return fr_metrics_truncate(&run->metrics, n);
}
