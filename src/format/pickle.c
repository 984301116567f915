/*
 * pickle.c: the stack machine of pickle protocol 2, reduced to data. See pickle.h.
 *
 * Source: Python's Lib/pickletools.py describes every opcode.
 */
#include "format/pickle.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/file.h"

static const char *const known_globals[] = {
    "scipy.sparse.csr csr_matrix",        "scipy.sparse._csr csr_matrix",        "numpy.core.multiarray _reconstruct",
    "numpy._core.multiarray _reconstruct", "numpy ndarray",                      "numpy dtype",
    "collections defaultdict",            "__builtin__ list",                    "builtins list"};

typedef struct machine {
    const char *path;
    const unsigned char *bytes;
    size_t length, at;
    size_t opcode_at;
    fr_arena *arena;
    fr_pickle_value *stack; /* a list: the values above all marks */
    fr_pickle_value *marks; /* a list of outer stacks */
    fr_pickle_value *memo;
} machine;

struct fr_pickle {
    char *path;
    fr_mapping file;
    fr_arena *arena;
    const fr_pickle_value *root;
};

static fr_status malformed(const machine *m, const char *what)
{
    return fr_fail(FR_EFORMAT, "%s: byte %zu: opcode 0x%02x: %s", m->path, m->opcode_at, m->bytes[m->opcode_at], what);
}

static fr_pickle_value *make(machine *m, fr_pickle_kind kind)
{
    fr_pickle_value *value = fr_arena_alloc(m->arena, 1, sizeof *value);
    if (value != NULL)
        value->kind = kind;
    return value;
}

/* Appends to a tuple, list or dict; old arrays stay in the arena (twice the final size at most). */
static fr_status append(machine *m, fr_pickle_value *list, fr_pickle_value *item)
{
    if (item == NULL)
        return FR_ENOMEM; /* the arena has left the sentence */
    if (list->n_items == list->capacity) {
        const int64_t wanted = list->capacity == 0 ? 4 : 2 * list->capacity;
        fr_pickle_value **grown = fr_arena_alloc(m->arena, (size_t)wanted, sizeof *grown);
        if (grown == NULL)
            return FR_ENOMEM;
        if (list->n_items > 0)
            memcpy(grown, list->items, (size_t)list->n_items * sizeof *grown);
        list->items = grown;
        list->capacity = wanted;
    }
    list->items[list->n_items++] = item;
    return FR_OK;
}

static fr_status push(machine *m, fr_pickle_value *value) { return append(m, m->stack, value); }

static fr_status pop(machine *m, fr_pickle_value **value)
{
    if (m->stack->n_items == 0)
        return malformed(m, "the stack is empty");
    *value = m->stack->items[--m->stack->n_items];
    return FR_OK;
}

/* The value on top, which stays. */
static fr_status top(machine *m, fr_pickle_kind kind, const char *wanted, fr_pickle_value **value)
{
    if (m->stack->n_items == 0 || m->stack->items[m->stack->n_items - 1]->kind != kind)
        return malformed(m, wanted);
    *value = m->stack->items[m->stack->n_items - 1];
    return FR_OK;
}

/* Ends the innermost mark: *inner gets what was pushed since, the stack is the outer one again. */
static fr_status pop_mark(machine *m, fr_pickle_value **inner)
{
    if (m->marks->n_items == 0)
        return malformed(m, "there is no mark");
    *inner = m->stack;
    m->stack = m->marks->items[--m->marks->n_items];
    return FR_OK;
}

/* ---- operands ---- */

static fr_status take(machine *m, size_t n, const unsigned char **operand)
{
    if (m->length - m->at < n)
        return malformed(m, "the file ends within its operand");
    *operand = m->bytes + m->at;
    m->at += n;
    return FR_OK;
}

static fr_status take_unsigned(machine *m, size_t n, uint64_t *number)
{
    const unsigned char *operand;
    FR_RETURN_IF_ERROR(take(m, n, &operand));
    *number = 0;
    for (size_t i = 0; i < n; i++)
        *number |= (uint64_t)operand[i] << (8 * i);
    return FR_OK;
}

