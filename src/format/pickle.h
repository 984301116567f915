/*
 * pickle.h: a tiny, safe reader of Python pickles: data, never code.
 *
 * It interprets the opcodes that NumPy arrays, SciPy CSR matrices, dictionaries, lists and numbers need and knows a short list of
 * globals; anything else is refused by its name. Nothing is called or imported: a "reduce" of a known global only makes a
 * node of a tree. Bytes stay in the mapped file, so memory is bounded by a constant times the file's length.
 */
#ifndef FR_FORMAT_PICKLE_H
#define FR_FORMAT_PICKLE_H

#include <frugal/tensor.h>

typedef struct fr_pickle fr_pickle;

typedef enum fr_pickle_kind {
    FR_PICKLE_NONE, FR_PICKLE_BOOL, FR_PICKLE_INT, FR_PICKLE_FLOAT, FR_PICKLE_BYTES,
    FR_PICKLE_TUPLE, FR_PICKLE_LIST, FR_PICKLE_DICT, /* dict: items are key, value, key, value .. */
    FR_PICKLE_GLOBAL, FR_PICKLE_OBJECT               /* object: of a global, with arguments and state */
} fr_pickle_kind;

typedef struct fr_pickle_value fr_pickle_value;
struct fr_pickle_value {
    fr_pickle_kind kind;
    int64_t integer; /* int, bool */
    double number;
    const char *bytes; /* bytes; global: "module name" */
    int64_t n_bytes;
    fr_pickle_value **items; /* tuple, list, dict */
    int64_t n_items, capacity;
    const fr_pickle_value *class_, *arguments, *state; /* object */
};

/** Reads a whole file. @return FR_EFORMAT with the byte offset and opcode, FR_ENOTSUP an unknown global */
fr_status fr_pickle_open(const char *path, fr_pickle **pickle) FR_MUST_USE;
void fr_pickle_free(fr_pickle *pickle); /* NULL-safe */
const fr_pickle_value *fr_pickle_root(const fr_pickle *pickle);

/** The value of a text key of a dict; NULL where there is none. */
const fr_pickle_value *fr_pickle_find(const fr_pickle_value *dict, const char *key);

/** A view of a NumPy array into the file (C order only; the data may be unaligned: copy before typed reads). `what` names it. */
fr_status fr_pickle_array(const fr_pickle *pickle, const fr_pickle_value *value, const char *what, fr_tensor *view) FR_MUST_USE;

#endif
