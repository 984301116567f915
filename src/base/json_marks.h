/*
 * json_marks.h: what went wrong while a tree was built, marked in bits of a node's `type` that
 * cJSON leaves alone.
 */
#ifndef FR_BASE_JSON_MARKS_H
#define FR_BASE_JSON_MARKS_H

enum {
    FR_JSON_LOST = 1 << 20,   /* an object or array that lacks a child for want of memory */
    FR_JSON_ROUNDED = 1 << 21 /* an integer that a double cannot hold */
};

#endif
