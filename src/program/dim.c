/*
 * dim.c: symbolic sizes.
 *
 * A dim is a constant or the number of an entry in the program's table. Entries are of three kinds:
 *
 *     symbol     a name, bound at run time
 *     quotient   floor(dim / divisor), divisor a constant
 *     sum        coefficient * atom * atom + ... + constant: a polynomial with integer coefficients
 *                whose atoms are symbols and quotients
 *
 * Every size is brought to this one form, terms in one order, and looked up before it is added. So
 * equal polynomials have equal numbers, (n+m)-n is m, and comparing two sizes is comparing two
 * integers. An entry refers to older ones only: one pass in order evaluates them all.
 */
#include <frugal/program.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "program/program_body.h"

bool fr_dim_equal(fr_dim a, fr_dim b)
{
    return a.symbol == b.symbol && (a.symbol >= 0 || a.size == b.size);
}

bool fr_dim_exists(const fr_program *p, fr_dim dim)
{
    return dim.symbol >= -1 && dim.symbol < p->n_dims;
}

bool fr_shape_equal(const fr_shape *a, const fr_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (!fr_dim_equal(a->dims[d], b->dims[d]))
            return false;
    return true;
}

static fr_dim entry_dim(int number) { return (fr_dim){.size = 0, .symbol = number}; }

static fr_dim add_entry(fr_program *p, const fr_dim_entry *entry)
{
    if (fr_program_grow(&p->dims, p->n_dims, &p->dims_capacity, sizeof *p->dims) != FR_OK) {
        fr_program_fail(p, FR_ENOMEM);
        return fr_constant(0);
    }
    p->dims[p->n_dims] = *entry;
    return entry_dim(p->n_dims++);
}

fr_dim fr_symbol(fr_program *p, const char *name)
{
    if (!fr_program_ok(p))
        return fr_constant(0);
    if (name == NULL || name[0] == '\0') {
        fr_program_fail(p, fr_fail(FR_EINVAL, "a symbol needs a name"));
        return fr_constant(0);
    }
    for (int i = 0; i < p->n_dims; i++)
        if (p->dims[i].kind == FR_DIM_SYMBOL && strcmp(p->dims[i].name, name) == 0)
            return entry_dim(i);
    const fr_dim_entry entry = {.kind = FR_DIM_SYMBOL, .name = fr_arena_strdup(p->arena, name)};
    if (entry.name == NULL) {
        fr_program_fail(p, FR_ENOMEM);
        return fr_constant(0);
    }
    return add_entry(p, &entry);
}

/* ---- polynomials ---- */

typedef struct polynomial {
    int n_terms;
    fr_dim_term *terms;
} polynomial;

/* Longer products first, then by their atoms; the constant is last. */
static int compare_terms(const void *a, const void *b)
{
    const fr_dim_term *x = a, *y = b;
    if (x->n_atoms != y->n_atoms)
        return y->n_atoms - x->n_atoms;
    for (int i = 0; i < x->n_atoms; i++)
        if (x->atoms[i] != y->atoms[i])
            return x->atoms[i] < y->atoms[i] ? -1 : 1;
    return 0;
}

static fr_status overflow(void) { return fr_fail(FR_ERANGE, "a size does not fit into 64 bits"); }

static fr_status new_polynomial(fr_program *p, int n_terms, polynomial *made)
{
    made->n_terms = 0;
    made->terms = fr_arena_alloc(p->arena, (size_t)n_terms + 1, sizeof *made->terms);
    return made->terms == NULL ? FR_ENOMEM : FR_OK;
}

static fr_status as_polynomial(fr_program *p, fr_dim dim, polynomial *made)
{
    if (dim.symbol >= 0 && p->dims[dim.symbol].kind == FR_DIM_SUM) {
        *made = (polynomial){p->dims[dim.symbol].n_terms, p->dims[dim.symbol].terms};
        return FR_OK;
    }
    FR_RETURN_IF_ERROR(new_polynomial(p, 1, made));
    if (dim.symbol >= 0)
        made->terms[made->n_terms++] =
            (fr_dim_term){.coefficient = 1, .n_atoms = 1, .atoms = {dim.symbol}};
    else if (dim.size != 0)
        made->terms[made->n_terms++] = (fr_dim_term){.coefficient = dim.size};
    return FR_OK;
}

