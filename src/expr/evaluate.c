/*
 * evaluate.c: the reference interpreter.
 *
 * Scopes are computed whole, inner ones first, each once, into row-major buffers of 8-byte numbers.
 * For a scope the body becomes a list of steps in the order of node ids (operands come first), one
 * slot each; the list runs once for every point of traversed and reduced iterators. A read whose
 * index is affine and always inside the shape becomes one offset, linear in the iterators; others
 * compute each index and give 0 outside the shape: fr_expr_check has shown that outside is padding.
 *
 * Plain on purpose: this is what fast code is compared with.
 */
#include <frugal/expr.h>

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "expr/arithmetic.h"
#include "expr/pool.h"

#define MOST_VALUES (INT64_C(1) << 31) /* of a tensor or scope: 16 GiB */

/* Values of a tensor or of a scope that was computed. */
typedef struct buffer {
    fr_expr_id node;
    fr_number *numbers; /* owned */
} buffer;

typedef struct step {
    fr_expr_kind kind;
    uint32_t a, b; /* slots of operands */
    fr_number number;
    /* READ */
    const fr_number *source;
    fr_expr_view read, from;
    bool is_linear;
    int64_t base, per_iterator[FR_EXPR_ITERATORS];
} step;

typedef struct evaluation {
    const fr_expr_pool *pool;
    const fr_arithmetic *arithmetic;
    buffer *buffers; /* by ascending node */
    uint32_t n_buffers;
} evaluation;

static fr_status count_values(const fr_expr_view *v, int64_t *count)
{
    *count = 1; /* a node's number of values fits 62 bits */
    for (int d = 0; d < v->rank; d++)
        *count *= v->ranges[d].high - v->ranges[d].low;
    if (*count > MOST_VALUES)
        return fr_fail(FR_ENOMEM,
                       "%s has %" PRId64 " values, the interpreter holds %" PRId64 " at most",
                       v->name != NULL ? v->name : "a scope", *count, MOST_VALUES);
    return FR_OK;
}