static fr_status push_integer(machine *m, size_t n_bytes, bool is_signed)
{
    uint64_t number;
    FR_RETURN_IF_ERROR(take_unsigned(m, n_bytes, &number));
    fr_pickle_value *value = make(m, FR_PICKLE_INT);
    if (value != NULL)
        value->integer = is_signed && n_bytes == 4 ? (int32_t)number : (int64_t)number;
    return push(m, value);
}

static fr_status push_long(machine *m)
{
    uint64_t n;
    FR_RETURN_IF_ERROR(take_unsigned(m, 1, &n));
    if (n > 8)
        return malformed(m, "an integer of more than 64 bits");
    uint64_t number;
    FR_RETURN_IF_ERROR(take_unsigned(m, (size_t)n, &number));
    if (n > 0 && n < 8 && number >> (8 * n - 1) != 0)
        number |= ~0ULL << (8 * n); /* two's complement of n bytes */
    fr_pickle_value *value = make(m, FR_PICKLE_INT);
    if (value != NULL)
        memcpy(&value->integer, &number, sizeof number);
    return push(m, value);
}

static fr_status push_float(machine *m)
{
    const unsigned char *operand;
    FR_RETURN_IF_ERROR(take(m, 8, &operand));
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | operand[i];
    fr_pickle_value *value = make(m, FR_PICKLE_FLOAT);
    if (value != NULL)
        memcpy(&value->number, &bits, sizeof bits);
    return push(m, value);
}

static fr_status push_bytes(machine *m, size_t length_bytes)
{
    uint64_t n;
    const unsigned char *operand;
    FR_RETURN_IF_ERROR(take_unsigned(m, length_bytes, &n));
    FR_RETURN_IF_ERROR(take(m, (size_t)n, &operand));
    fr_pickle_value *value = make(m, FR_PICKLE_BYTES);
    if (value != NULL) {
        value->bytes = (const char *)operand;
        value->n_bytes = (int64_t)n;
    }
    return push(m, value);
}

static fr_status take_line(machine *m, const char **line, size_t *length)
{
    const unsigned char *start = m->bytes + m->at;
    const unsigned char *end = memchr(start, '\n', m->length - m->at);
    if (end == NULL)
        return malformed(m, "the file ends within a name");
    *line = (const char *)start;
    *length = (size_t)(end - start);
    m->at += *length + 1;
    return FR_OK;
}

static fr_status push_global(machine *m)
{
    const char *module, *name;
    size_t module_length, name_length;
    FR_RETURN_IF_ERROR(take_line(m, &module, &module_length));
    FR_RETURN_IF_ERROR(take_line(m, &name, &name_length));
    for (size_t i = 0; i < sizeof known_globals / sizeof *known_globals; i++) {
        const char *known = known_globals[i];
        if (strlen(known) == module_length + 1 + name_length && strncmp(known, module, module_length) == 0 &&
            known[module_length] == ' ' && strncmp(known + module_length + 1, name, name_length) == 0) {
            fr_pickle_value *value = make(m, FR_PICKLE_GLOBAL);
            if (value != NULL)
                value->bytes = known;
            return push(m, value);
        }
    }
    return fr_fail(FR_ENOTSUP, "%s: byte %zu: asks for \"%.*s %.*s\", which is not data", m->path, m->opcode_at,
                   (int)(module_length < 60 ? module_length : 60), module, (int)(name_length < 60 ? name_length : 60), name);
}

/* ---- containers and objects ---- */

static fr_status push_tuple(machine *m, int64_t n)
{
    fr_pickle_value *tuple = make(m, FR_PICKLE_TUPLE);
    if (tuple == NULL)
        return FR_ENOMEM;
    if (m->stack->n_items < n)
        return malformed(m, "too few values for a tuple");
    for (int64_t i = m->stack->n_items - n; i < m->stack->n_items; i++)
        FR_RETURN_IF_ERROR(append(m, tuple, m->stack->items[i]));
    m->stack->n_items -= n;
    return push(m, tuple);
}