/* Sorts terms, joins equal ones, and drops those whose coefficient is 0. */
static fr_status tidy(polynomial *sum)
{
    qsort(sum->terms, (size_t)sum->n_terms, sizeof *sum->terms, compare_terms);
    int n = 0;
    for (int i = 0; i < sum->n_terms;) {
        fr_dim_term term = sum->terms[i];
        int j = i + 1;
        for (; j < sum->n_terms && compare_terms(&term, &sum->terms[j]) == 0; j++)
            if (__builtin_add_overflow(term.coefficient, sum->terms[j].coefficient,
                                       &term.coefficient))
                return overflow();
        if (term.coefficient != 0)
            sum->terms[n++] = term;
        i = j;
    }
    sum->n_terms = n;
    return FR_OK;
}

/* The dim of a tidy polynomial: a constant, an atom, or an entry found or added. */
static fr_dim as_dim(fr_program *p, const polynomial *sum)
{
    if (sum->n_terms == 0)
        return fr_constant(0);
    const fr_dim_term *first = &sum->terms[0];
    if (sum->n_terms == 1 && first->n_atoms == 0)
        return fr_constant(first->coefficient);
    if (sum->n_terms == 1 && first->n_atoms == 1 && first->coefficient == 1)
        return entry_dim(first->atoms[0]);
    for (int i = 0; i < p->n_dims; i++) {
        const fr_dim_entry *e = &p->dims[i];
        bool equal = e->kind == FR_DIM_SUM && e->n_terms == sum->n_terms;
        for (int t = 0; equal && t < sum->n_terms; t++)
            equal = e->terms[t].coefficient == sum->terms[t].coefficient &&
                    compare_terms(&e->terms[t], &sum->terms[t]) == 0;
        if (equal)
            return entry_dim(i);
    }
    const fr_dim_entry entry = {.kind = FR_DIM_SUM, .n_terms = sum->n_terms, .terms = sum->terms};
    return add_entry(p, &entry);
}

static fr_status check_dims(const fr_program *p, fr_dim a, fr_dim b)
{
    if (!fr_dim_exists(p, a) || !fr_dim_exists(p, b))
        return fr_fail(FR_EINVAL, "symbol %d is none of this program's %d",
                       (int)(fr_dim_exists(p, a) ? b.symbol : a.symbol), p->n_dims);
    return FR_OK;
}

/* a + factor * b */
static fr_status add_scaled(fr_program *p, fr_dim a, fr_dim b, int64_t factor, fr_dim *out)
{
    polynomial x, y, sum;
    FR_RETURN_IF_ERROR(check_dims(p, a, b));
    FR_RETURN_IF_ERROR(as_polynomial(p, a, &x));
    FR_RETURN_IF_ERROR(as_polynomial(p, b, &y));
    FR_RETURN_IF_ERROR(new_polynomial(p, x.n_terms + y.n_terms, &sum));
    for (int i = 0; i < x.n_terms; i++)
        sum.terms[sum.n_terms++] = x.terms[i];
    for (int i = 0; i < y.n_terms; i++) {
        fr_dim_term term = y.terms[i];
        if (__builtin_mul_overflow(term.coefficient, factor, &term.coefficient))
            return overflow();
        sum.terms[sum.n_terms++] = term;
    }
    FR_RETURN_IF_ERROR(tidy(&sum));
    *out = as_dim(p, &sum);
    return FR_OK;
}