static const fr_number *find_buffer(const evaluation *e, fr_expr_id node)
{
    uint32_t low = 0, high = e->n_buffers;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (e->buffers[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return e->buffers[low].numbers;
}

static uint32_t find_slot(const fr_id_list *body, fr_expr_id node)
{
    uint32_t low = 0, high = body->n;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (body->ids[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- from nodes to steps ---- */

/* Adds coefficient * stride to *to; false where 64 bits do not hold it. */
static bool add_scaled(int64_t *to, int64_t coefficient, int64_t stride)
{
    int64_t product;
    return !__builtin_mul_overflow(coefficient, stride, &product) &&
           !__builtin_add_overflow(*to, product, to);
}

/* Offset of a read as a linear function of the iterators, if it is one on the whole box. */
static void find_linear_offset(const evaluation *e, const fr_expr_view *scope, step *s)
{
    int64_t stride = 1;
    for (int d = s->read.rank - 1; d >= 0; d--) {
        const fr_expr_id id = (fr_expr_id)s->read.indices[d];
        const fr_expr_view index = fr_expr_look(e->pool, id);
        const fr_expr_range range = s->from.ranges[d];
        int64_t least, greatest;
        if (!fr_expr_index_bounds(e->pool, id, scope->ranges, scope->rank + scope->n_reduced,
                                  &least, &greatest) ||
            least < range.low || greatest >= range.high ||
            !add_scaled(&s->base, index.constant - range.low, stride))
            return;
        for (int i = 0; i < index.n_terms; i++)
            if (index.terms[i].of >= FIRST_ID || !add_scaled(&s->per_iterator[index.terms[i].of],
                                                             index.terms[i].coefficient, stride))
                return;
        stride *= range.high - range.low;
    }
    /* Every product with an iterator's value stays small: each index is within its dimension, and
     * no coefficient times a bound of its iterator overflowed above. */
    s->is_linear = true;
}

static void make_step(const evaluation *e, const fr_expr_view *scope, const fr_id_list *body,
                      fr_expr_id id, step *s)
{
    const fr_expr_view node = fr_expr_look(e->pool, id);
    s->kind = node.kind;
    if (node.kind == FR_EXPR_NUMBER) {
        if (e->arithmetic->is_exact)
            s->number.residue = fr_residue_of_double(node.number);
        else
            s->number.real = node.number;
    } else if (node.kind == FR_EXPR_READ) {
        s->read = node;
        s->from = fr_expr_look(e->pool, node.source);
        s->source = find_buffer(e, node.source);
        find_linear_offset(e, scope, s);
    } else {
        s->a = find_slot(body, node.operands[0]);
        s->b = node.operands[1] != 0 ? find_slot(body, node.operands[1]) : s->a;
    }
}

/* ---- running ---- */

static fr_number read_number(const evaluation *e, const step *s, const int64_t *point, int n)
{
    int64_t offset = s->base;
    if (s->is_linear) {
        for (int i = 0; i < n; i++)
            offset += s->per_iterator[i] * point[i];
        return s->source[offset];
    }
    offset = 0;
    for (int d = 0; d < s->read.rank; d++) {
        const int64_t at = fr_expr_index_value(e->pool, (fr_expr_id)s->read.indices[d], point);
        const fr_expr_range range = s->from.ranges[d];
        if (at < range.low || at >= range.high)
            return e->arithmetic->zero;
        offset = offset * (range.high - range.low) + at - range.low;
    }
    return s->source[offset];
}

/* The body's value at a point: that of the last step. */
static fr_status run_steps(const evaluation *e, const step *steps, uint32_t n_steps,
                           const int64_t *point, int n, fr_number *slots)
{
    const fr_arithmetic *arithmetic = e->arithmetic;
    for (uint32_t i = 0; i < n_steps; i++) {
        const step *s = &steps[i];
        if (s->kind == FR_EXPR_NUMBER) {
            slots[i] = s->number;
        } else if (s->kind == FR_EXPR_READ) {
            slots[i] = read_number(e, s, point, n);
        } else {
            if (s->kind == FR_EXPR_DIVIDE && arithmetic->is_exact && slots[s->b].residue == 0)
                return fr_fail(FR_ERANGE, "a division by 0 in exact arithmetic");
            slots[i] = arithmetic->apply(arithmetic, s->kind, slots[s->a], slots[s->b]);
        }
    }
    return FR_OK;
}

/* Moves iterators [from, to) to the next point, the last one fastest; false after the last. */
static bool advance(const fr_expr_range *ranges, int from, int to, int64_t *point)
{
    for (int i = to - 1; i >= from; i--) {
        if (++point[i] < ranges[i].high)
            return true;
        point[i] = ranges[i].low;
    }
    return false;
}

static fr_status reduce(const evaluation *e, const fr_expr_view *scope, const step *steps,
                        uint32_t n_steps, int64_t *point, fr_number *slots, fr_number *result)
{
    const fr_arithmetic *arithmetic = e->arithmetic;
    const int n = scope->rank + scope->n_reduced;
    fr_number so_far = arithmetic->zero;
    bool is_first = true;
    for (int i = scope->rank; i < n; i++)
        if (scope->ranges[i].low == scope->ranges[i].high) {
            *result = so_far; /* a sum of nothing; a max of nothing is never made */
            return FR_OK;
        }
    do {
        FR_RETURN_IF_ERROR(run_steps(e, steps, n_steps, point, n, slots));
        const fr_number value = slots[n_steps - 1];
        if (!is_first && scope->reduction == FR_SUM)
            so_far = arithmetic->apply(arithmetic, FR_EXPR_ADD, so_far, value);
        else if (is_first || arithmetic->is_greater(arithmetic, value, so_far))
            so_far = value;
        is_first = false;
    } while (advance(scope->ranges, scope->rank, n, point));
    *result = so_far;
    return FR_OK;
}

static fr_status evaluate_scope(const evaluation *e, const fr_expr_view *scope, fr_number **numbers)
{
    fr_id_list body = {0}, all = {0};
    step *steps = NULL;
    fr_number *slots = NULL;
    int64_t point[FR_EXPR_ITERATORS];
    fr_status status;
    int64_t count;
    FR_TRY(count_values(scope, &count));
    FR_TRY(fr_alloc((size_t)count, sizeof **numbers, "values of a scope", numbers));
    FR_TRY(fr_pool_collect(e->pool, scope->body, true, &all));
    FR_TRY(fr_alloc(all.n, sizeof *body.ids, "steps of a scope", &body.ids));
    for (uint32_t i = 0; i < all.n; i++)
        if (fr_kind_is_scalar(fr_pool_kind(e->pool, all.ids[i])))
            body.ids[body.n++] = all.ids[i];
    FR_TRY(fr_alloc(body.n, sizeof *steps, "steps of a scope", &steps));
    FR_TRY(fr_alloc(body.n, sizeof *slots, "steps of a scope", &slots));
    for (uint32_t i = 0; i < body.n; i++)
        make_step(e, scope, &body, body.ids[i], &steps[i]);
    for (int i = 0; i < scope->rank + scope->n_reduced; i++)
        point[i] = scope->ranges[i].low;
    for (int64_t i = 0; i < count; i++) {
        FR_TRY(reduce(e, scope, steps, body.n, point, slots, &(*numbers)[i]));
        (void)advance(scope->ranges, 0, scope->rank, point);
    }
done:
    fr_free(slots);
    fr_free(steps);
    fr_free(body.ids);
    fr_free(all.ids);
    return status;
}

/* ---- inputs and outputs ---- */

static fr_status load_input(const evaluation *e, const fr_expr_view *tensor,
                            const char *const names[], const fr_tensor *const inputs[], int n,
                            fr_number **numbers)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], tensor->name) != 0)
            continue;
        bool fits = inputs[i]->rank == tensor->rank;
        for (int d = 0; fits && d < tensor->rank; d++)
            fits = inputs[i]->shape[d] == tensor->ranges[d].high;
        if (fits)
            return fr_numbers_of_tensor(e->arithmetic, tensor->name, inputs[i], numbers);
        char given[128], wanted[128];
        fr_tensor like = {.dtype = inputs[i]->dtype, .rank = tensor->rank};
        for (int d = 0; d < tensor->rank; d++)
            like.shape[d] = tensor->ranges[d].high;
        return fr_fail(FR_ESHAPE, "%s is %s, but the expression reads %s", tensor->name,
                       fr_tensor_text(inputs[i], given, sizeof given),
                       fr_tensor_text(&like, wanted, sizeof wanted));
    }
    if (!e->arithmetic->is_exact)
        return fr_fail(FR_ENOENT, "the expression reads %s, which is not given", tensor->name);
    int64_t count;
    FR_RETURN_IF_ERROR(count_values(tensor, &count));
    return fr_random_numbers(e->arithmetic, tensor->name, count, numbers);
}