static fr_status append_all(machine *m, fr_pickle_kind kind, const char *wanted)
{
    fr_pickle_value *inner, *container;
    FR_RETURN_IF_ERROR(pop_mark(m, &inner));
    FR_RETURN_IF_ERROR(top(m, kind, wanted, &container));
    if (kind == FR_PICKLE_DICT && inner->n_items % 2 != 0)
        return malformed(m, "a key without a value");
    for (int64_t i = 0; i < inner->n_items; i++)
        FR_RETURN_IF_ERROR(append(m, container, inner->items[i]));
    return FR_OK;
}

static fr_status append_last(machine *m, fr_pickle_kind kind, const char *wanted, int n)
{
    fr_pickle_value *last[2], *container;
    for (int i = n - 1; i >= 0; i--)
        FR_RETURN_IF_ERROR(pop(m, &last[i]));
    FR_RETURN_IF_ERROR(top(m, kind, wanted, &container));
    for (int i = 0; i < n; i++)
        FR_RETURN_IF_ERROR(append(m, container, last[i]));
    return FR_OK;
}

static bool is_global(const fr_pickle_value *value, const char *ending)
{
    const size_t n = value->kind == FR_PICKLE_GLOBAL ? strlen(value->bytes) : 0, k = strlen(ending);
    return n >= k && strcmp(value->bytes + n - k, ending) == 0;
}

/* callable(*arguments) and cls.__new__(cls, *arguments): a node; a defaultdict becomes a dict. */
static fr_status push_object(machine *m)
{
    fr_pickle_value *arguments, *callable;
    FR_RETURN_IF_ERROR(pop(m, &arguments));
    FR_RETURN_IF_ERROR(pop(m, &callable));
    if (arguments->kind != FR_PICKLE_TUPLE || callable->kind != FR_PICKLE_GLOBAL)
        return malformed(m, "makes an object of something that is no known class");
    if (is_global(callable, " defaultdict"))
        return push(m, make(m, FR_PICKLE_DICT));
    fr_pickle_value *object = make(m, FR_PICKLE_OBJECT);
    if (object == NULL)
        return FR_ENOMEM;
    const bool reconstructs = is_global(callable, " _reconstruct") && arguments->n_items > 0;
    object->class_ = reconstructs ? arguments->items[0] : callable;
    object->arguments = arguments;
    return push(m, object);
}

static fr_status build(machine *m)
{
    fr_pickle_value *state, *object;
    FR_RETURN_IF_ERROR(pop(m, &state));
    FR_RETURN_IF_ERROR(top(m, FR_PICKLE_OBJECT, "gives a state to something that is no object", &object));
    object->state = state;
    return FR_OK;
}

/* ---- memo ---- */

static fr_status put_memo(machine *m, size_t n_bytes)
{
    uint64_t number;
    FR_RETURN_IF_ERROR(take_unsigned(m, n_bytes, &number));
    if (m->stack->n_items == 0)
        return malformed(m, "the stack is empty");
    fr_pickle_value *value = m->stack->items[m->stack->n_items - 1];
    if (number > m->length)
        return malformed(m, "a memo number larger than the file");
    while ((uint64_t)m->memo->n_items <= number)
        FR_RETURN_IF_ERROR(append(m, m->memo, value));
    m->memo->items[number] = value;
    return FR_OK;
}

static fr_status get_memo(machine *m, size_t n_bytes)
{
    uint64_t number;
    FR_RETURN_IF_ERROR(take_unsigned(m, n_bytes, &number));
    if (number >= (uint64_t)m->memo->n_items)
        return malformed(m, "a memo number that was never put");
    return push(m, m->memo->items[number]);
}

/* ---- the machine ---- */

static fr_status push_bool(machine *m, bool truth)
{
    fr_pickle_value *value = make(m, FR_PICKLE_BOOL);
    if (value != NULL)
        value->integer = truth;
    return push(m, value);
}

static fr_status mark(machine *m)
{
    FR_RETURN_IF_ERROR(append(m, m->marks, m->stack));
    m->stack = make(m, FR_PICKLE_LIST);
    return m->stack == NULL ? FR_ENOMEM : FR_OK;
}

