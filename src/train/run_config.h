/*
 * run_config.h: whether two configurations are the same, and where they first differ (private).
 */
#ifndef FR_TRAIN_RUN_CONFIG_H
#define FR_TRAIN_RUN_CONFIG_H

#include <frugal/status.h>

#include "base/json.h"

/** Compares the configuration kept in the file `path` with the one asked.
 * @return FR_OK; FR_EINVAL they differ: "RUN/config.json: field "model.hidden" is 256, asked is
 * 128" */
fr_status fr_run_config_compare(const char *path, const fr_json *kept,
                                const fr_json *asked) FR_MUST_USE;

#endif