static fr_status evaluate(const fr_expr *expr, const fr_arithmetic *arithmetic,
                          const char *const names[], const fr_tensor *const inputs[], int n,
                          fr_tensor *out)
{
    *out = (fr_tensor){0};
    evaluation e = {.pool = expr->pool, .arithmetic = arithmetic};
    fr_id_list nodes = {0};
    fr_tensor made = {0};
    int64_t shape[FR_EXPR_ITERATORS];
    const int rank = fr_expr_shape(expr, shape);
    fr_status status;
    FR_TRY(fr_expr_check(expr));
    if (rank > FR_MAX_RANK)
        FR_TRY(
            fr_fail(FR_ENOTSUP, "the output has %d dimensions, %d is the most", rank, FR_MAX_RANK));
    FR_TRY(fr_pool_collect(expr->pool, expr->root, false, &nodes));
    FR_TRY(fr_alloc(nodes.n, sizeof *e.buffers, "values of an expression", &e.buffers));
    for (uint32_t i = 0; i < nodes.n; i++) {
        const fr_expr_view node = fr_expr_look(expr->pool, nodes.ids[i]);
        if (node.kind != FR_EXPR_TENSOR && node.kind != FR_EXPR_SCOPE)
            continue;
        buffer *next = &e.buffers[e.n_buffers++];
        next->node = nodes.ids[i];
        FR_TRY(node.kind == FR_EXPR_TENSOR ? load_input(&e, &node, names, inputs, n, &next->numbers)
                                           : evaluate_scope(&e, &node, &next->numbers));
    }
    FR_TRY(fr_tensor_create(arithmetic->is_exact ? FR_U64 : FR_F64, rank, shape, &made));
    const size_t bytes = (size_t)fr_tensor_count(&made) * sizeof(fr_number);
    if (bytes > 0) /* the root has the greatest id, so the last buffer */
        memcpy(made.data, e.buffers[e.n_buffers - 1].numbers, bytes);
    *out = made;
done:
    for (uint32_t i = 0; i < e.n_buffers; i++)
        fr_free(e.buffers[i].numbers);
    fr_free(e.buffers);
    fr_free(nodes.ids);
    return status;
}

fr_status fr_expr_evaluate(const fr_expr *expr, const char *const names[],
                           const fr_tensor *const inputs[], int n, fr_tensor *out)
{
    const fr_arithmetic arithmetic = fr_real_arithmetic();
    return evaluate(expr, &arithmetic, names, inputs, n, out);
}

fr_status fr_expr_evaluate_exact(const fr_expr *expr, const char *const names[],
                                 const fr_tensor *const inputs[], int n, uint64_t seed,
                                 fr_tensor *out)
{
    const fr_arithmetic arithmetic = fr_exact_arithmetic(seed);
    return evaluate(expr, &arithmetic, names, inputs, n, out);
}