static fr_status end_tuple(machine *m)
{
    fr_pickle_value *inner;
    FR_RETURN_IF_ERROR(pop_mark(m, &inner));
    inner->kind = FR_PICKLE_TUPLE;
    return push(m, inner);
}

static fr_status skip_protocol(machine *m)
{
    uint64_t version;
    FR_RETURN_IF_ERROR(take_unsigned(m, 1, &version));
    return version <= 2 ? FR_OK : malformed(m, "a protocol above 2");
}

static fr_status step(machine *m, unsigned char opcode)
{
    switch (opcode) {
    case 0x80: return skip_protocol(m);
    case 'c': return push_global(m);
    case 'q': return put_memo(m, 1);
    case 'r': return put_memo(m, 4);
    case 'h': return get_memo(m, 1);
    case 'j': return get_memo(m, 4);
    case ')': return push(m, make(m, FR_PICKLE_TUPLE));
    case ']': return push(m, make(m, FR_PICKLE_LIST));
    case '}': return push(m, make(m, FR_PICKLE_DICT));
    case 'N': return push(m, make(m, FR_PICKLE_NONE));
    case 0x88: return push_bool(m, true);
    case 0x89: return push_bool(m, false);
    case 'K': return push_integer(m, 1, false);
    case 'M': return push_integer(m, 2, false);
    case 'J': return push_integer(m, 4, true);
    case 0x8a: return push_long(m);
    case 'G': return push_float(m);
    case 'U': return push_bytes(m, 1);
    case 'T': return push_bytes(m, 4);
    case 'X': return push_bytes(m, 4);
    case '(': return mark(m);
    case 't': return end_tuple(m);
    case 0x85: return push_tuple(m, 1);
    case 0x86: return push_tuple(m, 2);
    case 0x87: return push_tuple(m, 3);
    case 'a': return append_last(m, FR_PICKLE_LIST, "appends to something that is no list", 1);
    case 'e': return append_all(m, FR_PICKLE_LIST, "appends to something that is no list");
    case 's': return append_last(m, FR_PICKLE_DICT, "adds to something that is no dictionary", 2);
    case 'u': return append_all(m, FR_PICKLE_DICT, "adds to something that is no dictionary");
    case 0x81:
    case 'R': return push_object(m);
    case 'b': return build(m);
    default: return malformed(m, "is not one that data needs");
    }
}

static fr_status run(machine *m, const fr_pickle_value **root)
{
    m->stack = make(m, FR_PICKLE_LIST);
    m->marks = make(m, FR_PICKLE_LIST);
    m->memo = make(m, FR_PICKLE_LIST);
    if (m->stack == NULL || m->marks == NULL || m->memo == NULL)
        return FR_ENOMEM;
    while (m->at < m->length) {
        m->opcode_at = m->at;
        const unsigned char opcode = m->bytes[m->at++];
        if (opcode == '.') {
            fr_pickle_value *value;
            FR_RETURN_IF_ERROR(pop(m, &value));
            *root = value;
            return FR_OK;
        }
        FR_RETURN_IF_ERROR(step(m, opcode));
    }
    return fr_fail(FR_EFORMAT, "%s: ends at byte %zu without a stop", m->path, m->length);
}

fr_status fr_pickle_open(const char *path, fr_pickle **out)
{
    *out = NULL;
    fr_pickle *pickle;
    fr_status status;
    FR_RETURN_IF_ERROR(fr_alloc(1, sizeof *pickle, "pickle", &pickle));
    FR_TRY(fr_strdup(path, &pickle->path));
    FR_TRY(fr_mapping_open(path, &pickle->file));
    FR_TRY(fr_arena_create(1 << 16, &pickle->arena));
    machine m = {.path = pickle->path, .bytes = (const unsigned char *)pickle->file.bytes, .length = pickle->file.length, .arena = pickle->arena};
    FR_TRY(run(&m, &pickle->root));
    *out = pickle;
    pickle = NULL;
done:
    fr_pickle_free(pickle);
    return status;
}

