/*
 * ogb_split.c: split/RULE/{train,valid,test}.csv.gz of an OGB folder: node numbers, one a line.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "format/edge_batch.h"
#include "format/ogb.h"

static const char *const parts_of[] = {"none", "train", "valid", "test"};

/* The only folder under `folder`, as a path. */
static fr_status only_folder(const char *folder, char **found)
{
    char *path = NULL;
    fr_status status = FR_OK;
    *found = NULL;
    DIR *listing = opendir(folder);
    if (listing == NULL)
        return fr_fail_errno(errno, "%s", folder);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) { /* the stream is ours alone */
        if (entry->d_name[0] == '.')
            continue;
        FR_TRY(fr_path_join(folder, entry->d_name, &path));
        if (fr_folder_exists(path)) {
            if (*found != NULL)
                FR_TRY(fr_fail(FR_EINVAL, "%s: has the splits %s and %s; name one with --split", folder, fr_path_name(*found), entry->d_name));
            *found = path;
            path = NULL;
        }
        fr_free(path);
        path = NULL;
    }
    if (*found == NULL)
        status = fr_fail(FR_ENOENT, "%s: holds no folder of a split", folder);
done:
    (void)closedir(listing);
    fr_free(path);
    if (status != FR_OK) {
        fr_free(*found);
        *found = NULL;
    }
    return status;
}

static fr_status read_part(const fr_ogb *ogb, const char *rule, uint8_t part, uint8_t *parts)
{
    char *path = NULL, name[16], *line;
    fr_lines *lines = NULL;
    fr_status status;
    (void)snprintf(name, sizeof name, "%s.csv", parts_of[part]);
    FR_TRY(fr_ogb_file(rule, name, &path));
    FR_TRY(fr_lines_open(path, &lines));
    for (;;) {
        int64_t node;
        FR_TRY(fr_lines_next(lines, &line));
        if (line == NULL)
            break;
        FR_TRY(fr_report_line(ogb->options, lines, "reading the split"));
        if (line[0] == '\0')
            continue;
        if (!fr_parse_int(line, &node))
            FR_TRY(fr_lines_fail(lines, FR_EFORMAT, "\"%.40s\" is no node number", line));
        if (node < 0 || node >= ogb->n_nodes)
            FR_TRY(fr_lines_fail(lines, FR_ERANGE, "node %" PRId64 " is outside [0, %" PRId64 ")", node, ogb->n_nodes));
        if (parts[node] != FR_SPLIT_NONE)
            FR_TRY(fr_lines_fail(lines, FR_EFORMAT, "node %" PRId64 " is in %s already", node, parts_of[parts[node]]));
        parts[node] = part;
    }
done:
    fr_lines_free(lines);
    fr_free(path);
    return status;
}

fr_status fr_ogb_read_split(const fr_ogb *ogb, uint8_t *parts, bool *found)
{
    char *folder = NULL, *rule = NULL;
    fr_status status;
    FR_TRY(fr_path_join(ogb->source, "split", &folder));
    *found = fr_folder_exists(folder);
    if (!*found && ogb->options->split != NULL)
        FR_TRY(fr_fail(FR_ENOENT, "%s: is not there, split \"%s\" is asked for", folder, ogb->options->split));
    if (!*found)
        goto done;
    if (ogb->options->split != NULL)
        FR_TRY(fr_path_join(folder, ogb->options->split, &rule));
    else
        FR_TRY(only_folder(folder, &rule));
    for (uint8_t part = FR_SPLIT_TRAIN; part <= FR_SPLIT_TEST; part++)
        FR_TRY(read_part(ogb, rule, part, parts));
done:
    fr_free(rule);
    fr_free(folder);
    return status;
}