static int compare_atoms(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static fr_status multiply_terms(const fr_dim_term *a, const fr_dim_term *b, fr_dim_term *product)
{
    *product = (fr_dim_term){.n_atoms = a->n_atoms + b->n_atoms};
    if (product->n_atoms > FR_TERM_ATOMS)
        return fr_fail(FR_ERANGE, "a size is a product of more than %d symbols",
                       (int)FR_TERM_ATOMS);
    if (__builtin_mul_overflow(a->coefficient, b->coefficient, &product->coefficient))
        return overflow();
    memcpy(product->atoms, a->atoms, (size_t)a->n_atoms * sizeof *a->atoms);
    memcpy(product->atoms + a->n_atoms, b->atoms, (size_t)b->n_atoms * sizeof *b->atoms);
    qsort(product->atoms, (size_t)product->n_atoms, sizeof *product->atoms, compare_atoms);
    return FR_OK;
}

static fr_status multiply(fr_program *p, fr_dim a, fr_dim b, fr_dim *out)
{
    polynomial x, y, product;
    FR_RETURN_IF_ERROR(check_dims(p, a, b));
    FR_RETURN_IF_ERROR(as_polynomial(p, a, &x));
    FR_RETURN_IF_ERROR(as_polynomial(p, b, &y));
    FR_RETURN_IF_ERROR(new_polynomial(p, x.n_terms * y.n_terms, &product));
    for (int i = 0; i < x.n_terms; i++)
        for (int j = 0; j < y.n_terms; j++)
            FR_RETURN_IF_ERROR(
                multiply_terms(&x.terms[i], &y.terms[j], &product.terms[product.n_terms++]));
    FR_RETURN_IF_ERROR(tidy(&product));
    *out = as_dim(p, &product);
    return FR_OK;
}

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* The part of the polynomial that the divisor divides leaves the quotient: floor((4n+m)/2) is
 * 2n + floor(m/2). */
static fr_status divide(fr_program *p, fr_dim a, int64_t divisor, fr_dim *out)
{
    polynomial x, whole, rest;
    FR_RETURN_IF_ERROR(check_dims(p, a, a));
    if (divisor < 1)
        return fr_fail(FR_EINVAL, "a size is divided by %" PRId64, divisor);
    FR_RETURN_IF_ERROR(as_polynomial(p, a, &x));
    FR_RETURN_IF_ERROR(new_polynomial(p, x.n_terms, &whole));
    FR_RETURN_IF_ERROR(new_polynomial(p, x.n_terms, &rest));
    for (int i = 0; i < x.n_terms; i++) {
        fr_dim_term term = x.terms[i];
        const int64_t quotient = floor_divide(term.coefficient, divisor);
        const int64_t left = term.coefficient - quotient * divisor;
        term.coefficient = quotient;
        if (quotient != 0)
            whole.terms[whole.n_terms++] = term;
        term.coefficient = left;
        if (left != 0)
            rest.terms[rest.n_terms++] = term;
    }
    *out = as_dim(p, &whole);
    if (rest.n_terms == 0 || (rest.n_terms == 1 && rest.terms[0].n_atoms == 0))
        return FR_OK; /* a constant rest is below the divisor: its floor is 0 */
    fr_dim_entry entry = {.kind = FR_DIM_QUOTIENT, .of = as_dim(p, &rest), .divisor = divisor};
    for (int i = 0; i < p->n_dims; i++)
        if (p->dims[i].kind == FR_DIM_QUOTIENT && p->dims[i].divisor == divisor &&
            fr_dim_equal(p->dims[i].of, entry.of))
            return add_scaled(p, *out, entry_dim(i), 1, out);
    const fr_dim quotient = add_entry(p, &entry);
    return add_scaled(p, *out, quotient, 1, out);
}

static fr_dim keep(fr_program *p, fr_status status, fr_dim made)
{
    if (status == FR_OK && p->status == FR_OK)
        return made;
    fr_program_fail(p, status);
    return fr_constant(0);
}

fr_dim fr_dim_add(fr_program *p, fr_dim a, fr_dim b)
{
    fr_dim out = fr_constant(0);
    return fr_program_ok(p) ? keep(p, add_scaled(p, a, b, 1, &out), out) : out;
}

fr_dim fr_dim_subtract(fr_program *p, fr_dim a, fr_dim b)
{
    fr_dim out = fr_constant(0);
    return fr_program_ok(p) ? keep(p, add_scaled(p, a, b, -1, &out), out) : out;
}

fr_dim fr_dim_multiply(fr_program *p, fr_dim a, fr_dim b)
{
    fr_dim out = fr_constant(0);
    return fr_program_ok(p) ? keep(p, multiply(p, a, b, &out), out) : out;
}

fr_dim fr_dim_divide(fr_program *p, fr_dim a, int64_t divisor)
{
    fr_dim out = fr_constant(0);
    return fr_program_ok(p) ? keep(p, divide(p, a, divisor, &out), out) : out;
}

fr_dim fr_shape_product(fr_program *p, const fr_shape *shape, int begin, int end)
{
    fr_dim product = fr_constant(1);
    for (int d = begin; d < end; d++)
        product = fr_dim_multiply(p, product, shape->dims[d]);
    return product;
}

/* ---- evaluation ---- */

/* Value of a sum; with `bound`, terms that subtract something variable are left out. */
static bool evaluate_sum(const fr_dim_entry *entry, const int64_t *sizes, bool bound, int64_t *out)
{
    int64_t sum = 0;
    for (int t = 0; t < entry->n_terms; t++) {
        const fr_dim_term *term = &entry->terms[t];
        int64_t product = term->coefficient;
        if (bound && product < 0 && term->n_atoms > 0)
            continue;
        for (int a = 0; a < term->n_atoms; a++)
            if (__builtin_mul_overflow(product, sizes[term->atoms[a]], &product))
                return false;
        if (__builtin_add_overflow(sum, product, &sum))
            return false;
    }
    *out = sum;
    return true;
}

static fr_status evaluate(const fr_program *p, int64_t *sizes, bool bound)
{
    for (int i = 0; i < p->n_dims; i++) {
        const fr_dim_entry *entry = &p->dims[i];
        if (entry->kind == FR_DIM_QUOTIENT)
            sizes[i] = floor_divide(fr_dim_size(entry->of, sizes), entry->divisor);
        if (entry->kind == FR_DIM_SUM && !evaluate_sum(entry, sizes, bound, &sizes[i])) {
            char text[128];
            return fr_fail(FR_ERANGE, "the size %s does not fit into 64 bits",
                           fr_dim_text(p, entry_dim(i), text, sizeof text));
        }
    }
    return FR_OK;
}

fr_status fr_dims_evaluate(const fr_program *p, int64_t *sizes)
{
    return evaluate(p, sizes, false);
}

fr_status fr_dims_bound(const fr_program *p, int64_t *sizes) { return evaluate(p, sizes, true); }

/* ---- text ---- */

typedef struct text_end {
    char *buffer;
    size_t bytes, length;
} text_end;

FR_PRINTF(2, 3) static void put(text_end *to, const char *format, ...)
{
    if (to->length + 1 >= to->bytes)
        return;
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(to->buffer + to->length, to->bytes - to->length, format, arguments);
    va_end(arguments);
    const size_t left = to->bytes - to->length - 1;
    to->length += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left;
}

static void put_dim(const fr_program *p, fr_dim dim, text_end *to);

static void put_term(const fr_program *p, const fr_dim_term *term, bool first, text_end *to)
{
    if (term->coefficient >= 0 && !first)
        put(to, "+");
    if (term->n_atoms == 0 || (term->coefficient != 1 && term->coefficient != -1))
        put(to, "%" PRId64 "%s", term->coefficient, term->n_atoms == 0 ? "" : "*");
    else if (term->coefficient == -1)
        put(to, "-");
    for (int a = 0; a < term->n_atoms; a++) {
        put(to, "%s", a == 0 ? "" : "*");
        put_dim(p, entry_dim(term->atoms[a]), to);
    }
}

static void put_dim(const fr_program *p, fr_dim dim, text_end *to)
{
    if (dim.symbol < 0) {
        put(to, "%" PRId64, dim.size);
        return;
    }
    if (!fr_dim_exists(p, dim)) {
        put(to, "?");
        return;
    }
    const fr_dim_entry *entry = &p->dims[dim.symbol];
    if (entry->kind == FR_DIM_SYMBOL) {
        put(to, "%s", entry->name);
    } else if (entry->kind == FR_DIM_QUOTIENT) {
        put(to, "(");
        put_dim(p, entry->of, to);
        put(to, "/%" PRId64 ")", entry->divisor);
    } else {
        put(to, "(");
        for (int t = 0; t < entry->n_terms; t++)
            put_term(p, &entry->terms[t], t == 0, to);
        put(to, ")");
    }
}

const char *fr_dim_text(const fr_program *p, fr_dim dim, char *buffer, size_t bytes)
{
    text_end to = {buffer, bytes, 0};
    if (bytes > 0)
        buffer[0] = '\0';
    put_dim(p, dim, &to);
    return buffer;
}

const char *fr_shape_text(const fr_program *p, const fr_shape *shape, char *buffer, size_t bytes)
{
    text_end to = {buffer, bytes, 0};
    if (bytes > 0)
        buffer[0] = '\0';
    if (shape->rank == 0)
        put(&to, "scalar");
    for (int d = 0; d < shape->rank; d++) {
        put(&to, "%s", d == 0 ? "" : "x");
        put_dim(p, shape->dims[d], &to);
    }
    return buffer;
}