void fr_pickle_free(fr_pickle *pickle)
{
    if (pickle == NULL)
        return;
    fr_arena_free(pickle->arena);
    fr_mapping_close(&pickle->file);
    fr_free(pickle->path);
    fr_free(pickle);
}

const fr_pickle_value *fr_pickle_root(const fr_pickle *pickle) { return pickle->root; }

/* ---- reading the tree ---- */

static bool is_text(const fr_pickle_value *value, const char *text)
{
    return value->kind == FR_PICKLE_BYTES && (size_t)value->n_bytes == strlen(text) && memcmp(value->bytes, text, strlen(text)) == 0;
}

const fr_pickle_value *fr_pickle_find(const fr_pickle_value *dict, const char *key)
{
    for (int64_t i = 0; dict != NULL && dict->kind == FR_PICKLE_DICT && i + 1 < dict->n_items; i += 2)
        if (is_text(dict->items[i], key))
            return dict->items[i + 1];
    return NULL;
}

/* dtype('f4', 0, 1) with state (3, '<', ...) */
static fr_dtype dtype_of(const fr_pickle_value *value)
{
    static const struct {
        const char *name;
        fr_dtype dtype;
    } names[] = {{"f4", FR_F32}, {"f8", FR_F64}, {"i4", FR_I32}, {"i8", FR_I64}, {"i1", FR_I8}, {"u1", FR_U8}, {"b1", FR_BOOL}};
    if (value->kind != FR_PICKLE_OBJECT || !is_global(value->class_, " dtype") || value->arguments->n_items < 1)
        return FR_NO_DTYPE;
    const fr_pickle_value *state = value->state;
    if (state != NULL && state->kind == FR_PICKLE_TUPLE && state->n_items > 1 && is_text(state->items[1], ">"))
        return FR_NO_DTYPE; /* big-endian */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_text(value->arguments->items[0], names[i].name))
            return names[i].dtype;
    return FR_NO_DTYPE;
}

fr_status fr_pickle_array(const fr_pickle *pickle, const fr_pickle_value *value, const char *what, fr_tensor *view)
{
    const fr_pickle_value *state = value != NULL && value->kind == FR_PICKLE_OBJECT ? value->state : NULL;
    if (state == NULL || !is_global(value->class_, " ndarray") || state->kind != FR_PICKLE_TUPLE || state->n_items != 5 ||
        state->items[1]->kind != FR_PICKLE_TUPLE || state->items[1]->n_items > FR_MAX_RANK || state->items[4]->kind != FR_PICKLE_BYTES)
        return fr_fail(FR_EFORMAT, "%s: %s is no NumPy array", pickle->path, what);
    const fr_dtype dtype = dtype_of(state->items[2]);
    if (dtype == FR_NO_DTYPE || state->items[3]->integer != 0)
        return fr_fail(FR_ENOTSUP, "%s: %s has an element type or order that is not read (C order, little-endian numbers are)", pickle->path, what);
    int64_t shape[FR_MAX_RANK];
    const int rank = (int)state->items[1]->n_items;
    for (int d = 0; d < rank; d++) {
        if (state->items[1]->items[d]->kind != FR_PICKLE_INT)
            return fr_fail(FR_EFORMAT, "%s: %s has a shape that is no tuple of integers", pickle->path, what);
        shape[d] = state->items[1]->items[d]->integer;
    }
    void *data;
    memcpy(&data, &state->items[4]->bytes, sizeof data); /* a read-only view of the mapped file */
    FR_RETURN_IF_ERROR(fr_wrap(fr_tensor_view(dtype, rank, shape, data, view), "%s: %s", pickle->path, what));
    const int64_t needed = fr_tensor_count(view) * (int64_t)fr_dtype_bytes(dtype);
    if (needed != state->items[4]->n_bytes)
        return fr_fail(FR_EFORMAT, "%s: %s needs %" PRId64 " bytes and has %" PRId64, pickle->path, what, needed, state->items[4]->n_bytes);
    return FR_OK;
}
